"""LaTeX: prose is translated between the same macros; formulas, references, code and comments stay byte for byte."""

from dataclasses import replace
from pathlib import Path

import pytest

from documents.real import needs_data, real
from documents.splicing import check_changed, check_laws, opened, replaced, texts, written
from dragoman.errors import DataError
from dragoman.text.words.inline import InlineText

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

SENTENCE = "Some bold text with $x_1 < 2$ and\xa0\\cite[p.~3]{knuth}, 100% of “it” — café."


def test_what_is_text_and_what_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a.tex"
    path.write_text(PAGE)
    document = check_laws(path)
    assert texts(document) == [
        "A small title",
        "First part",
        SENTENCE,
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
        SENTENCE: "$x_1 < 2$ “것” \\cite[p.~3]{knuth} 100% — 카페.",
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


def body_texts(tmp_path: Path, body: str, preamble: str = "") -> list[str]:
    """The texts of a document, which holds the laws, between one text before and one behind."""
    path = tmp_path / "a.tex"
    path.write_text(
        f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\nFirst text.\n\n"
        f"{body}\n\nLast text.\n\\end{{document}}\n"
    )
    document = check_laws(path)
    check_changed(document, tmp_path)
    first, *between, last = texts(document)
    assert (first, last) == ("First text.", "Last text.")
    return between


@pytest.mark.parametrize(
    "code",
    [
        "\\begin{lstlisting}[language=sh]\necho $HOME { % {\n\\end{lstlisting}",
        "\\begin{minted}{c}\nif (x) {\n\\end{minted}",
        "\\begin{Verbatim}[numbers=left]\n$ \\begin{a} }\n\\end{Verbatim}",
        "\\begin{frame}[fragile]\n\\begin{verbatim}\n{$\n\\end{verbatim}\n\\end{frame}",
        "\\begin{mycode}\n$ {\n\\end{mycode}",
        "\\begin{axis}[title=A graph of it] \\addplot coordinates {(1,2)}; \\end{axis}",
        "\\begin{tikzpicture}\\node {The first big step}; \\end{tikzpicture}",
        "\\begin{unknownpicture} \\draw (0,0) to[R=resistor] (2,0); \\end{unknownpicture}",
        "\\begin{unknownmath} length_a &=& width of it \\end{unknownmath}",
        "\\begin{dmath} length = width + height \\end{dmath}",
        "\\begin{forest} [Root [Left] [Right]] \\end{forest}",
        "\\iffalse This is commented \\ifx a b \\fi out. \\fi",
        "\\newcommand{\\x}[2][a]{\\begin{quote}#1 words of it}",
        "\\def\\x#1{\\end{quote} some words of it}",
        "\\be x = 1 \\text{ where it is} \\ee",
        "\\resizebox{\\textwidth}{!}{\\includegraphics[width=3cm]{a_b}}",
    ],
)
def test_code_pictures_and_definitions_hide_nothing_and_stay(tmp_path: Path, code: str) -> None:
    preamble = (
        "\\lstnewenvironment{mycode}{}{}\n\\newcommand{\\be}{\\begin{equation}}\n\\newcommand\\ee{\\end{equation}}"
    )
    assert body_texts(tmp_path, code, preamble) == []


@pytest.mark.parametrize(
    "preamble",
    [
        "\\newenvironment{packed}{\\begin{list}{}{\\setlength{\\itemsep}{0pt}}}{\\end{list}}",
        "\\newcommand{\\bi}{\\begin{itemize}}\n\\def\\ei{\\end{itemize}}",
        "% \\begin{document}\n\\makeatletter\\catcode`\\$=11 }{",
        "\\begin{filecontents}{x.tex}\n\\begin{document}\n\\end{filecontents}",
        "".join(
            f"\\newenvironment{{{c * 3}}}{{\\begin{{{c}}} {{\\bf :}}}}{{\\end{{{c}}}}}\n" for c in "abcdefghijklmnopqr"
        ),
    ],
)
def test_nothing_in_the_preamble_hides_the_document(tmp_path: Path, preamble: str) -> None:
    assert body_texts(tmp_path, "", preamble) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("See \\url{https://a.example/a%20b} now.", ["See \\url{https://a.example/a%20b} now."]),
        ("See \\href{https://a.example/a%20b}{this page} now.", ["See this page now."]),
        ("Run \\verb|a $ b| and \\lstinline|$x| or \\mintinline{c}{if (x) \\{}.",
         ["Run \\verb|a $ b| and \\lstinline|$x| or \\mintinline{c}{if (x) \\{}."]),
        ("Figure~\\ref{fig:a} and \\citep[p.~3]{knuth} show it.",
         ["Figure\xa0\\ref{fig:a} and \\citep[p.~3]{knuth} show it."]),
        ("\\begin{frame}<1->[t]{The title}{A subtitle}\\begin{block}{Of a block}Text.\\end{block}\\end{frame}",
         ["The title", "A subtitle", "Of a block", "Text."]),
        ("\\begin{tabular}{>{$}l<{$}r}\\multicolumn{2}{c}{Both columns} \\\\ one & two \\end{tabular}",
         ["Both columns", "one", "two"]),
        ("\\resizebox{\\textwidth}{!}{\\begin{tabular}{ll} one & two \\end{tabular}}", ["one", "two"]),
        ("\\begin{theorem}[The main result] It is true. \\end{theorem}", ["The main result", "It is true."]),
        ("\\begin{mybox}{A box of it} It has some words. \\end{mybox}", ["A box of it", "It has some words."]),
        ("\\section[Short name]{A longer name}", ["Short name", "A longer name"]),
        ("It costs $5 today.\n\nAnd $x$ is a number.", ["It costs $5 today.", "And $x$ is a number."]),
        ("A \\only<2->{second} step.", ["A second step."]),
        ("\\begin{itemize}\\item<2-|alert@2> Second point\\item <3->[Label] Third\\item <b> no overlay\\end{itemize}",
         ["Second point", "Label", "Third", "<b> no overlay"]),
        ("\\caption*{A red dog.}", ["A red dog."]),
        ("\\caption[A short \\emph{form}]{A long form}", ["A short form", "A long form"]),
        ("\\section<2>[Short]{A longer name}", ["Short", "A longer name"]),
        ("A \\textbf<2>{bold} and \\textcolor<3->{red}{hot} dog.", ["A bold and hot dog."]),
        ("\\footnote<2>[3]{A note} of it.", ["A note", "of it."]),
        ("\\includegraphics<2>[width=3cm]{a dog}\\pause<3> Text.", ["Text."]),
        ("See \\href{a%20b}{one} and \\href[page=3]{b%20c} {two}.", ["See one and two."]),
        ("One \\iffalse two \\else three\\fi\\ four.", ["One three four."]),
        ("A { brace.\n\nMore.", ["A", "brace.", "More."]),
        ("\\begin{quote} Not closed.\n\nMore.", ["Not closed.", "More."]),
    ],
)  # fmt: skip
def test_what_is_text_is_found(tmp_path: Path, body: str, expected: list[str]) -> None:
    assert body_texts(tmp_path, body) == expected


def test_the_space_after_a_name_stays(tmp_path: Path) -> None:
    page = "\\documentclass{a}\\begin{document}\nto the \\LaTeX\\ lab, and \\TeX\\ users\n\\end{document}\n"
    document = opened(tmp_path / "a.tex", page)
    [source] = texts(document)
    result = replaced(document, {source: source.replace("lab", "room")}).decode()
    assert "\\LaTeX\\ room" in result
    assert "\\TeX\\ users" in result


def test_the_address_of_a_link_is_no_span_of_its_own(tmp_path: Path) -> None:
    (unit,) = opened(tmp_path / "a.tex", "See \\href{u}{the link} and \\href[page=3]{v}{more}.\n").units
    assert [code.text for code in unit.source.codes] == ["\\href{u}{", "}", "\\href[page=3]{v}{", "}"]


@pytest.mark.parametrize("before", ["\\noindent", "\\item"])
@pytest.mark.parametrize("source", ["\\textbf{Speed} is all.", "``Hi'' he said.", "$x$ is it.", "5 dogs."])
def test_a_name_right_before_a_text_does_not_swallow_its_first_word(tmp_path: Path, before: str, source: str) -> None:
    document = opened(tmp_path / "a.tex", f"{before}{source}\n")
    result = written(document, started).decode()
    assert result == f"{before} 참고 {source}\n"
    assert [text[:2] for text in texts(opened(tmp_path / "b.tex", result))] == ["참고"]


def started(source: InlineText) -> InlineText:
    """The text with a word before it."""
    codes = tuple(replace(code, position=code.position + 3) for code in source.codes)
    return InlineText(f"참고 {source.text}", codes, tuple((begin + 3, end + 3) for begin, end in source.protected))
