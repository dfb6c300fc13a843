"""The documentation as a site, English and Korean: `make docs`. Nothing in it is fetched from a network."""

import importlib
import inspect
import re
import sys
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any

from bs4 import BeautifulSoup
from docutils import nodes
from docutils.statemachine import StringList
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parent))
import notebooks
import sample

project = "Dragoman"
html_title = "Dragoman"
language = "en"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
# Headings that a link may lead to.
myst_heading_anchors = 3
# Formulas as GitHub reads them: $…$ in a line, a block of `math`. `mathml` below writes them.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
myst_dmath_allow_space = myst_dmath_allow_digits = False
html_math_renderer = "mathml"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# A docstring has its code between single backticks.
default_role = "code"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False
html_theme_options = {"footer_icons": []}
pygments_style, pygments_dark_style = "default", "github-dark"
# A block that is not Python is plain text: shell commands, an equation, the output of a program.
highlight_language = "text"


def one_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Set the language of a page, and keep only that language in the contents at its side and in its two neighbours."""
    korean = page.startswith("ko/")
    context["language"] = "ko" if korean else "en"
    # The link of the name at the top.
    context["master_doc"] = "ko/index" if korean else "index"
    sidebar = BeautifulSoup(context["furo_navigation_tree"], "html.parser")
    for part in sidebar.find_all("ul", recursive=False):
        href = part.find("a")["href"]
        target = page if href.startswith("#") else normpath(join(dirname(page), href))
        if target.startswith("ko/") != korean:
            if (caption := part.find_previous_sibling("p")) is not None:
                caption.decompose()
            part.decompose()
    context["furo_navigation_tree"] = str(sidebar)
    for name in ("prev", "next"):
        neighbour = context.get(name)
        if neighbour and normpath(join(dirname(page), neighbour["link"])).startswith("ko/") != korean:
            context[name] = None


# What the theme writes, in Korean.
THEME_WORDS = {
    "Toggle site navigation sidebar": "사이트 차례 여닫기",
    "Toggle table of contents sidebar": "이 글의 차례 여닫기",
    "Toggle Light / Dark / Auto color theme": "밝게, 어둡게, 시스템에 맞게",
    "Link to this heading": "이 제목의 주소",
    "Skip to content": "본문으로",
    "Back to top": "맨 위로",
    "On this page": "이 글의 차례",
    "Search": "검색",
    "Previous": "이전",
    "Next": "다음",
    "Home": "처음",
}
WRITTEN_BY_THEME = re.compile(f'(?<=[>"])(\\s*)({"|".join(THEME_WORDS)})(?=\\s*[<"])')


def translate_theme(app: Sphinx, exception: Exception | None) -> None:
    """Write the theme's words on Korean pages in Korean."""
    for path in (Path(app.outdir) / "ko").rglob("*.html"):
        html = path.read_text(encoding="utf-8")
        translated = WRITTEN_BY_THEME.sub(lambda match: match[1] + THEME_WORDS[match[2]], html)
        if translated != html:
            path.write_text(translated, encoding="utf-8")


class PublicNames(SphinxDirective):
    """`.. public-names:: MODULE` documents every name of its `__all__`, from the docstrings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """One autodoc directive per name, functions first."""
        [module] = self.arguments
        values = {
            name: getattr(importlib.import_module(module), name) for name in importlib.import_module(module).__all__
        }
        lines = [
            line
            for name in sorted(values, key=lambda name: (inspect.isclass(values[name]), name.lower()))
            if not name.startswith("__")
            for line in self.directive(f"{module}.{name}", values[name])
        ]
        return self.parse_text_to_nodes(StringList(lines, source=self.env.docname))

    def directive(self, name: str, value: Any) -> list[str]:
        """A function with its docstring; a class with those of its own public methods too."""
        if not inspect.isclass(value):
            return [f".. autofunction:: {name}", ""]
        fields = sorted(getattr(value, "model_fields", ()))  # the configuration's keys have a page of their own
        inherited = [f"   :exclude-members: {', '.join([*fields, 'model_config'])}"] if fields else []
        return [f".. autoclass:: {name}", "   :members:", *inherited, ""]


def as_restructured_text(app: Sphinx, kind: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain text with code between backticks: all other signs of reStructuredText are escaped."""
    for number, line in enumerate(lines):
        parts = re.split(r"(`[^`]*`)", line)
        lines[number] = "".join(part if part[:1] == "`" else re.sub(r"([*|_\\])", r"\\\1", part) for part in parts)


THIN = '<mspace width="0.17em"></mspace>'
# A function without brackets, as in sin iθ, and one behind another factor, have a thin space as in LaTeX.
BEFORE_ARGUMENT = re.compile(r"(?<=<mo>&ApplyFunction;</mo>)(?!\s*(?:<mrow>\s*)?<mo[^>]*>\()")
BEFORE_FUNCTION = re.compile(r"(</(?:mi|mn|mrow|msub|msup)>|\)</mo>)(?=\s*<mi>[a-z]{2,}</mi>\s*<mo>&ApplyFunction;)")


def mathml(self: Any, node: nodes.Element) -> None:
    """A formula in LaTeX as MathML, which browsers draw without a script."""
    block = isinstance(node, nodes.math_block)
    formula = BEFORE_ARGUMENT.sub(THIN, tex2mathml(node.astext(), as_block=block))
    formula = BEFORE_FUNCTION.sub(rf"\1{THIN}", formula)
    self.body.append(f'<div class="equation">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def keep_with_formula(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Hold an opening bracket before a formula, and what follows without a space, on one line with it.

    Browsers break a line on either side of a formula, and a Korean particle would begin the next one.
    """
    for formula in [node for node in doctree.findall(nodes.math) if node.parent.get("classes") != ["formula"]]:
        parent, index = formula.parent, formula.parent.index(formula)
        before, after = (parent[place] if 0 <= place < len(parent) else None for place in (index - 1, index + 1))
        opening = re.search(r"[(\[“]?$", before)[0] if isinstance(before, nodes.Text) else ""
        closing = re.match(r"\S{0,8}(?!\S)|[^\w\s]?", after)[0] if isinstance(after, nodes.Text) else ""
        if not opening and not closing:
            continue
        if closing:
            parent[index + 1] = nodes.Text(after[len(closing) :])
        if opening:
            parent[index - 1] = nodes.Text(before[: -len(opening)])
        parent[index] = nodes.inline("", opening, formula, nodes.Text(closing), classes=["formula"])


def inline_figures(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """A figure of the course becomes part of its page, so that it follows the page's colours."""
    for image in list(doctree.findall(nodes.image)):
        if "images/learn/" in image["uri"]:
            drawing = (Path(app.srcdir) / image["uri"]).read_text(encoding="utf-8")
            caption = f"<figcaption>{image['alt']}</figcaption>"
            figure = nodes.raw("", f'<figure class="drawing">{drawing}{caption}</figure>', format="html")
            parent = image.parent
            if isinstance(parent, nodes.paragraph) and len(parent) == 1:
                parent.replace_self(figure)
            else:
                image.replace_self(figure)


# With `-t translator` the site has the bundled models in a page that translates, and the sample page of the course runs
# its model: megabytes of which tests need none.
TRANSLATOR, PLACE = "translator", "<!-- translator -->"
TRANSLATOR_LINK = {
    "en": (
        "Translate in this browser",
        ", without an installation: one page of 31 MB, and nothing you type leaves it.",
    ),
    "ko": (
        "이 브라우저에서 번역하기",
        ": 설치가 필요 없고, 31 MB인 페이지 하나이며, 입력한 글은 밖으로 나가지 않습니다.",
    ),
}


def link_translator(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put a link to the translator where a page has a place for it."""
    for place in list(doctree.findall(lambda node: isinstance(node, nodes.raw) and node.astext().strip() == PLACE)):
        name, rest = TRANSLATOR_LINK["ko" if page.startswith("ko/") else "en"]
        link = nodes.reference("", name, refuri=f"{'../' * page.count('/')}{TRANSLATOR}/index.html", internal=True)
        place.replace_self(nodes.paragraph("", "", link, nodes.Text(rest)) if app.tags.has(TRANSLATOR) else [])


def write_translator(app: Sphinx, error: Exception | None) -> None:
    """Add the page to a site that was built."""
    if error is None and app.tags.has(TRANSLATOR):
        from dragoman.workflows.models.html import write_site

        write_site(["en-ko", "ko-en"], Path(app.outdir) / TRANSLATOR)


def link_sample(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Under the title of a page of the course its notebook and its steps; addresses in the sample page are links."""
    if re.match(r"(ko/)?learn/\d", page):
        first = next(iter(doctree.findall(nodes.paragraph)))
        first.parent.insert(first.parent.index(first) + 1, nodes.raw("", sample.links(page), format="html"))
    up = "../" * page.count("/")
    for code in list(doctree.findall(nodes.literal)):
        if (address := code.astext()).startswith(f"{sample.NAME}#"):
            text = sample.label(address.partition("#")[2])
            code.replace_self(nodes.raw("", f'<a class="step" href="{up}{address}">{text}</a>', format="html"))


def add_files(app: Sphinx, exception: Exception | None) -> None:
    """The notebooks beside their pages, and the sample page."""
    if exception is None and app.builder.format == "html" and "learn/index" in app.env.found_docs:
        notebooks.write(Path(app.outdir))
        sample.write(Path(app.outdir), live=app.tags.has(TRANSLATOR))


def setup(app: Sphinx) -> None:
    """Sphinx's entry point; `one_language` runs after the theme has made the contents."""
    app.connect("doctree-resolved", link_sample)
    app.connect("build-finished", add_files)
    app.connect("build-finished", translate_theme)
    app.add_html_math_renderer("mathml", (mathml, None), (mathml, None))
    app.connect("doctree-resolved", keep_with_formula)
    app.connect("doctree-resolved", inline_figures)
    app.connect("doctree-resolved", link_translator)
    app.connect("build-finished", write_translator)
    app.add_directive("public-names", PublicNames)
    app.connect("autodoc-process-docstring", as_restructured_text)
    app.connect("html-page-context", one_language, priority=900)
