"""LaTeX: prose is translated between the same macros; formulas, references, code and comments stay byte for byte."""

from pathlib import Path

import pytest

from documents.real import needs_data, real
from documents.splicing import check_changed, check_laws, opened, replaced, texts
from dragoman.errors import DataError

PAGE = r"""\documentclass{article}
\usepackage[utf8]{inputenc} % no text
\title{A \emph{small} title}
\begin{document}
\maketitle
\section*{First part}\label{sec:one}
\noindent Some \textbf{bold
text} with $x_1 <
2$ and~\cite[p.~3]{knuth}, 100\% of ``it''\footnote{A note, too.} --- caf\'e.
% a remark
\input{/etc/hostname}
\begin{verbatim}
\end{document} no text
\end{verbatim}

Second \unknown[opt]{arg}{arg} paragraph \ldots{} ends.\\Next line.
\[ y = \text{no text} \]
\begin{itemize}
\item One
\item[Label] Two
\end{itemize}
\begin{tabular}{l|r}
left & right \\ \hline
down & 12 \\
\end{tabular}
\end{document}
after the end
"""


def test_what_is_text_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    path.write_text(PAGE)
    document = check_laws(path)
    assert texts(document) == [
        "A small title",
        "First part",
        "Some bold text with $x_1 < 2$ and\xa0, 100% of “it” — café.",
        "A note, too.",
        "Second paragraph … ends.\nNext line.",
        "One",
        "Label",
        "Two",
        "left",
        "right",
        "down",
    ]
    check_changed(document, tmp_path)


def test_a_translation_is_escaped(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.tex", PAGE)
    new = {
        "First part": r"50% & \input{x} #1_2",
        "Some bold text with $x_1 < 2$ and\xa0, 100% of “it” — café.": "$x_1 < 2$ “것” 100% — 카페.",
        "A note, too.": "주석도.",
    }
    result = replaced(document, new).decode()
    assert r"\section*{50\% \& \textbackslash{}input\{x\} \#1\_2}\label{sec:one}" in result
    assert "$x_1 <\n2$" in result
    assert all(each in result for each in ("``", "''", "\\%", "---"))
    assert r"\footnote{주석도.}" in result
    for kept in (r"\cite[p.~3]{knuth}", "% a remark\n\\input{/etc/hostname}\n", r"\noindent "):
        assert kept in result


def test_a_name_of_a_macro_does_not_swallow_the_next_word(tmp_path: Path) -> None:
    document = opened(tmp_path / "a.tex", "One \\TeX. Two.\n")
    (unit,) = document.units
    assert [code.text for code in unit.source.codes] == ["\\TeX"]
    assert b"\\TeX{}" in replaced(document, {unit.source.text: "하나둘"})


@pytest.mark.parametrize("text", ["{" * 5000, "\\emph{" * 3000, "$" * 3001, "\\begin{a}" * 1000, "[" * 3000, "\\x["])
def test_what_cannot_be_parsed_is_refused_or_unchanged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.tex"
    path.write_text(text + " word")
    try:
        check_laws(path)
    except DataError as error:
        assert "nested too deeply" in str(error)  # noqa: PT017


@needs_data
@pytest.mark.parametrize(
    "path", real("latex") + [p for p in real("hostile") if p.suffix == ".tex"], ids=lambda p: p.name
)
def test_papers_of_other_people(tmp_path: Path, path: Path) -> None:
    check_changed(check_laws(path), tmp_path)
