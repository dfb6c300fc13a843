"""Served models: loaded within a limit of memory, and what becomes of them when their folders change."""

import gc
import json
import shutil
from pathlib import Path

import pytest

from dragoman.bundled import HOME
from dragoman.errors import ModelError, ResourceError
from dragoman.serve.models.loading import Loader, describe
from dragoman.serve.models.models import Models, UnknownModel
from dragoman.serve.requests.ticket import QueueFull
from dragoman.serve.work.service import Service
from live_server import live


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    """A folder of models."""
    for name in ("en-ko", "ko-en"):
        shutil.copytree(HOME / name, tmp_path / "shelf" / name)
    return tmp_path / "shelf"


def revise(folder: Path, **facts: object) -> None:
    """A new version of a model: its manifest says something else."""
    path = folder / "bundle.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **facts}), encoding="utf-8")


def refreshed(models: Models) -> dict[str, str]:
    """What happened to which model in two looks: the first sees a change, the second that it has ended."""
    events: dict[str, str] = {}
    models.loader.on_event = lambda name, event: events.update({name: event})
    models.refresh()
    models.refresh()
    return events


def use(models: Models, name: str):
    model = models.named(name)
    return models.translator(model, model.pairs[0])


def test_a_folder_of_models_is_served_as_each_of_them(shelf):
    models = Models([shelf], threads=1)
    assert [*models.models] == ["en-ko", "ko-en"]
    assert refreshed(models) == {}


def test_a_new_version_replaces_the_old_one_which_finishes_what_it_began(shelf):
    models = Models([shelf], threads=1)
    before, old = models.named("en-ko"), use(models, "en-ko")
    revise(shelf / "en-ko", created="tomorrow")
    models.refresh()
    assert models.named("en-ko") is before, "it may still be copied"
    assert refreshed(models) == {"en-ko": "replaced"}
    assert models.named("en-ko") is not before
    assert use(models, "en-ko").bundle.manifest["created"] == "tomorrow"
    assert old.translate("Hello").text == use(models, "en-ko").translate("Hello").text
    assert refreshed(models) == {}


def test_a_version_that_cannot_be_used_is_refused_and_the_old_one_stays(shelf):
    models = Models([shelf], threads=1)
    loaded = use(models, "en-ko")
    (shelf / "en-ko" / "ct2-int8" / "model.bin").write_bytes(b"nothing")
    (shelf / "ko-en" / "bundle.json").write_text("{", encoding="utf-8")
    assert refreshed(models) == {"en-ko": "refused", "ko-en": "refused"}
    assert refreshed(models) == {}, "it is reported once"
    assert loaded.translate("Hello").text == use(models, "en-ko").translate("Hello").text
    shutil.copy(HOME / "en-ko" / "ct2-int8" / "model.bin", shelf / "en-ko" / "ct2-int8")
    revise(shelf / "en-ko", created="later")
    assert refreshed(models)["en-ko"] == "replaced"


def test_models_come_and_go(shelf):
    models = Models([shelf], threads=1)
    in_use = use(models, "en-ko")
    shutil.move(shelf / "en-ko", shelf.parent / "away")
    shutil.copytree(shelf / "ko-en", shelf / "other")
    assert refreshed(models) == {"en-ko": "removed", "other": "added"}
    assert in_use.translate("Hello").text
    with pytest.raises(UnknownModel, match="there are: ko-en, other"):
        models.named("en-ko")
    for name in ("ko-en", "other"):
        shutil.rmtree(shelf / name)
    assert refreshed(models) == {"ko-en": "removed", "other": "removed"}
    with pytest.raises(QueueFull, match="no models any more"):
        models.choose("en", "ko")
    with pytest.raises(QueueFull, match="no models any more"):
        assert models.first_pair
    shutil.move(shelf.parent / "away", shelf / "en-ko")
    assert refreshed(models) == {"en-ko": "added"}
    assert use(models, "en-ko").translate("Hello").text


def test_the_least_recently_used_model_gives_way(shelf):
    size = max(describe(shelf / name).bytes for name in ("en-ko", "ko-en"))
    models = Models([shelf], loader=Loader(threads=1, limit=size))
    assert use(models, "en-ko").translate("Hello").text
    assert use(models, "ko-en").translate("안녕하세요").text
    assert [bool(one.translator) for one in models.models.values()] == [False, True]


@pytest.mark.slow
def test_a_model_in_use_does_not_give_way(shelf):
    size = max(describe(shelf / name).bytes for name in ("en-ko", "ko-en"))
    models = Models([shelf], loader=Loader(threads=1, limit=size))
    in_use = use(models, "en-ko")
    with pytest.raises(QueueFull, match="all in use"):
        use(models, "ko-en")
    assert in_use.translate("Hello").text


@pytest.mark.slow
def test_a_model_that_a_failed_request_had_gives_way(shelf):
    """Its translator is in a cycle, as that of a traceback, which was left out of garbage collection meanwhile."""
    size = max(describe(shelf / name).bytes for name in ("en-ko", "ko-en"))
    models = Models([shelf], loader=Loader(threads=1, limit=size))
    failed: list[object] = [use(models, "en-ko")]
    failed.append(failed)
    gc.collect()
    gc.freeze()
    try:
        del failed
        assert use(models, "ko-en").translate("안녕하세요").text
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


def test_a_model_beyond_the_limit_is_refused(shelf):
    models = Models([shelf], loader=Loader(threads=1, limit=1000))
    with pytest.raises(ResourceError, match="--memory-limit"):
        use(models, "en-ko")


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelError):
        Models([tmp_path / "empty"])


@pytest.mark.slow
def test_a_live_service_replaces_a_model(shelf):
    service = Service(Models([shelf], loader=Loader(exact=True)))
    with live(service) as url:
        import time

        import httpx

        body = {"text": "Hello", "source": "en", "target": "ko"}
        assert httpx.post(f"{url}/v1/translate", json=body, timeout=60).status_code == 200
        revise(shelf / "en-ko", created="tomorrow")
        end = time.monotonic() + 60
        while 'event="replaced"' not in httpx.get(f"{url}/metrics", timeout=60).text:
            assert httpx.post(f"{url}/v1/translate", json=body, timeout=60).status_code == 200
            assert time.monotonic() < end
        assert httpx.post(f"{url}/v1/translate", json=body, timeout=60).status_code == 200
        assert service.models.named("en-ko").translator is not None
