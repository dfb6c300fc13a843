"""Dragoman turns two files of parallel text into a Transformer translation system of your own.

    import dragoman

    result = dragoman.train("run.toml")
    translator = dragoman.Translator.load(result.model_path)
    print(translator.translate("…").text)
    print(dragoman.evaluate(translator, "test.ko", "test.en").bleu)

Paths are `str` or `os.PathLike` everywhere. Nothing here prints; progress goes to listeners (`dragoman.Listener`).
Every mistake of a user raises a `DragomanError`. The names are loaded when first used (PEP 562),
so importing the package loads neither torch nor ctranslate2.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dragoman.version import __version__

if TYPE_CHECKING:
    from dragoman.bundle import Bundle, open_bundle
    from dragoman.config import DecodeConfig, RunConfig
    from dragoman.config.file import load_config
    from dragoman.control.alignment import pharaoh
    from dragoman.errors import (
        ConfigError,
        DataError,
        DistributedError,
        DivergenceError,
        DragomanError,
        Interrupted,
        ModelError,
        QualityError,
        ResourceError,
        ResumeError,
    )
    from dragoman.inspection.inspect import inspect
    from dragoman.memory import Memory
    from dragoman.text.terms.glossary import Glossary
    from dragoman.translation import Translation
    from dragoman.translator import Translator
    from dragoman.workflows.compare.compare import compare_runs
    from dragoman.workflows.compare.result import RunComparison
    from dragoman.workflows.data.check import check_data, split_data
    from dragoman.workflows.data.clean import CleanResult, clean_data
    from dragoman.workflows.data.mix import MixResult, mix_data
    from dragoman.workflows.documents.documents import DocumentsResult, translate_documents
    from dragoman.workflows.documents.memory import add_to_memory, export_memory, open_memory
    from dragoman.workflows.evaluate.confidence import ConfidenceResult, learn_model_confidence
    from dragoman.workflows.evaluate.evaluate import Evaluation, evaluate
    from dragoman.workflows.evaluate.robustness import Robustness, evaluate_robustness
    from dragoman.workflows.importing.import_model import ImportResult, import_model
    from dragoman.workflows.improve.check import ImproveResult
    from dragoman.workflows.improve.improve import improve
    from dragoman.workflows.lines.translate import LinesResult, translate_file
    from dragoman.workflows.listener import Listener
    from dragoman.workflows.models.export import ExportResult, export
    from dragoman.workflows.models.merge import merge_adapter
    from dragoman.workflows.models.models import (
        ModelInfo,
        PackResult,
        install_model,
        list_models,
        pack_model,
        remove_model,
    )
    from dragoman.workflows.models.verify import ModelCheck, verify_model
    from dragoman.workflows.train.distil import distill
    from dragoman.workflows.train.project import Project, init_project
    from dragoman.workflows.train.train import TrainResult, train

_MODULES = {
    "bundle": ("Bundle", "open_bundle"),
    "config": ("DecodeConfig", "RunConfig"),
    "config.file": ("load_config",),
    "control.alignment": ("pharaoh",),
    "errors": (
        "ConfigError",
        "DataError",
        "DistributedError",
        "DivergenceError",
        "DragomanError",
        "Interrupted",
        "ModelError",
        "QualityError",
        "ResourceError",
        "ResumeError",
    ),
    "memory": ("Memory",),
    "text.terms.glossary": ("Glossary",),
    "translation": ("Translation",),
    "translator": ("Translator",),
    "workflows.data.clean": ("CleanResult", "clean_data"),
    "workflows.compare.compare": ("compare_runs",),
    "workflows.compare.result": ("RunComparison",),
    "workflows.evaluate.confidence": ("ConfidenceResult", "learn_model_confidence"),
    "workflows.data.check": ("check_data", "split_data"),
    "workflows.train.distil": ("distill",),
    "workflows.documents.documents": ("DocumentsResult", "translate_documents"),
    "workflows.evaluate.evaluate": ("Evaluation", "evaluate"),
    "workflows.models.export": ("ExportResult", "export"),
    "inspection.inspect": ("inspect",),
    "workflows.improve.check": ("ImproveResult",),
    "workflows.improve.improve": ("improve",),
    "workflows.importing.import_model": ("ImportResult", "import_model"),
    "workflows.lines.translate": ("LinesResult", "translate_file"),
    "workflows.listener": ("Listener",),
    "workflows.documents.memory": ("add_to_memory", "export_memory", "open_memory"),
    "workflows.models.merge": ("merge_adapter",),
    "workflows.data.mix": ("MixResult", "mix_data"),
    "workflows.models.models": (
        "ModelInfo",
        "PackResult",
        "install_model",
        "list_models",
        "pack_model",
        "remove_model",
    ),
    "workflows.train.project": ("Project", "init_project"),
    "workflows.evaluate.robustness": ("Robustness", "evaluate_robustness"),
    "workflows.train.train": ("TrainResult", "train"),
    "workflows.models.verify": ("ModelCheck", "verify_model"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Bundle",
    "CleanResult",
    "ConfidenceResult",
    "ConfigError",
    "DataError",
    "DecodeConfig",
    "DistributedError",
    "DivergenceError",
    "DocumentsResult",
    "DragomanError",
    "Evaluation",
    "ExportResult",
    "Glossary",
    "ImportResult",
    "ImproveResult",
    "Interrupted",
    "LinesResult",
    "Listener",
    "Memory",
    "MixResult",
    "ModelCheck",
    "ModelError",
    "ModelInfo",
    "PackResult",
    "Project",
    "QualityError",
    "ResourceError",
    "ResumeError",
    "Robustness",
    "RunComparison",
    "RunConfig",
    "TrainResult",
    "Translation",
    "Translator",
    "__version__",
    "add_to_memory",
    "check_data",
    "clean_data",
    "compare_runs",
    "distill",
    "evaluate",
    "evaluate_robustness",
    "export",
    "export_memory",
    "import_model",
    "improve",
    "init_project",
    "inspect",
    "install_model",
    "learn_model_confidence",
    "list_models",
    "load_config",
    "merge_adapter",
    "mix_data",
    "open_bundle",
    "open_memory",
    "pack_model",
    "pharaoh",
    "remove_model",
    "split_data",
    "train",
    "translate_documents",
    "translate_file",
    "verify_model",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    return getattr(import_module(f"dragoman.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
