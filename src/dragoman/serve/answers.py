"""Problems as each dialect writes errors: RFC 9457, `error` or `message`, by the path of the request."""

from starlette.responses import JSONResponse

from dragoman.serve.http.problems import MEDIA_TYPE, Problem
from dragoman.serve.libretranslate import libretranslate

# How DeepL answers a request for more than an account has.
QUOTA = 456


def dialect_of(path: str) -> str:
    """`native`, `libretranslate`, or `other` for what belongs to no dialect."""
    if path.startswith("/v1/"):
        return "native"
    if path.startswith(("/v2/", "/v3/")):
        return "deepl"
    is_libretranslate = any(path == prefix or path.startswith(f"{prefix}/") for prefix in libretranslate.PATHS)
    return "libretranslate" if is_libretranslate else "other"


def error_response(path: str, problem: Problem, request_id: str = "") -> JSONResponse:
    """The answer for a problem. In the dialects a key that is not accepted is 403, as their clients know it."""
    status = 403 if problem.status == 401 else problem.status
    if dialect_of(path) == "libretranslate":
        return JSONResponse({"error": problem.detail}, status, problem.headers)
    if dialect_of(path) == "deepl":
        status = QUOTA if problem.kind in ("glossary-limit", "quota") else status
        return JSONResponse({"message": problem.detail}, status, problem.headers)
    instance = f"urn:dragoman:request:{request_id}" if request_id else ""
    return JSONResponse(problem.body(instance), problem.status, problem.headers, MEDIA_TYPE)
