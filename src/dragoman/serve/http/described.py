"""What routers describe in OpenAPI: the body that a request takes, and its problems."""

from typing import Any

from pydantic import BaseModel

from dragoman.serve.http.problems import MEDIA_TYPE


class ProblemBody(BaseModel):
    """An error, as RFC 9457 has it."""

    type: str
    title: str
    status: int
    detail: str
    instance: str | None = None


_PROBLEM = {"description": "A problem", "content": {MEDIA_TYPE: {"schema": ProblemBody.model_json_schema()}}}
PROBLEMS: dict[int | str, dict[str, Any]] = dict.fromkeys((400, 404, 413, 500, 503, 504, 507), _PROBLEM)


def problem_of_status(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problems that a route has and the others do not."""
    return dict.fromkeys(statuses, _PROBLEM)


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """The body of a request, for OpenAPI: it is read by the route, so that its errors are ours."""
    schema = inlined(model.model_json_schema())
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def inlined(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with its definitions in place: within OpenAPI, references begin elsewhere."""
    definitions = schema.pop("$defs", {})

    def inline(value: Any) -> Any:
        if isinstance(value, dict):
            if "$ref" in value:
                return inline(definitions[value["$ref"].rpartition("/")[2]])
            return {name: inline(each) for name, each in value.items()}
        return [inline(each) for each in value] if isinstance(value, list) else value

    found: dict[str, Any] = inline(schema)
    return found
