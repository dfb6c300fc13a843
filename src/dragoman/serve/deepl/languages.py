"""Languages in the dialect of DeepL: `/v2/languages`, and `/v3/languages` with what each can be used for."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from dragoman.serve.http.access import Call
from dragoman.serve.http.problems import malformed
from dragoman.serve.models.models import Models
from dragoman.text.words.language import language_name

# Targets that its clients accept with a region only.
REGIONS = {"en": ("en-GB", "en-US"), "pt": ("pt-BR", "pt-PT")}
# What can be asked for in a language, by resource: whether the source, the target or both must have it.
_TAGS = {"name": "tag_handling", "needs_source_support": True, "needs_target_support": True}
_GLOSSARY = {"name": "glossary", "needs_source_support": True, "needs_target_support": True}
_DETECTION = {"name": "auto_detection", "needs_source_support": True}
RESOURCES: dict[str, list[dict[str, Any]]] = {
    "translate_text": [_TAGS, _GLOSSARY, _DETECTION],
    "translate_document": [_GLOSSARY, _DETECTION],
    "glossary": [],
}
# Which DeepL has and this service has not: no language can be used for them.
ELSEWHERE = ("voice", "write", "style_rules")

router = APIRouter(tags=["DeepL"])


@router.post("/v2/languages", include_in_schema=False)
@router.get("/v2/languages")
async def languages(call: Call) -> JSONResponse:
    """The source or target languages, by `type`, in the query or, as the official client sends it, in a form."""
    kind = (await call.fields()).get("type") or "source"
    if kind not in ("source", "target"):
        raise malformed("type: give source or target")
    models = call.service.models
    if kind == "source":
        return JSONResponse([{"language": tag.upper(), "name": language_name(tag)} for tag in models.sources])
    return JSONResponse(
        [{"language": tag.upper(), "name": language_name(tag), "supports_formality": False} for tag in _targets(models)]
    )


@router.get("/v3/languages")
async def languages_of(call: Call) -> list[dict[str, Any]]:
    """All languages of a `resource`, and whether each can be its source, its target, or both."""
    fields = await call.fields()
    resource = fields.get("resource") or fields.get("product")
    if resource in ELSEWHERE:
        return []
    if not isinstance(resource, str) or resource not in RESOURCES:
        raise malformed(f"Parameter 'resource': give one of {', '.join((*RESOURCES, *ELSEWHERE))}.")
    models = call.service.models
    targets = _targets(models)
    features = RESOURCES[resource]
    return [
        {
            "lang": tag,
            "name": language_name(tag),
            "status": "stable",
            "usable_as_source": tag in models.sources,
            "usable_as_target": tag in targets,
            "features": {
                feature["name"]: {"status": "stable"}
                for feature in features
                if tag in models.sources or "needs_target_support" in feature
            },
        }
        for tag in dict.fromkeys((*models.sources, *targets))
    ]


@router.get("/v3/languages/resources")
async def resources(call: Call) -> list[dict[str, Any]]:
    """What languages can be used for, and what can be asked for besides."""
    return [{"name": name, "features": features} for name, features in RESOURCES.items()]


def _targets(models: Models) -> list[str]:
    return list(dict.fromkeys(tag for pair in models.pairs for tag in REGIONS.get(pair.target, (pair.target,))))
