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

from dragoman.version import __version__ as __version__

if TYPE_CHECKING:
    from dragoman.bundle import Bundle as Bundle
    from dragoman.bundle import open_bundle as open_bundle
    from dragoman.config import DecodeConfig as DecodeConfig
    from dragoman.config import RunConfig as RunConfig
    from dragoman.config.file import load_config as load_config
    from dragoman.control.alignment import pharaoh as pharaoh
    from dragoman.errors import ConfigError as ConfigError
    from dragoman.errors import DataError as DataError
    from dragoman.errors import DistributedError as DistributedError
    from dragoman.errors import DivergenceError as DivergenceError
    from dragoman.errors import DragomanError as DragomanError
    from dragoman.errors import Interrupted as Interrupted
    from dragoman.errors import ModelError as ModelError
    from dragoman.errors import QualityError as QualityError
    from dragoman.errors import ResourceError as ResourceError
    from dragoman.errors import ResumeError as ResumeError
    from dragoman.memory import Memory as Memory
    from dragoman.text.terms.glossary import Glossary as Glossary
    from dragoman.translation import Translation as Translation
    from dragoman.translator import Translator as Translator
    from dragoman.workflows.compare.compare import compare_runs as compare_runs
    from dragoman.workflows.compare.result import RunComparison as RunComparison
    from dragoman.workflows.data.check import check_data as check_data
    from dragoman.workflows.data.check import split_data as split_data
    from dragoman.workflows.data.clean import CleanResult as CleanResult
    from dragoman.workflows.data.clean import clean_data as clean_data
    from dragoman.workflows.data.mix import MixResult as MixResult
    from dragoman.workflows.data.mix import mix_data as mix_data
    from dragoman.workflows.documents.documents import DocumentsResult as DocumentsResult
    from dragoman.workflows.documents.documents import translate_documents as translate_documents
    from dragoman.workflows.documents.memory import add_to_memory as add_to_memory
    from dragoman.workflows.documents.memory import export_memory as export_memory
    from dragoman.workflows.documents.memory import open_memory as open_memory
    from dragoman.workflows.evaluate.confidence import ConfidenceResult as ConfidenceResult
    from dragoman.workflows.evaluate.confidence import learn_judged_confidence as learn_judged_confidence
    from dragoman.workflows.evaluate.confidence import learn_model_confidence as learn_model_confidence
    from dragoman.workflows.evaluate.evaluate import Evaluation as Evaluation
    from dragoman.workflows.evaluate.evaluate import evaluate as evaluate
    from dragoman.workflows.evaluate.robustness import Robustness as Robustness
    from dragoman.workflows.evaluate.robustness import evaluate_robustness as evaluate_robustness
    from dragoman.workflows.importing.import_model import ImportResult as ImportResult
    from dragoman.workflows.importing.import_model import import_model as import_model
    from dragoman.workflows.improve.check import ImproveResult as ImproveResult
    from dragoman.workflows.improve.improve import improve as improve
    from dragoman.workflows.lines.translate import LinesResult as LinesResult
    from dragoman.workflows.lines.translate import translate_file as translate_file
    from dragoman.workflows.listener import Listener as Listener
    from dragoman.workflows.models.export import ExportResult as ExportResult
    from dragoman.workflows.models.export import export as export
    from dragoman.workflows.models.html import PageResult as PageResult
    from dragoman.workflows.models.look import inspect as inspect
    from dragoman.workflows.models.merge import merge_adapter as merge_adapter
    from dragoman.workflows.models.models import ModelInfo as ModelInfo
    from dragoman.workflows.models.models import PackResult as PackResult
    from dragoman.workflows.models.models import install_model as install_model
    from dragoman.workflows.models.models import list_models as list_models
    from dragoman.workflows.models.models import pack_model as pack_model
    from dragoman.workflows.models.models import remove_model as remove_model
    from dragoman.workflows.models.verify import ModelCheck as ModelCheck
    from dragoman.workflows.models.verify import verify_model as verify_model
    from dragoman.workflows.train.distil import distill as distill
    from dragoman.workflows.train.project import Project as Project
    from dragoman.workflows.train.project import init_project as init_project
    from dragoman.workflows.train.train import TrainResult as TrainResult
    from dragoman.workflows.train.train import train as train

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
    "workflows.evaluate.confidence": ("ConfidenceResult", "learn_judged_confidence", "learn_model_confidence"),
    "workflows.data.check": ("check_data", "split_data"),
    "workflows.train.distil": ("distill",),
    "workflows.documents.documents": ("DocumentsResult", "translate_documents"),
    "workflows.evaluate.evaluate": ("Evaluation", "evaluate"),
    "workflows.models.export": ("ExportResult", "export"),
    "workflows.models.html": ("PageResult",),
    "workflows.models.look": ("inspect",),
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

__all__ = sorted([*_MODULE_OF, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    return getattr(import_module(f"dragoman.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
