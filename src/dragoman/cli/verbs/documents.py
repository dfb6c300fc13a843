"""`dragoman documents`: the formats of documents that `dragoman translate` reads and writes."""

from dragoman.cli.shared.arguments import Json, app
from dragoman.cli.shared.console import print_json, print_table, program, say

KEEPS = {
    "bytes": "every byte around the text",
    "tree": "everything around the text, as its parser reads it",
    "text": "headings, paragraphs and lists: written as .docx or .md",
}


@app.command()
def documents(as_json: Json = False) -> None:
    """List the formats of documents that `translate` reads and writes."""
    from dragoman.documents.formats import KINDS

    extras = ["dragoman[documents]" if kind.needs else "" for kind in KINDS]
    if as_json:
        formats = [
            {"name": kind.name, "suffixes": kind.suffixes, "keeps": kind.keeps, "extra": extra or None}
            for kind, extra in zip(KINDS, extras, strict=True)
        ]
        print_json({"schema": "dragoman.documents/1", "formats": formats})
        return
    rows = [("format", "file names", "what stays", "needs")]
    for kind, extra in zip(KINDS, extras, strict=True):
        rows.append((kind.name, " ".join(kind.suffixes), KEEPS.get(kind.keeps, kind.keeps), extra))
    print_table(rows)
    say(f"`{program()} translate FILE -o OUT` translates one; `{program()} translate FOLDER -o FOLDER` all below it.")
