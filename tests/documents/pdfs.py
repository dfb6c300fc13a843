"""Small PDF files made by hand: pages of lines at places, in Helvetica, with or without compression."""

import zlib
from collections.abc import Sequence
from pathlib import Path

# Text, distance from the left and from the bottom in points, size of the letters.
Line = tuple[str, float, float, float]


def pdf(path: Path, pages: Sequence[Sequence[Line]], *, extra: bytes = b"", filters: bytes = b"") -> Path:
    """A PDF of these pages. `extra` are entries of its trailer; `filters` those of the streams, whose data they are."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    objects += [
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica%b/Encoding/WinAnsiEncoding>>" % bold for bold in (b"", b"-Bold")
    ]
    kids = []
    for lines in pages:
        content = "".join(
            f"BT /F{1 if size < 15 else 2} {size} Tf {left} {bottom} Td ({text}) Tj ET\n"
            for text, left, bottom, size in lines
        ).encode("cp1252")
        data = zlib.compress(content) if filters else content
        kids.append(len(objects) + 1)
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>"
            b"/Contents %d 0 R>>" % (len(objects) + 2)
        )
        objects.append(b"<</Length %d%b>>\nstream\n%b\nendstream" % (len(data), filters, data))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%b]>>" % (len(kids), b" ".join(b"%d 0 R" % kid for kid in kids))
    content, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, extra, len(content))
    path.write_bytes(content + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + trailer)
    return path


def prose(*lines: str, top: float = 700, left: float = 72) -> list[Line]:
    """Lines of 11 points, each below the one before it."""
    return [(text, left, top - 14 * number, 11) for number, text in enumerate(lines)]
