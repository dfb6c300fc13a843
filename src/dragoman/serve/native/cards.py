"""The card of a served model, as its trainer wrote it: `GET /v1/models/{name}/card`."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.serve.http.described import PROBLEMS
from dragoman.serve.http.http import service_of
from dragoman.serve.http.problems import Problem

MARKDOWN = "text/markdown"

router = APIRouter(prefix="/v1/models", tags=["native"], responses=PROBLEMS)


@router.get("/{name}/card", response_class=Response, responses={200: {"content": {MARKDOWN: {}}}})
async def card(request: Request, name: str) -> Response:
    """What a model was trained on, its scores and its limits: the `README.md` of its bundle."""
    service = service_of(request)
    path = service.models.named(name).folder / "README.md"
    try:
        text = await service.run(path.read_bytes)
    except OSError:
        raise Problem(404, "no-card", "The model has no card", f"the model {name} has no README.md") from None
    return Response(text, media_type=MARKDOWN)
