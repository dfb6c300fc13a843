"""The documentation as a site, English and Korean: `make docs`. Nothing in it is fetched from a network."""

from posixpath import dirname, join, normpath
from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx

project = "Dragoman"
html_title = "Dragoman"
language = "en"
extensions = ["myst_parser"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = html_show_sphinx = False
html_theme_options = {"footer_icons": []}
pygments_style, pygments_dark_style = "default", "github-dark"
# A block that is not Python is text as it stands: a shell's, an equation, what a program prints.
highlight_language = "text"


def one_language(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
    """Each page says which language it is in, and its contents at the side are in that language."""
    korean = page.startswith("ko/")
    context["language"] = "ko" if korean else "en"
    # Where the name at the top leads.
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


def setup(app: Sphinx) -> None:
    """Sphinx's way in; after the theme has made the contents."""
    app.connect("html-page-context", one_language, priority=900)
