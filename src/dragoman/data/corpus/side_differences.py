"""What one side of a pair has and the other lacks, by regular expressions: addresses, placeholders; damage."""

import html
import re

_ADDRESS = re.compile(
    r"(?:(?:https?|ftp)://|www\.)[!#-&*-;=?-Z_a-z~]+|[A-Za-z0-9_.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"\$?\{[\w.:-]*\}"
    r"|(?<![\d%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z|j|t|L)?[sdiufFgGeExXcCaApn@](?![A-Za-z])"
    r"|%\(\w+\)[sdifr]|%\{\w+\}|%[A-Z_]{2,}%|%\d+(?![\dA-Za-z])"
    r"|</?[A-Za-z][\w-]*(?:\s+[\w:-]+=(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s<>]+))*\s*/?>"
)
_ORDER = re.compile(r"(?<=%)\d+\$")  # "%1$s" is "%s" that may move
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")
# Hangul read as Latin-1 or Windows-1252; the replacement character, also read as EUC-KR.
_DAMAGE = re.compile("\ufffd|Ã[\x80-\xbf]|â€|[ìíëê][\x80-\xbf\u2018-\u201d]|占쏙옙")


def addresses_differ(source: str, target: str) -> bool:
    """Whether web and mail addresses differ; a full stop or comma after one does not count."""
    return _addresses(source) != _addresses(target)


def placeholders_differ(source: str, target: str) -> bool:
    """Whether placeholders of programs and tags differ, in any order."""
    return _placeholders(source) != _placeholders(target)


def has_entity(text: str) -> bool:
    """Whether an HTML entity was left in the text."""
    return any(html.unescape(entity) != entity for entity in _ENTITY.findall(text))


def has_mojibake(text: str) -> bool:
    """Whether the text looks as if it had been decoded with a wrong encoding."""
    if _DAMAGE.search(text):
        return True
    from ftfy.badness import is_bad

    return is_bad(text)


def _addresses(text: str) -> list[str]:
    return sorted(address.rstrip(".,;:!?*") for address in _ADDRESS.findall(text))


def _placeholders(text: str) -> list[str]:
    return sorted(_ORDER.sub("", placeholder) for placeholder in _PLACEHOLDER.findall(text))
