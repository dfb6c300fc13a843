"""A sentence through the checkpoints of a run, with a gap and damage."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from architectures import TRANSFORMERS
from dragoman.config import RunConfig
from dragoman.config.file import dump_config
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.search import beam_search
from dragoman.errors import DataError, ModelError
from dragoman.inspection.checkpoints import across_checkpoints
from dragoman.inspection.page import analyse
from dragoman.model.transformer import Transformer
from dragoman.model.weights import load_weights
from dragoman.text.tokens.tokenizer import EOS, Tokenizer
from dragoman.training.loop import Trainer

TEXT = "red dog sees cat"


@pytest.fixture(scope="module")
def finished_run(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[[RunConfig, Path], Trainer],
    toy_tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A run of twelve steps, with checkpoints at 4, 8 and 12."""
    config, folder = toy_run(average_count=3), tmp_path_factory.mktemp("run")
    toy_trainer(config, folder).fit()
    (folder / "tokenizer").mkdir()
    toy_tokenizer.save(folder / "tokenizer")
    (folder / "config.toml").write_text(dump_config(config), encoding="utf-8")
    return folder


@pytest.fixture
def run(finished_run: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(finished_run, tmp_path, dirs_exist_ok=True)


@pytest.mark.slow
def test_each_checkpoint_says_what_its_weights_say(run: Path, toy_tokenizer: Tokenizer, toy_run: object) -> None:
    views = across_checkpoints(run, TEXT)
    assert [view.step for view in views] == [4, 8, 12]
    config = toy_run(average_count=3)  # type: ignore[operator]
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target)).eval()
    source = [*toy_tokenizer.encode([TEXT], "source")[0], EOS]
    for view in views:
        load_weights(model, run / f"checkpoints/{view.step:08d}/model.safetensors")
        options = config.decode
        constraints = Constraints([options.limit(len(source) - 1)])
        with torch.inference_mode():
            found = beam_search(Ensemble([model]), torch.tensor([source]), constraints, beam=options.beam, alpha=0.6)[
                0
            ][0]
        assert view.translation == toy_tokenizer.decode([found.tokens], "target")[0]
        assert view.log_prob == pytest.approx(found.log_prob, abs=1e-3)
        assert view.pieces[-1] == "</s>"
        assert view.attention is not None
        assert view.attention.shape == (1, len(view.pieces), len(source))
        torch.testing.assert_close(view.attention.sum(-1), torch.ones(1, len(view.pieces)))
    assert len({view.log_prob for view in views}) == 3


@pytest.mark.slow
def test_a_damaged_checkpoint_is_named_and_skipped(run: Path) -> None:
    whole = across_checkpoints(run, TEXT)
    torn = run / "checkpoints/00000008/model.safetensors"
    torn.write_bytes(torn.read_bytes()[:500])
    (run / "checkpoints/00000010").mkdir()
    views = across_checkpoints(run, TEXT)
    assert [view.step for view in views] == [4, 8, 10, 12]
    assert [view.problem is None for view in views] == [True, False, False, True]
    assert "00000008/model.safetensors: damaged: its size" in str(views[1].problem)
    assert "00000010/model.safetensors" in str(views[2].problem)
    assert views[3].translation == whole[2].translation
    assert views[1].attention is None


@pytest.mark.slow
def test_a_gap_stays_one_and_of_many_some_are_shown(run: Path) -> None:
    shutil.rmtree(run / "checkpoints/00000008")
    assert [view.step for view in across_checkpoints(run, TEXT)] == [4, 12]
    for step in range(13, 20):
        shutil.copytree(run / "checkpoints/00000012", run / f"checkpoints/{step:08d}")
    assert [view.step for view in across_checkpoints(run, TEXT, limit=3)] == [4, 15, 19]


@pytest.mark.slow
@pytest.mark.parametrize("model", [TRANSFORMERS["today"]], ids=["today"], indirect=True)
def test_its_own_pieces_label_the_attention_of_a_run_that_cuts_the_sentence_otherwise(run: Path, look_at: Any) -> None:
    views = across_checkpoints(run, TEXT)
    facts, maps = analyse(look_at("5 6", "9"), views)
    for described, view in zip(facts["checkpoints"], views, strict=True):
        attention = maps[described["attention"]]
        assert "".join(attention.labels["key"]).replace("▁", " ").strip() == f"{TEXT}</s>"
        assert len(attention.labels["key"]) == attention.values.shape[-1]
        assert attention.labels["position"] == view.pieces


@pytest.mark.slow
def test_what_is_no_run_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no checkpoint"):
        across_checkpoints(tmp_path / "nowhere", TEXT)
    with pytest.raises(DataError, match="the sentence is empty"):
        across_checkpoints(run, " ")
    (run / "config.toml").write_text("[project", encoding="utf-8")
    with pytest.raises(ModelError, match=r"config\.toml"):
        across_checkpoints(run, TEXT)
    (run / "config.toml").unlink()
    with pytest.raises(ModelError, match="copy the run again"):
        across_checkpoints(run, TEXT)
