"""The description of the interface: what FastAPI finds, and the errors that any request may have, in its dialect."""

from typing import Any

from fastapi import FastAPI

from dragoman.serve.answers import QUOTA, dialect_of
from dragoman.serve.dialect_schema import error_as
from dragoman.serve.http.described import PROBLEMS

# By the guard, the parsers, the queue, the engine and the store; a route may have any of them.
STATUSES = (400, 401, 403, 404, 405, 409, 410, 411, 413, 415, 429, 500, 501, 503, 504, 507)
_ERRORS = {"libretranslate": error_as("error"), "deepl": error_as("message")}


class Described(FastAPI):
    """An application whose description has every error of every route."""

    def openapi(self) -> dict[str, Any]:
        """The description in OpenAPI."""
        if self.openapi_schema:
            return self.openapi_schema
        found = super().openapi()
        for path, operations in found["paths"].items():
            answer = _ERRORS.get(dialect_of(path), PROBLEMS[400])
            for operation in operations.values():
                responses = operation["responses"]
                responses.pop("422", None)  # of FastAPI: ours is 400
                for status in (*STATUSES, QUOTA) if dialect_of(path) == "deepl" else STATUSES:
                    responses.setdefault(str(status), answer)
        return found
