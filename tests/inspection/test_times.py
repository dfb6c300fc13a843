"""A sentence through the checkpoints of a run, with a gap and damage."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dragoman.bundle import load_weights
from dragoman.config import RunConfig
from dragoman.config.file import dump_config
from dragoman.decode.constraints import Constraints
from dragoman.decode.ensemble import Ensemble
from dragoman.decode.search import beam_search
from dragoman.errors import DataError, ModelError
from dragoman.inspection.analyses import analyse
from dragoman.inspection.times import through_time
from dragoman.model.transformer import Transformer
from dragoman.text.tokenizer import EOS, Tokenizer
from dragoman.training.loop import Trainer

TEXT = "red dog sees cat"


@pytest.fixture
def run(
    toy_run: Callable[..., RunConfig],
    toy_trainer: Callable[[RunConfig, Path], Trainer],
    toy_tokenizer: Tokenizer,
    tmp_path: Path,
) -> Path:
    """A run of twelve steps, with checkpoints at 4, 8 and 12."""
    config = toy_run(average_count=3)
    toy_trainer(config, tmp_path).fit()
    (tmp_path / "tokenizer").mkdir()
    toy_tokenizer.save(tmp_path / "tokenizer")
    (tmp_path / "config.toml").write_text(dump_config(config), encoding="utf-8")
    return tmp_path


def test_each_checkpoint_says_what_its_weights_say(run: Path, toy_tokenizer: Tokenizer, toy_run: object) -> None:
    moments = through_time(run, TEXT)
    assert [moment.step for moment in moments] == [4, 8, 12]
    config = toy_run(average_count=3)  # type: ignore[operator]
    model = Transformer(config.model, len(toy_tokenizer.source), len(toy_tokenizer.target)).eval()
    source = [*toy_tokenizer.encode([TEXT], "source")[0], EOS]
    for moment in moments:
        load_weights(model, run / f"checkpoints/{moment.step:08d}/model.safetensors")
        options = config.decode
        constraints = Constraints([options.limit(len(source) - 1)])
        with torch.inference_mode():
            found = beam_search(Ensemble([model]), torch.tensor([source]), constraints, beam=options.beam, alpha=0.6)[
                0
            ][0]
        assert moment.translation == toy_tokenizer.decode([found.tokens], "target")[0]
        assert moment.log_prob == pytest.approx(found.log_prob, abs=1e-3)
        assert moment.pieces[-1] == "</s>"
        assert moment.attention is not None
        assert moment.attention.shape == (1, len(moment.pieces), len(source))
        torch.testing.assert_close(moment.attention.sum(-1), torch.ones(1, len(moment.pieces)))
    assert len({moment.log_prob for moment in moments}) == 3


def test_a_damaged_checkpoint_is_named_and_passed_over(run: Path) -> None:
    whole = through_time(run, TEXT)
    torn = run / "checkpoints/00000008/model.safetensors"
    torn.write_bytes(torn.read_bytes()[:500])
    (run / "checkpoints/00000010").mkdir()
    moments = through_time(run, TEXT)
    assert [moment.step for moment in moments] == [4, 8, 10, 12]
    assert [moment.problem is None for moment in moments] == [True, False, False, True]
    assert "00000008/model.safetensors: cannot be read" in str(moments[1].problem)
    assert "00000010/model.safetensors" in str(moments[2].problem)
    assert moments[3].translation == whole[2].translation
    assert moments[1].attention is None


def test_a_gap_stays_one_and_of_many_some_are_shown(run: Path) -> None:
    shutil.rmtree(run / "checkpoints/00000008")
    assert [moment.step for moment in through_time(run, TEXT)] == [4, 12]
    for step in range(13, 20):
        shutil.copytree(run / "checkpoints/00000012", run / f"checkpoints/{step:08d}")
    assert [moment.step for moment in through_time(run, TEXT, most=3)] == [4, 15, 19]


def test_its_own_pieces_stand_beside_the_attention_of_a_run_that_cuts_the_sentence_otherwise(
    run: Path, look_at: Any
) -> None:
    moments = through_time(run, TEXT)
    facts, maps = analyse(look_at("5 6", "9"), moments)
    for told, moment in zip(facts["checkpoints"], moments, strict=True):
        attention = maps[told["attention"]]
        assert "".join(attention.labels["seen"]).replace("▁", " ").strip() == f"{TEXT}</s>"
        assert len(attention.labels["seen"]) == attention.values.shape[-1]
        assert attention.labels["position"] == moment.pieces


def test_what_is_no_run_is_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no checkpoint"):
        through_time(tmp_path / "nowhere", TEXT)
    with pytest.raises(DataError, match="the sentence is empty"):
        through_time(run, " ")
    (run / "config.toml").write_text("[project", encoding="utf-8")
    with pytest.raises(ModelError, match=r"config\.toml"):
        through_time(run, TEXT)
    (run / "config.toml").unlink()
    with pytest.raises(ModelError, match="belongs to the run"):
        through_time(run, TEXT)
