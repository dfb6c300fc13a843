r"""LaTeX → the same text with what no parser of LaTeX can read in place: code, definitions, the preamble, pictures.

A mask has the length of what it covers, so that positions stay. It is a run of one private character, by which the
reader knows what to do with what is below it:

    PROTECTED   copied in the sentence and shown to the model: `\verb|x|`, `\url{…}`, `\ref{…}`, `\cite{…}`
    ALONE       copied in the sentence and not shown: what is between `\iffalse` and `\fi`
    BORDER      ends a text: listings, formulas, pictures, definitions, arguments, the preamble but for its title

An environment that is not known is left alone unless it has prose. One pass finds what hides other things (comments,
code, definitions), a second one pairs `\begin` and `\end`; those without a partner at their depth of braces are
borders.
"""

# ruff: noqa: SIM905
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

PROTECTED, ALONE, BORDER = "\ue000", "\ue001", "\ue002"
MASKS = re.compile(f"{PROTECTED}+|{ALONE}+|{BORDER}+")
# Characters in which the end of an argument is looked for.
_REACH = 20_000
_TOKEN = re.compile(r"%[^\n]*|\\(?P<name>[A-Za-z@]+)\*?|\\[\s\S]|[{}$]|\n[ \t\r]*\n")
_BRACES = re.compile(r"%[^\n]*|\\[\s\S]|[{}]")
_OVERLAY = re.compile(r"<[^<>\n]{0,100}>")
_SPACE = re.compile(r"[ \t]*\n?[ \t]*")

_VERBATIM = frozenset(
    "verbatim Verbatim BVerbatim LVerbatim alltt lstlisting minted filecontents comment luacode sagesilent asy "
    "semiverbatim pycode pyconsole python lilypond tcblisting dot".split()
)
# Formulas, pictures, algorithms, the bibliography; a star may follow.
_OPAQUE = frozenset(
    "equation align alignat aligned gather gathered multline flalign eqnarray displaymath math split cases "
    "subequations array matrix IEEEeqnarray IEEEeqnarraybox dmath dgroup darray dseries mathpar empheq "
    "tikzpicture pgfpicture picture axis semilogxaxis semilogyaxis loglogaxis polaraxis circuitikz forest tikzcd "
    "pspicture scope feynman ganttchart bytefield prooftree algorithm algorithmic thebibliography".split()
)
_PROSE = frozenset(
    "document abstract itemize enumerate description list trivlist quote quotation verse center flushleft flushright "
    "minipage figure table tabular tabularx tabulary longtable supertabular xltabular tabbing wrapfigure wraptable "
    "sidewaystable sidewaysfigure subfigure subtable threeparttable tablenotes columns column multicols titlepage "
    "letter acknowledgments acknowledgements keywords landscape small footnotesize tcolorbox mdframed framed shaded "
    "leftbar adjustwidth compactitem compactenum inparaenum spacing singlespace onehalfspace doublespace appendix "
    "appendices questions parts choices solution frame block exampleblock alertblock".split()
)
_THEOREMS = frozenset(
    "theorem lemma proof corollary proposition definition remark example exercise note claim conjecture".split()
)
# Groups after `\begin{…}` that are texts by themselves.
_TITLED = {"frame": 2, "block": 1, "exampleblock": 1, "alertblock": 1, "letter": 1}
# Macros whose last argument is a text by itself, and how many groups are before it.
_WRAPPERS = {
    "multicolumn": 2, "multirow": 2, "makecell": 0, "thead": 0, "parbox": 1, "fbox": 0, "framebox": 0, "makebox": 0,
    "colorbox": 1, "fcolorbox": 2, "resizebox": 2, "scalebox": 1, "rotatebox": 1, "raisebox": 1, "adjustbox": 1,
    "framesubtitle": 0, "institute": 0, "keywords": 0, "abstract": 0, "marginnote": 0, "sidenote": 0, "subcaption": 0,
    "captionof": 1, "minisec": 0, "cvsection": 0,
}  # fmt: skip
# Macros that define or set something, and how many groups they take.
_DEFINITIONS = {
    "newcommand": 2, "renewcommand": 2, "providecommand": 2, "DeclareRobustCommand": 2, "newenvironment": 3,
    "renewenvironment": 3, "NewDocumentCommand": 3, "RenewDocumentCommand": 3, "NewDocumentEnvironment": 4,
    "DeclareMathOperator": 2, "DeclarePairedDelimiter": 3, "newtheorem": 2, "newcolumntype": 2, "lstset": 1,
    "lstdefinestyle": 2, "lstdefinelanguage": 2, "tikzset": 1, "pgfplotsset": 1, "hypersetup": 1, "sisetup": 1,
    "tikzstyle": 1, "newtcolorbox": 2, "titleformat": 5, "newacronym": 3, "newglossaryentry": 2, "AtBeginDocument": 1,
}  # fmt: skip
_TITLES = frozenset(("title", "subtitle", "keywords", "abstract"))
# What refers to something or is a quantity; with its arguments it is like a word of the sentence.
_REFERENCE = re.compile(
    r"(?:(?!hyper|href)[A-Za-z]*ref|(?!no)[A-Za-z]*[cC]ite[A-Za-z]*|gls|Gls|glspl|Glspl|acs?|acl|acf|SI|qty|num|si|unit"
    r"|ce|nolinkurl|url|path|doi)$"
)
_CODE = {"verb": 0, "lstinline": 0, "mintinline": 1, "Verb": 0, "spverb": 0, "url": 0, "nolinkurl": 0, "path": 0}
_IFS = re.compile(r"\\(?:(if[A-Za-z]*|fi|else)(?![A-Za-z])|[\s\S])|%[^\n]*")
_SHORTHAND = re.compile(r"\{?\s*\\(\w+)\s*\}?\s*\{\s*\\(begin|end)\s*\{([^{}]+)\}")
_NAMED = re.compile(r"\s*\{\s*([^{}\\]+?)\s*\}")

_PICTURE = re.compile(
    r"\\(?:draw|node|path|addplot|coordinate|fill|filldraw|foreach|put|psline|State|If|For|While|Require|Ensure)\b"
    r"|;[ \t]*(?:\r?\n|$)"
)
_FORMULA = re.compile(r"\$[^$]*\$|\\\(.*?\\\)|\\\[.*?\\\]", re.DOTALL)
_TEXT_MACRO = re.compile(r"\\(?:caption|section|subsection|paragraph|item|footnote|emph|textbf|textit)\b")
_MACRO = re.compile(r"\\[A-Za-z@]+\*?(?:\s?\[[^\[\]]*\]|\{[^{}]*\})*|\\[\s\S]|%[^\n]*")
_WORDS = re.compile(r"[^\W\d_]{2,},?(?:\s+[^\W\d_]{2,},?){2,}|[^\W\d_]{2,}\s+[^\W\d_]{2,}[.!?:]|[ぁ-ヿ一-鿿가-힣]{8}")


def masked(content: str) -> str:
    """The text with its masks."""
    return _Masks(content).applied()


def has_prose(inside: str) -> bool:
    """Whether what an unknown environment encloses has a sentence: no drawing, no formula, three words in a row."""
    if _PICTURE.search(inside):
        return False
    inside = _FORMULA.sub(" ", inside)
    if _TEXT_MACRO.search(inside):
        return True
    rest = _MACRO.sub(" ", inside)
    return not re.search(r"[\^_]", rest) and _WORDS.search(rest) is not None


@dataclass(slots=True)
class _Environment:
    """A `\\begin{name}` at a depth of braces, and the `\\end` that belongs to it."""

    name: str
    begin: int
    opened: int
    depth: int
    closing: int = -1
    end: int = -1


@dataclass(slots=True)
class _Masks:
    content: str
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    environments: list[_Environment] = field(default_factory=list)
    stack: list[_Environment] = field(default_factory=list)
    braces: list[int] = field(default_factory=list)
    dollars: list[int] = field(default_factory=list)
    verbatim: set[str] = field(default_factory=lambda: set(_VERBATIM))
    prose: set[str] = field(default_factory=lambda: set(_PROSE | _THEOREMS))
    shorthands: dict[str, tuple[str, str]] = field(default_factory=dict)
    titles: list[tuple[int, int]] = field(default_factory=list)
    opened: _Environment | None = None
    """The document."""

    def applied(self) -> str:
        self._scan()
        self._end_paragraph()
        self.spans += [(at, at + 1, BORDER) for at in self.braces]
        self.spans += [
            (environment.begin, environment.opened, BORDER)
            for environment in self.stack
            if environment is not self.opened
        ]
        self._decide()
        if self.opened is not None:
            at = 0
            for begin, end in [*self.titles, (self.opened.opened, self.opened.opened)]:
                self.spans.append((at, begin, BORDER))
                at = end
            if self.opened.end >= 0:
                self.spans.append((self.opened.closing, len(self.content), BORDER))
        signs = list(MASKS.sub(lambda match: "x" * len(match[0]), self.content))
        for begin, end, sign in self.spans:
            if sign == BORDER or signs[begin] != BORDER:
                signs[begin:end] = sign * (end - begin)
        return "".join(signs)

    def _scan(self) -> None:
        at = 0
        while match := _TOKEN.search(self.content, at):
            at = match.end()
            token, name = match[0], match["name"]
            if name:
                at = self._macro(name, match.start(), at)
            elif token == "{":
                self.braces.append(match.start())
            elif token == "}":
                if self.braces:
                    self.braces.pop()
                else:
                    self.spans.append((match.start(), at, BORDER))
            elif token == "$":
                self.dollars.append(match.start())
            elif token[0] == "\n":
                self._end_paragraph()
                at -= 1  # it may begin the next blank line

    def _end_paragraph(self) -> None:
        """A formula does not reach over a blank line: a dollar too many is one of a sum of money."""
        if len(self.dollars) % 2:
            self.spans.append((self.dollars[-1], self.dollars[-1] + 1, PROTECTED))
        self.dollars = []

    def _macro(self, name: str, begin: int, end: int) -> int:
        """Mask what a macro hides; where the next token begins."""
        if name in ("begin", "end"):
            return self._border(name, begin, end)
        if name == "iffalse":
            return self._mask(begin, self._end_of_if(end), ALONE)
        if name in _CODE and (stop := self._end_of_code(name, end)):
            return self._mask(begin, stop, PROTECTED)
        if name == "href":
            space = _SPACE.match(self.content, self._bracket_end(end) or end)
            opening = space.end() if space else end
            stop = self._group_end(opening, comments=False)
            return end if stop is None else self._mask(opening + 1, stop - 1, ALONE) + 1
        if name in _DEFINITIONS or name in ("def", "edef", "gdef", "xdef", "let"):
            return self._mask(begin, self._definition(name, end), BORDER)
        if name in ("lstnewenvironment", "newminted", "DefineVerbatimEnvironment"):
            if named := _NAMED.match(self.content, end):
                self.verbatim.add(named[1] + ("code" if name == "newminted" else ""))
            return self._mask(begin, self._arguments(end, 3), BORDER)
        if _REFERENCE.match(name):
            stop = self._arguments(end, 2 if name in ("SI", "qty") else 1)
            return self._mask(begin, stop, PROTECTED) if stop > end else end
        if name in _TITLES and self.opened is None and not self.braces:
            stop = self._arguments(end, 1)
            self.titles.append((begin, stop))
        if name in _WRAPPERS:
            return self._wrapper(name, begin, end)
        if name in self.shorthands:
            return self._shorthand(name, begin, end)
        return end

    def _mask(self, begin: int, end: int, sign: str) -> int:
        self.spans.append((begin, end, sign))
        return end

    def _border(self, kind: str, begin: int, end: int) -> int:
        named = _NAMED.match(self.content, end)
        if named is None:
            return end
        name, depth = named[1], len(self.braces)
        if kind == "begin" and name.rstrip("*") in self.verbatim:
            closing = self.content.find(f"\\end{{{name}}}", end)
            return named.end() if closing < 0 else self._mask(begin, closing + len(name) + 6, BORDER)
        if kind == "begin":
            self.stack.append(_Environment(name, begin, named.end(), depth))
            if name == "document" and self.opened is None:
                self.opened = self.stack[-1]
                self.braces, self.stack[-1].depth = [], 0
            return named.end()
        partner = next(
            (
                environment
                for environment in reversed(self.stack[-50:])
                if (environment.name, environment.depth) == (name, depth)
            ),
            None,
        )
        if name == "document" and self.opened in self.stack:
            partner = self.opened
        if partner is None:
            return self._mask(begin, named.end(), BORDER)
        while (top := self.stack.pop()) is not partner:
            self.spans.append((top.begin, top.opened, BORDER))
        partner.closing, partner.end = begin, named.end()
        self.environments.append(partner)
        # What follows the document is none of it.
        return len(self.content) if partner is self.opened else named.end()

    def _decide(self) -> None:
        """Mask environments without prose, and the arguments of the others."""
        unknown, covered = list[_Environment](), 0
        listed = sorted(
            (environment for environment in self.environments if environment is not self.opened),
            key=lambda environment: environment.begin,
        )
        for environment in listed:
            name = environment.name.rstrip("*")
            if environment.begin < covered:
                continue
            if name in _OPAQUE or name.endswith("matrix"):
                covered = self._mask(environment.begin, environment.end, BORDER)
            elif name in self.prose:
                self._titles(environment, name)
            else:
                unknown.append(environment)
        covered = 0
        hidden = sorted((begin, end) for begin, end, sign in self.spans if sign == BORDER)
        for environment in unknown:
            if environment.begin < covered:
                continue
            if has_prose(self._without(environment.opened, environment.closing, hidden)):
                self._titles(environment, environment.name)
            else:
                covered = self._mask(environment.begin, environment.end, BORDER)

    def _without(self, begin: int, end: int, hidden: list[tuple[int, int]]) -> str:
        """A part of the text without what is masked in it."""
        parts, at = list[str](), begin
        for low, high in hidden[bisect_left(hidden, (begin, 0)) : bisect_left(hidden, (end, 0))]:
            if high <= end and low >= at:
                parts.append(self.content[at:low])
                at = high
        return " ".join([*parts, self.content[at:end]])

    def _titles(self, environment: _Environment, name: str) -> None:
        """Mask the arguments of an environment, of texts only what is around them."""
        at, texts = environment.opened, _TITLED.get(name, 0)
        known, is_theorem = name in _PROSE, name not in _PROSE
        while True:
            space = _SPACE.match(self.content, at) if texts else None
            begin = space.end() if space else at
            sign = self.content[begin : begin + 1]
            if sign == "<" and (overlay := _OVERLAY.match(self.content, begin)):
                at = self._mask(begin, overlay.end(), BORDER)
                continue
            end = self._group_end(begin) if sign == "{" else self._bracket_end(begin) if sign == "[" else None
            if not end or end > environment.closing:
                break
            inside = self.content[begin + 1 : end - 1]
            is_text = texts > 0 if sign == "{" else is_theorem and "=" not in inside
            if sign == "{" and not known and name not in _TITLED:
                is_text = "=" not in inside and _WORDS.search(f"{inside} text text.") is not None and " " in inside
            texts -= sign == "{"
            if is_text:
                self.spans += [(begin, begin + 1, BORDER), (end - 1, end, BORDER)]
            else:
                self._mask(begin, end, BORDER)
            at = end

    def _wrapper(self, name: str, begin: int, end: int) -> int:
        """Mask a macro around a text by itself, up to the text."""
        at = self._arguments(end, _WRAPPERS[name])
        while stop := self._bracket_end(at) or self._overlay_end(at):
            at = stop
        last = self._group_end(at)
        if last is None:
            return end
        self.spans += [(begin, at + 1, BORDER), (last - 1, last, BORDER)]
        self.braces.append(at)
        return at + 1

    def _shorthand(self, name: str, begin: int, end: int) -> int:
        """Mask a macro that begins or ends an environment; with all up to its end if that has no prose."""
        kind, environment = self.shorthands[name]
        if kind == "begin" and environment.rstrip("*") in _OPAQUE:
            ends = [other for other, pair in self.shorthands.items() if pair == ("end", environment)]
            closing = re.compile(rf"\\(?:{'|'.join(map(re.escape, ends)) or '(?!)'})(?![A-Za-z])")
            if match := closing.search(self.content, end):
                return self._mask(begin, match.end(), BORDER)
        return self._mask(begin, end, BORDER)

    def _definition(self, name: str, end: int) -> int:
        """Where a definition ends."""
        if name in ("newtheorem", "newenvironment", "renewenvironment") and (named := _NAMED.match(self.content, end)):
            if name == "newtheorem":
                self.prose.add(named[1])
        elif match := _SHORTHAND.match(self.content, end):
            self.shorthands[match[1]] = match[2], match[3]
        if name == "let":
            match = re.compile(r"\s*\\(?:[A-Za-z@]+|.)\s*=?\s*(?:\\(?:[A-Za-z@]+|.)|.)", re.DOTALL).match(
                self.content, end
            )
            return match.end() if match else end
        if name in ("def", "edef", "gdef", "xdef"):
            opening = self.content.find("{", end, end + 200)
            return (self._group_end(opening) if opening >= 0 else None) or end
        return self._arguments(end, _DEFINITIONS[name])

    def _end_of_if(self, at: int) -> int:
        """Where the text begins that is not left out."""
        depth = 1
        for match in _IFS.finditer(self.content, at):
            if match[1] == "fi":
                depth -= 1
            elif match[1] and match[1].startswith("if"):
                depth += 1
            if not depth or (depth == 1 and match[1] == "else"):
                return match.end()
        return at

    def _end_of_code(self, name: str, at: int) -> int | None:
        """Where code between two equal signs, or in braces, ends."""
        at = self._bracket_end(at) or at
        if _CODE[name]:
            at = self._group_end(at) or at
        sign = self.content[at : at + 1]
        if sign == "{":
            return self._group_end(at, comments=False)
        if not sign or sign.isalnum() or sign.isspace():
            return None
        end = self.content.find(sign, at + 1)
        return end + 1 if end > 0 and "\n" not in self.content[at:end] else None

    def _arguments(self, at: int, groups: int) -> int:
        """Where the arguments end: up to `groups` groups or macros, brackets and overlays between and behind them."""
        while True:
            space = _SPACE.match(self.content, at)
            begin = space.end() if space else at
            if stop := self._bracket_end(begin) or self._overlay_end(begin):
                at = stop
            elif groups and (stop := self._group_end(begin) or self._name_end(begin)):
                at, groups = stop, groups - 1
            else:
                return at
            if not groups:
                return at

    def _name_end(self, at: int) -> int | None:
        match = re.compile(r"\\[A-Za-z@]+").match(self.content, at)
        return match.end() if match else None

    def _overlay_end(self, at: int) -> int | None:
        match = _OVERLAY.match(self.content, at)
        return match.end() if match else None

    def _group_end(self, at: int, comments: bool = True) -> int | None:
        """Where a group ends that begins at a position."""
        if self.content[at : at + 1] != "{":
            return None
        depth = 0
        for token, end in self._braces(at, comments):
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return end
        return None

    def _braces(self, at: int, comments: bool) -> Iterator[tuple[str, int]]:
        pattern = _BRACES if comments else re.compile(r"\\[{}\\]|[{}]")
        for match in pattern.finditer(self.content, at, at + _REACH):
            if match[0] in "{}":
                yield match[0], match.end()

    def _bracket_end(self, at: int) -> int | None:
        """Where an optional argument ends that begins at a position: at a bracket outside of braces."""
        if self.content[at : at + 1] != "[":
            return None
        depth = 0
        for match in re.compile(r"\\[\s\S]|[{}\]]|\n[ \t]*\n").finditer(self.content, at, at + _REACH):
            depth += (match[0] == "{") - (match[0] == "}")
            if match[0][0] == "\n" or depth < 0:
                return None
            if match[0] == "]" and depth == 0:
                return match.end()
        return None
