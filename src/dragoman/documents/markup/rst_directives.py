"""Directives of Sphinx that hold prose, for the parser of docutils, which knows its own only.

What is in them is parsed as any text of the page. Arguments are code (a signature, a condition), a title, or versions
with a text behind them. Nothing is registered in docutils: the states of this parser know these names.
"""

# ruff: noqa: SIM905
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, Parser, directives, states

# Their content begins in the first line.
_NOTES = frozenset("seealso todo impl-detail margin".split())
_TITLED = frozenset("tab tab-item group-tab dropdown card grid-item-card details collapse centered".split())
# Their first argument is a version, and the second a text.
_CHANGES = frozenset("versionadded versionchanged versionremoved deprecated".split())
# Their arguments are code; so are those of every directive with a domain (`py:function`).
_DESCRIPTIONS = frozenset(
    "function method classmethod staticmethod attribute data class exception decorator decoratormethod property object "
    "describe option cmdoption envvar confval variable module automodule autoclass autofunction automethod "
    "autoattribute autodata autoexception opcode only ifconfig rst-class cssclass hlist acks tabs tab-set grid "
    "grid-item".split()
)
# Their content is no prose.
_CODE = frozenset(
    "raw code code-block sourcecode code-tab literalinclude highlight parsed-literal math graphviz digraph graph "
    "inheritance-diagram mermaid plantuml uml plot doctest testsetup testcode testoutput testcleanup ipython "
    "jupyter-execute prompt command-output productionlist bibliography autosummary index toctree include role "
    "default-role image".split()
)
_FIRST_LINE = re.compile(r"\.\.[ ]+(?:\|[^|\n]+\|[ ]+)?(?P<name>[\w:+.-]+?)[ ]?::")
# What docutils takes for the first line of a directive.
_DIRECTIVE = states.Body.explicit.constructs[-1][1]
_OPTION = re.compile(r"\s*:[^:\n]+:(?:\s|$)")


def unread(tree: Any) -> Iterator[str]:
    """The names of directives whose content docutils could not parse, but for those that hold code."""
    for message in tree.findall(nodes.system_message):
        for block in message.findall(nodes.literal_block):
            first, *content = block.astext().split("\n")
            match = _FIRST_LINE.match(first)
            has_words = any(re.search(r"[^\W\d_]", line) and not _OPTION.match(line) for line in content)
            if match and has_words and match["name"].lower() not in _CODE:
                yield match["name"]


class _Description(Directive):  # type: ignore[misc]
    """A directive whose content is text of the page, and its argument none."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = defaultdict(lambda: directives.unchanged, {"class": directives.unchanged})

    def run(self) -> list[Any]:
        """What its content is parsed to."""
        node = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, node, match_titles=True)
        return [node] if node.children else []

    def argument(self, index: int) -> list[Any]:
        """The paragraph that an argument is, if it is there."""
        if index >= len(self.arguments):
            return []
        text = self.arguments[index]
        inline, messages = self.state.inline_text(text, self.lineno)
        paragraph = nodes.paragraph(text, "", *inline)
        paragraph.line = self.lineno
        return [paragraph, *messages]


class _Note(_Description):
    optional_arguments = 0


class _Titled(_Description):
    def run(self) -> list[Any]:
        """Its title, and what its content is parsed to."""
        return [*self.argument(0), *super().run()]


class _Change(_Description):
    optional_arguments = 2

    def run(self) -> list[Any]:
        """The text behind the version, and what its content is parsed to."""
        return [*self.argument(self.optional_arguments - 1), *super().run()]


class _Removal(_Change):
    # Two versions are before the text.
    optional_arguments = 3


class _Terms(_Description):
    """Definitions are text. Their terms stay, because `:term:` refers to them."""

    optional_arguments = 0

    def run(self) -> list[Any]:
        """What the indented blocks are parsed to."""
        node = nodes.container()
        indented = [not line or line[0] == " " for line in self.content]
        begin = 0
        while begin < len(indented):
            end = next((at for at in range(begin, len(indented)) if not indented[at]), len(indented))
            block = self.content[begin:end]
            block.trim_left(min((len(line) - len(line.lstrip()) for line in block if line), default=0))
            self.state.nested_parse(block, self.content_offset + begin, node)
            begin = end + 1
        return [node]


def _kind(name: str) -> type[_Description] | None:
    """The class of a directive of Sphinx, None for any other."""
    name = name.lower()
    if name in _NOTES:
        return _Note
    if name in _TITLED:
        return _Titled
    if name in _CHANGES:
        return _Change
    if name == "deprecated-removed":
        return _Removal
    if name == "glossary":
        return _Terms
    return _Description if name in _DESCRIPTIONS or ":" in name else None


class _SphinxState(states.RSTState):  # type: ignore[misc]
    # Machines that docutils uses again have the states of this parser: they are not those of others.
    nested_sm_cache: ClassVar[list[Any]] = []

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _STATES, "initial_state": "Body"}

    def run_directive(self, directive: Any, match: re.Match[str], type_name: str, option_presets: Any) -> Any:
        """The nodes of a directive, and whether it ends with a blank line: `class` is that of Sphinx."""
        return super().run_directive(_kind(type_name) or directive, match, type_name, option_presets)

    def unknown_directive(self, type_name: str) -> Any:
        """The nodes of a directive that docutils does not know, and whether it ends with a blank line."""
        match = _DIRECTIVE.match(self.state_machine.line)
        kind = _kind(type_name) if match else None
        return self.run_directive(kind, match, type_name, {}) if kind else super().unknown_directive(type_name)


_STATES = tuple(type(state.__name__, (_SphinxState, state), {}) for state in states.state_classes)


class SphinxParser(Parser):  # type: ignore[misc]
    """The parser of docutils that reads prose in directives of Sphinx."""

    def __init__(self) -> None:
        super().__init__()
        self.state_classes = _STATES
