"""Documents: their time and memory next to those of the same lines without a document.

    DRAGOMAN_DATA=FOLDER python benchmarks/documents/speed.py [--quick] [--model en-ko] [--threads 1] [--rounds 3]

FOLDER contains documents/po, koen_open and koen_general. The script writes two documents, always the same:

po          5,000 units: the different source texts of the sample PO files with their flags, then test and validation
            lines of koen_open.
docx        200 pages: a heading and six paragraphs of four lines of koen_general each. Every fourth paragraph has a
            span of words in bold, every twelfth a link in another sentence too: of the paragraphs of the sample docx
            files, a quarter have formatted words inside, with 2.6 borders of runs each.

documents   `translate_documents`: reading, translating, writing, reading again.
translate   `Translator.translate` of the texts that it translates, without their inline codes, in the same windows.
search      The same, without care for placeholders and numbers.

Each is measured in a process of its own, in turn, after a short translation that is not measured; loading the model is
not either. Time is CPU time of all threads and wall time; medians over the rounds. Memory is the peak of the process
(VmHWM), the model included. The ratios are those of the CPU time, which other work on the machine disturbs less.

--quick takes a fifth of the units and pages. The last line is one JSON object: `ratio` is the larger one of documents
to translate, and each document's figures follow.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parents[1]))
from shared.memory import memory_mb

UNITS, PAGES = {False: 5000, True: 1000}, {False: 200, True: 40}
PARAGRAPHS, LINES = 6, 4
KINDS = ("documents", "translate", "search")
WARM_UP = ["The door was open.", "Nobody had seen the man who lived there for years."]
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
HEADING = "<w:pPr><w:pageBreakBefore/></w:pPr>"


def read_lines(path: Path) -> list[str]:
    """The lines of a compressed file."""
    return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()


def write_po(path: Path, data: Path, count: int) -> None:
    """A PO file of `count` units."""
    import polib

    texts: dict[str, list[str]] = {}
    for sample in sorted((data / "documents/po").iterdir()):
        for entry in polib.pofile(str(sample)):
            if not entry.obsolete:
                texts.setdefault(entry.msgid, [flag for flag in entry.flags if flag.endswith("-format")])
    for part in ("test", "valid"):
        texts |= {line: [] for line in read_lines(data / f"koen_open/{part}.en.gz") if line not in texts}
    written = polib.POFile(wrapwidth=78)
    written.metadata = {"Language": "ko", "Content-Type": "text/plain; charset=UTF-8"}
    written.extend(polib.POEntry(msgid=text, flags=flags) for text, flags in list(texts.items())[:count])
    written.save(str(path))


def write_docx(path: Path, data: Path, pages: int) -> None:
    """A document of `pages` pages."""
    lines = iter([line for part in ("test", "valid") for line in read_lines(data / f"koen_general/{part}.en.gz")])
    body, number = "", 0
    for page in range(1, pages + 1):
        body += f"<w:p>{HEADING}{run(f'Chapter {page}: {next(lines)}')}</w:p>"
        for _ in range(PARAGRAPHS):
            number += 1
            body += f"<w:p>{paragraph([next(lines) for _ in range(LINES)], number)}</w:p>"
    types = (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>'
    )
    parts = {
        "[Content_Types].xml": types,
        "_rels/.rels": relation("officeDocument", "word/document.xml", ""),
        "word/_rels/document.xml.rels": relation("hyperlink", "https://example.org/", ' TargetMode="External"'),
        "word/document.xml": f'<w:document xmlns:w="{WORD}" xmlns:r="{RELATIONS}"><w:body>{body}</w:body></w:document>',
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, text in parts.items():
            header = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
            file.writestr(zipfile.ZipInfo(name), header + text)


def relation(kind: str, target: str, mode: str) -> str:
    """A part with one relation."""
    one = f'<Relationship Id="rId1" Type="{RELATIONS}/{kind}" Target="{target}"{mode}/>'
    return f'<Relationships xmlns="{PACKAGE}/relationships">{one}</Relationships>'


def paragraph(lines: Sequence[str], number: int) -> str:
    """The runs of a paragraph; which words are formatted depends on its number."""
    bold, linked = number % 4 == 0, number % 12 == 0
    first = formatted(lines[0], number, "<w:rPr><w:b/></w:rPr>") if bold else run(lines[0])
    second = f"{formatted(lines[1], number + 1, '', 'rId1')}" if linked else run(lines[1])
    return run(" ").join([first, second, *map(run, lines[2:])])


def formatted(line: str, number: int, style: str, link: str = "") -> str:
    """A line with one to three of its words in a run of their own."""
    words = line.split()
    begin = number // 4 % len(words)
    end = begin + 1 + number % 3
    inside = run(" ".join(words[begin:end]), style)
    if link:
        inside = f'<w:hyperlink r:id="{link}">{inside}</w:hyperlink>'
    before, after = " ".join([*words[:begin], ""]), " ".join(["", *words[end:]])
    return (run(before) if words[:begin] else "") + inside + (run(after) if words[end:] else "")


def run(text: str, style: str = "") -> str:
    """One run of text."""
    written = "".join(letter for letter in text if letter.isprintable())
    return f'<w:r>{style}<w:t xml:space="preserve">{escape(written)}</w:t></w:r>'


def windows_of(model: str, document: Path, output: Path) -> list[list[str]]:
    """The texts that `translate_documents` translates together: what it asks a translator for that copies."""
    from dragoman import Translator
    from dragoman.control.inline.inline import InlineTranslation
    from dragoman.text.words.inline import InlineText
    from dragoman.translation import Candidate, Translation
    from dragoman.workflows.documents.documents import translate_documents

    translator = Translator.load(model)
    windows: list[list[str]] = []

    def copy(texts: Sequence[InlineText], **options: object) -> list[InlineTranslation]:
        windows.append([one.text for one in texts])
        return [InlineTranslation(Translation(one.text, (Candidate(one.text, 0.0, 0.0),)), one) for one in texts]

    translator.translate_inline = copy  # type: ignore[assignment, method-assign]
    translator.to = lambda *_: translator  # type: ignore[assignment, method-assign, return-value]
    translate_documents(translator, document, output)
    return windows


def worker(kind: str, model: str, threads: int, document: Path, windows: Path, output: Path) -> None:
    """Measure one kind once; print JSON."""
    from dragoman import Translator
    from dragoman.workflows.documents.documents import translate_documents

    translator = Translator.load(model, threads=threads)
    translator.translate(WARM_UP)
    texts: list[list[str]] = [] if kind == "documents" else json.loads(windows.read_text(encoding="utf-8"))
    before, cpu, wall = memory_mb("VmHWM"), time.process_time(), time.perf_counter()
    if kind == "documents":
        translate_documents(translator, document, output, force=True)
    for window in texts:
        if kind == "search":
            translator.translate(window, placeholders=(), numbers=False)
        else:
            translator.translate(window)
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    print(json.dumps(found | {"loaded_mb": before, "peak_mb": memory_mb("VmHWM")}))


def measure(given: argparse.Namespace, document: Path) -> dict[str, Any]:
    """Each kind in turn, as often as there are rounds; printed."""
    output, texts = document.with_name(f"out{document.suffix}"), document.with_suffix(".json")
    windows = windows_of(given.model, document, document.with_name(f"copy{document.suffix}"))
    texts.write_text(json.dumps(windows), encoding="utf-8")
    found: dict[str, list[dict[str, float]]] = {kind: [] for kind in KINDS}
    for _ in range(given.rounds):
        for kind in KINDS:
            arguments = [kind, given.model, str(given.threads), str(document), str(texts), str(output)]
            done = subprocess.run([sys.executable, __file__, "--worker", *arguments], capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stderr)
            found[kind].append(json.loads(done.stdout))
    result: dict[str, Any] = {"texts": sum(map(len, windows)), "words": sum(words_in(windows))}
    print(f"\n{document.suffix[1:]}: {result['texts']:,} different texts, {result['words']:,} words")
    for kind, rounds in found.items():
        own = {key: round(median(one[key] for one in rounds), 2) for key in rounds[0]}
        result[kind] = own
        print(f"  {kind:10} CPU {own['cpu']:7.2f} s, wall {own['wall']:7.2f} s, peak {own['peak_mb']:6.0f} MiB")
    for other in KINDS[1:]:
        result[f"ratio_to_{other}"] = round(ratio(found, "documents", other), 3)
        print(f"  documents / {other}: {result[f'ratio_to_{other}']:.2f} of the CPU time")
    return result


def ratio(found: dict[str, list[dict[str, float]]], one: str, other: str) -> float:
    """The median over the rounds."""
    return median(a["cpu"] / b["cpu"] for a, b in zip(found[one], found[other], strict=True))


def words_in(windows: Sequence[Sequence[str]]) -> Iterator[int]:
    """The number of words of each text."""
    return (len(text.split()) for window in windows for text in window)


def main() -> None:
    """Make the documents, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="finish within 5 minutes")
    parser.add_argument("--model", default="en-ko", help="a bundled model, or the folder of one from English")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, help="how often each is measured; 3, with --quick 1")
    parser.add_argument("--worker", nargs=6, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        kind, model, threads, *paths = given.worker
        worker(kind, model, int(threads), *map(Path, paths))
        return
    given.rounds = given.rounds or (1 if given.quick else 3)
    if "DRAGOMAN_DATA" not in os.environ:
        parser.error("set DRAGOMAN_DATA to the folder that holds documents/, koen_open/ and koen_general/")
    data = Path(os.environ["DRAGOMAN_DATA"])
    with tempfile.TemporaryDirectory() as folder:
        po, docx = Path(folder, "sample.po"), Path(folder, "sample.docx")
        write_po(po, data, UNITS[given.quick])
        write_docx(docx, data, PAGES[given.quick])
        result = {document.suffix[1:]: measure(given, document) for document in (po, docx)}
    from shared.levels import machine  # loads torch, which no measured process has

    worst = max(own["ratio_to_translate"] for own in result.values())
    print(json.dumps({"benchmark": "documents_speed", "ratio": worst, "rounds": given.rounds} | result | machine()))


if __name__ == "__main__":
    main()
