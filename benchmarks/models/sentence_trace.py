"""The way of a sentence through the package: functions, files, rooms, calls, and kinds of values on the way.

    python benchmarks/models/sentence_trace.py [--before CHECKOUT] [--show]

Every call of a function of the package is counted by the interpreter's own hook, after a first call that loads what is
loaded once: one short sentence with each engine that there is, two sentences with placeholders, and a Word document of
one paragraph with a bold word. A kind of value is a class of the package of which an instance is made on the way. With
--before the same is counted in a checkout of an earlier commit. --show lists the files and the values.

The last line is one JSON object: of each way its counts, those of the checkout as `NAME_before`.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

HERE = Path(__file__).resolve()
SENTENCE = "The red dog sees two birds."
PLACEHOLDERS = ["Open %s and press <b>{key}</b> to save it.", "Found {count} files in %(folder)s."]
# A document has to have these two parts, and a list of their types.
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
PARAGRAPH = (
    f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t xml:space="preserve">The </w:t></w:r>'
    '<w:r><w:rPr><w:b/></w:rPr><w:t>red</w:t></w:r><w:r><w:t xml:space="preserve"> dog sees two birds.</w:t></w:r>'
    "</w:p></w:body></w:document>"
)


@dataclass
class Trace:
    """What was called while `trace` watched."""

    calls: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    """Of each function (file, name, line); a comprehension is one, up to Python 3.11."""
    values: Counter[str] = field(default_factory=Counter)
    """Instances made of each class."""
    moves: int = 0
    """Calls of a function from one in another file."""

    @property
    def files(self) -> list[str]:
        """The files of the functions that were called, within the package."""
        return sorted({file for file, *_ in self.calls})

    @property
    def rooms(self) -> list[str]:
        """The folders, or files, of the package that these are in."""
        return sorted({file.split("/")[0].removesuffix(".py") for file in self.files})

    def counts(self) -> dict[str, int]:
        """All of it as numbers."""
        return {
            "functions": len(self.calls),
            "files": len(self.files),
            "rooms": len(self.rooms),
            "calls": self.calls.total(),
            "moves": self.moves,
            "kinds": len(self.values),
            "values": self.values.total(),
        }


def trace(work: Callable[[], object]) -> Trace:
    """What `work` calls of the package, in this thread."""
    import dragoman

    package = str(Path(dragoman.__file__).parent) + os.sep
    seen = Trace()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        if code.co_filename.startswith(package):
            file = code.co_filename[len(package) :]
            seen.calls[file, code.co_name, code.co_firstlineno] += 1
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            seen.moves += caller.startswith(package) and caller != code.co_filename
        if kind := _made(frame):
            seen.values[kind] += 1

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def _made(frame: FrameType) -> str | None:
    """The name of the class of the package of which this call makes an instance, if it does."""
    name, code = frame.f_code.co_name, frame.f_code
    if not code.co_argcount or name not in ("__init__", "__new__", "<lambda>"):
        return None
    first = frame.f_locals.get(code.co_varnames[0])
    if name == "__init__":
        kind = type(first)
        caller = frame.f_back
        if caller and caller.f_code.co_name == "__init__" and caller.f_locals.get("self") is first:
            return None  # of a base class
    elif name == "__new__" or code.co_varnames[0] == "_cls":  # of a NamedTuple
        kind = first if isinstance(first, type) else type(None)
    else:
        return None
    return kind.__qualname__ if kind.__module__.startswith("dragoman.") else None


def plain_sentence(model: Any) -> Trace:
    """One short sentence."""
    model.translate(SENTENCE)
    return trace(lambda: model.translate(SENTENCE))


def placeholders(model: Any) -> Trace:
    """Two sentences with placeholders."""
    model.translate(PLACEHOLDERS)
    return trace(lambda: model.translate(PLACEHOLDERS))


def word_paragraph(model: Any) -> Trace:
    """A document of one paragraph with a bold word, translated twice: the first time loads what is loaded once."""
    from dragoman import translate_documents

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "report.docx")
        write_paragraph(source)
        targets = [Path(folder, name, "report.docx") for name in ("first", "second")]
        for target in targets:
            target.parent.mkdir()
        translate_documents(model, [source], output=targets[0])
        return trace(lambda: translate_documents(model, [source], output=targets[1]))


def write_paragraph(path: Path) -> None:
    """Write the smallest document of Word that has a paragraph."""
    parts = {"[Content_Types].xml": TYPES, "_rels/.rels": RELATIONS, "word/document.xml": PARAGRAPH}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n{content}')


def all_ways() -> dict[str, Trace]:
    """Every way that the engines here allow."""
    from dragoman import Translator

    model = Translator.load("en-ko", engine="ctranslate2")
    ways = {"sentence": plain_sentence(model)}
    if importlib.util.find_spec("torch"):
        ways["sentence_torch"] = plain_sentence(_with_torch(model))
    return {**ways, "placeholders": placeholders(model), "word": word_paragraph(model)}


def _with_torch(model: Any) -> Any:
    """A translator with a torch engine of a tiny, untrained network: its way is that of any other."""
    import torch

    from dragoman.config import ModelConfig
    from dragoman.engine.torch import TorchEngine
    from dragoman.model.build import build_network

    torch.manual_seed(1)
    shape = ModelConfig(d_model=32, heads=2, d_ff=64, encoder_layers=1, decoder_layers=1)
    vocabularies = len(model.tokenizer.source), len(model.tokenizer.target)
    engine = TorchEngine(build_network(shape, *vocabularies).eval(), torch.device("cpu"))
    return type(model)(model.tokenizer, engine, model.options, target_language="ko")


def main() -> None:
    """Count, print a table, end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="a checkout of an earlier commit")
    parser.add_argument("--show", action="store_true", help="the files and the values of each way")
    arguments = parser.parse_args()
    counts = {}
    if arguments.before:
        env = {**os.environ, "PYTHONPATH": str(arguments.before / "src")}
        command = [sys.executable, str(HERE), *(["--show"] if arguments.show else [])]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        *shown, last = done.stdout.splitlines()
        print("before", *shown, sep="\n")
        counts = {f"{name}_before": own for name, own in json.loads(last).items()}
    for name, way in all_ways().items():
        counts[name] = way.counts()
        print(f"{name:16}", *(f"{count:6,} {what}" for what, count in counts[name].items()))
        if arguments.show:
            print("   ", *way.files, sep="\n    ")
            print("   ", ", ".join(f"{kind} x {count}" for kind, count in way.values.most_common()))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
