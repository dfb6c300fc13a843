"""The page for people, at `/`: one HTML file in the reader's language, and its scripts and styles, from `web/`.

What the page needs is in the package; it asks no other server. The address of an asset has the hash of all of them, so
a browser keeps it for ever, and the page itself is asked for again with an ETag.
"""

import gzip
import hashlib
import re
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from importlib.util import find_spec

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from dragoman.serve.http.access import named_models, needs_key
from dragoman.serve.http.call import ServiceCall, browser_of, new_browser, service_of
from dragoman.serve.http.problems import Problem
from dragoman.system.pages import fill, labels, script_json, static
from dragoman.text.words.language import primary_language

LANGUAGES = ("en", "ko")
FIRST_PAINT = ("boot.js", "style.css")
"""Assets that the page names itself; the other scripts are preloaded."""
MEDIA = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
ASSETS = "/page"
FOR_EVER, ASK_AGAIN = "public, max-age=31536000, immutable", "no-cache"
POLICY, SEALED = "Content-Security-Policy", "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent: plain, and compressed."""

    media: str
    body: bytes
    packed: bytes


@router.api_route("/", methods=["GET", "HEAD"])
async def page(request: Request) -> Response:
    """The page, in the language that the browser prefers."""
    language = preferred(request.headers.get("accept-language", ""))
    asset, tag = _page(language, _features(request), service_of(request).limits.characters)
    headers = {POLICY: CSP, "ETag": tag, "Vary": "Accept-Language"}
    if tag in request.headers.get("if-none-match", ""):
        response = Response(status_code=304, headers={**headers, "Cache-Control": ASK_AGAIN})
    else:
        response = _sent(request, asset, ASK_AGAIN, headers)
    response.headers["Cache-Control"] = f"private, {ASK_AGAIN}"  # no shared cache keeps the cookie of one browser
    if not browser_of(request) and not await needs_key(service_of(request)):
        new_browser(response, request)
    return response


@router.api_route(ASSETS + "/{version}/{name}", methods=["GET", "HEAD"])
async def asset(request: Request, version: str, name: str) -> Response:
    """A script, a style or a picture; one of another version of the package is not kept."""
    stored = assets().get(name)
    if stored is None:
        raise HTTPException(404)
    return _sent(request, stored, FOR_EVER if version == _version() else ASK_AGAIN, {})


@router.api_route("/translator/{name}", methods=["GET", "HEAD"])
@router.api_route("/translator/", methods=["GET", "HEAD"])
async def translator(request: Request, name: str = "") -> Response:
    """The translator that runs in a browser and can be installed there, where no key is needed, and its `worker.js`."""
    service = service_of(request)
    if name not in ("", "worker.js"):
        raise HTTPException(404)
    if await needs_key(service):
        raise Problem(
            403, "forbidden", "It has the model inside", "the service needs a key: fetch the file, /v1/translator"
        )
    call = ServiceCall(request, service)
    path = await call.run(service.html_files.site, named_models(call, []))
    if name:  # what a service worker may fetch is in its own policy
        headers = {POLICY: "default-src 'none'; connect-src 'self'", "Cache-Control": ASK_AGAIN}
        return FileResponse(path.with_name(name), media_type="text/javascript", headers=headers)
    # Besides this, the page has a policy inside.
    return FileResponse(path, media_type="text/html", headers={POLICY: SEALED, "Cache-Control": ASK_AGAIN})


def _features(request: Request) -> tuple[str, ...]:
    """The paths of the native dialect of which this service can use each: the page shows no more than that."""
    service = service_of(request)
    lacking = {"/v1/memory": not service.memories, "/v1/inspect": not find_spec("torch")}
    without = tuple(path for path, lacks in lacking.items() if lacks)
    paths = (path for path in request.app.openapi()["paths"] if path.startswith("/v1/"))
    return tuple(sorted(path for path in paths if not path.startswith(without)))


def preferred(header: str) -> str:
    """The language of the page for an `Accept-Language`: the first that is weighted most, else English."""
    ranked = list[tuple[float, str]]()
    for part in header.split(","):
        tag, _, weight = part.strip().partition(";q=")
        language = primary_language(tag.strip())
        try:
            ranked.append((float(weight or 1), language))
        except ValueError:
            continue
    wanted = [choice for choice in ranked if choice[1] in LANGUAGES and choice[0] > 0]
    return max(wanted, key=lambda choice: choice[0], default=(1.0, LANGUAGES[0]))[1]


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page but its template and its texts."""
    by_name = {}
    for file in sorted(files(__package__).joinpath("web").iterdir(), key=lambda file: file.name):
        media = MEDIA.get(file.name.rpartition(".")[2])
        if media:
            body = file.read_bytes()
            by_name[file.name] = Asset(media, body, gzip.compress(body, mtime=0))
    return by_name


def asset_path(name: str = "") -> str:
    """The address of an asset, or of their folder; relative, as a proxy may offer the page under a path."""
    return f"{ASSETS[1:]}/{_version()}/{name}".rstrip("/")


@cache
def _version() -> str:
    bodies = (name.encode() + content.body for name, content in assets().items())
    return hashlib.sha256(b"\0".join(bodies)).hexdigest()[:16]


@cache
def _page(language: str, paths: tuple[str, ...], limit: int) -> tuple[Asset, str]:
    """The page of a language for a service with these paths, which takes `limit` characters; and its ETag."""
    texts = {code: labels(__package__, code, "web/") for code in LANGUAGES}
    where = asset_path()
    scripts = [name for name in assets() if name.endswith(".js") and name not in FIRST_PAINT]
    values = {
        "language": language,
        "features": escape(" ".join(paths)),
        "limit": str(limit),
        "assets": where,
        "preloads": "\n".join(f'<link rel="modulepreload" href="{where}/{name}">' for name in scripts),
        "texts": script_json(texts),
    }
    body = fill(_filled(static(__package__, "web/index.html"), texts[language]), values)
    encoded = body.encode()
    tag = f'W/"{hashlib.sha256(encoded).hexdigest()[:16]}"'
    return Asset("text/html", encoded, gzip.compress(encoded, mtime=0)), tag


def _filled(template: str, texts: dict[str, str]) -> str:
    """The template with its texts, so that the first paint has them: `data-text`, `data-label` and `data-hint`."""

    def labelled(match: re.Match[str]) -> str:
        text = escape(texts[match[1]])
        return f'{match[0]} aria-label="{text}" title="{text}"'

    def hinted(match: re.Match[str]) -> str:
        return f'{match[0]} placeholder="{escape(texts[match[1]])}"'

    template = re.sub(r'data-label="(\w+)"', labelled, template)
    template = re.sub(r'data-hint="(\w+)"', hinted, template)
    return re.sub(r'data-text="(\w+)"[^>]*>', lambda match: match[0] + escape(texts[match[1]]), template)


def _sent(request: Request, asset: Asset, cached: str, headers: dict[str, str]) -> Response:
    vary = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
    headers = {**headers, "Cache-Control": cached, "Vary": vary}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, media_type=asset.media, headers={**headers, "Content-Encoding": "gzip"})
    return Response(asset.body, media_type=asset.media, headers=headers)
