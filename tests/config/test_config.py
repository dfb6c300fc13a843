"""Configuration: defaults, presets, the way from TOML and back, and every mistake by its key."""

from pathlib import Path
from typing import Any

import pytest

from dragoman.config import CorpusConfig, DecodeConfig, ModelConfig, RunConfig
from dragoman.config.file import (
    build_config,
    build_section,
    changed_keys,
    differences,
    dump_config,
    load_config,
    portable,
    read_config,
    read_run_config,
)
from dragoman.config.sections.model import MODEL_PRESETS
from dragoman.errors import ConfigError

SMALLEST = """\
[project]
name = "toy"
source = "en"
target = "ko"

[data]
train = [{source = "data/train.en", target = "data/train.ko"}]
valid = "data/valid.tsv"
"""


@pytest.fixture
def run_toml(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(SMALLEST, encoding="utf-8")
    return path


def refusal(path: Path, *overrides: str, text: str | None = None) -> str:
    """The one line with which a configuration is refused, without the file's folder."""
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as at:
        load_config(path, overrides)
    message = str(at.value)
    assert "\n" not in message
    return message.replace(f"{path.parent}/", "")


# --- what a smallest file means ----------------------------------------------------------------------------------


def test_the_smallest_file_is_a_whole_run(run_toml: Path) -> None:
    config = load_config(run_toml)
    assert config.project.license == "private"
    assert config.model == ModelConfig.model_validate({"preset": "small"})
    assert (config.tokenizer.kind, config.tokenizer.vocab_size, config.tokenizer.joint) == ("unigram", None, True)
    assert (config.decode.beam, config.decode.length_penalty) == (4, 0.6)
    assert (config.train.betas, config.train.epsilon, config.train.label_smoothing) == ((0.9, 0.98), 1e-9, 0.1)
    assert (config.train.warmup, config.train.average_count) == (4000, 5)


def test_relative_paths_start_at_the_configurations_folder(run_toml: Path, tmp_path: Path) -> None:
    config = load_config(run_toml)
    assert config.data.train[0].files == (tmp_path / "data/train.en", tmp_path / "data/train.ko")
    assert config.data.valid == CorpusConfig(source=tmp_path / "data/valid.tsv")
    assert config.train.output == tmp_path / "runs/toy"


def test_absolute_paths_stay(run_toml: Path) -> None:
    config = load_config(run_toml, ["data.valid=/elsewhere/v.tsv.gz", "train.output=/elsewhere/run"])
    assert (config.data.valid.source, config.train.output) == (Path("/elsewhere/v.tsv.gz"), Path("/elsewhere/run"))


def test_a_configuration_cannot_be_changed_once_made(run_toml: Path) -> None:
    config = load_config(run_toml)
    with pytest.raises(ValueError, match="frozen"):
        config.train.max_steps = 3  # type: ignore[misc]


# --- presets -----------------------------------------------------------------------------------------------------

# Table 3 of "Attention Is All You Need": N, d_model, d_ff, h, d_k, d_v, P_drop.
TABLE_3 = {
    "paper-base": (6, 512, 2048, 8, 64, 64, 0.1),
    "paper-big": (6, 1024, 4096, 16, 64, 64, 0.3),
}


@pytest.mark.parametrize("preset", TABLE_3)
def test_the_papers_presets_are_the_rows_of_its_table(preset: str) -> None:
    model = ModelConfig.model_validate({"preset": preset})
    n, d_model, d_ff, h, d_k, d_v, dropout = TABLE_3[preset]
    assert (model.encoder_layers, model.decoder_layers) == (n, n)
    assert (model.d_model, model.d_ff, model.heads, model.d_k, model.d_v) == (d_model, d_ff, h, d_k, d_v)
    assert (model.dropout, model.norm_order, model.tie) == (dropout, "post", "all")


@pytest.mark.parametrize("preset", MODEL_PRESETS)
def test_every_preset_is_a_whole_model(preset: str) -> None:
    model = ModelConfig.model_validate({"preset": preset})
    assert model.preset == preset
    assert model.d_k * model.heads == model.d_model


def test_a_given_key_wins_over_the_preset() -> None:
    model = ModelConfig.model_validate({"preset": "paper-base", "dropout": 0.3, "decoder_layers": 2})
    assert (model.dropout, model.encoder_layers, model.decoder_layers) == (0.3, 6, 2)


def test_layers_sets_both_depths_and_each_may_be_given_too() -> None:
    sizes = {"d_model": 8, "d_ff": 8, "heads": 2}
    both = ModelConfig.model_validate({"layers": 3, **sizes})
    assert (both.encoder_layers, both.decoder_layers) == (3, 3)
    one = ModelConfig.model_validate({"layers": 3, "decoder_layers": 1, **sizes})
    assert (one.encoder_layers, one.decoder_layers) == (3, 1)
    over_preset = ModelConfig.model_validate({"preset": "tiny", "layers": 5})
    assert (over_preset.encoder_layers, over_preset.decoder_layers) == (5, 5)
    assert (both.layers, one.layers, over_preset.layers) == (3, None, 5)


def test_layers_follows_from_equal_depths_however_they_were_given() -> None:
    sizes = {"d_model": 8, "d_ff": 8, "heads": 2}
    apart = ModelConfig.model_validate({"encoder_layers": 3, "decoder_layers": 3, **sizes})
    assert apart == ModelConfig.model_validate({"layers": 3, **sizes})


# --- keys that were set --------------------------------------------------------------------------------------------


def test_explicit_keys_are_those_of_file_and_overrides(run_toml: Path) -> None:
    run_toml.write_text(SMALLEST + "[model]\nlayers = 2\npreset = 'tiny'\n", encoding="utf-8")
    config, given = read_config(run_toml, ["train.accumulate=1"])
    assert config == load_config(run_toml, ["train.accumulate=1"])
    assert {key for key in given if not key.startswith(("project.", "data."))} == {
        "model.layers", "model.preset", "train.accumulate"
    }  # fmt: skip


def test_changed_keys_survive_a_dump(run_toml: Path, tmp_path: Path) -> None:
    config = load_config(run_toml, ["train.max_steps=5", "model.preset=tiny", "decode.beam=4"])
    changed = changed_keys(config)
    assert {"train.max_steps", "model.preset", "model.d_model"} <= changed
    assert "decode.beam" not in changed  # the default
    assert "train.accumulate" not in changed
    (tmp_path / "config.toml").write_text(dump_config(config), encoding="utf-8")
    assert changed_keys(read_run_config(tmp_path)) == changed


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (None, "cannot be read: No such file"),
        (b"\xff", "not UTF-8 at byte 0"),
        (b"[[[", "not TOML"),
        (b"[project]\nwings = 2\n", "another version of dragoman"),
    ],
    ids=["missing", "not UTF-8", "not TOML", "unknown key"],
)
def test_read_run_config_names_file_and_cause(tmp_path: Path, content: bytes | None, cause: str) -> None:
    if content is not None:
        (tmp_path / "config.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=f"config.toml: .*{cause}"):
        read_run_config(tmp_path)


def test_head_widths_may_be_given_where_they_do_not_divide() -> None:
    model = ModelConfig.model_validate({"layers": 1, "d_model": 10, "d_ff": 8, "heads": 3, "d_k": 4, "d_v": 4})
    assert (model.d_k, model.d_v) == (4, 4)


# --- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [
        pytest.param([], id="defaults"),
        pytest.param(["model.preset=paper-big", "train.precision=bfloat16"], id="a preset"),
        pytest.param(["data.test=data/test.jsonl.gz", "train.max_minutes=1.5", "train.clip_norm=1.0"], id="options"),
        pytest.param(['tokenizer.user_defined_symbols=["{a}", "“b”"]'], id="unicode"),
    ],
)
def test_round_trip_of_a_dumped_configuration(run_toml: Path, tmp_path: Path, overrides: list[str]) -> None:
    config = load_config(run_toml, overrides)
    again = tmp_path / "elsewhere" / "again.toml"
    again.parent.mkdir()
    again.write_text(dump_config(config), encoding="utf-8")
    assert load_config(again) == config


def test_a_portable_dump_names_no_folder(run_toml: Path, tmp_path: Path) -> None:
    text = dump_config(portable(load_config(run_toml, ["data.test=/private/people/t.tsv"])))
    assert str(tmp_path) not in text
    assert "/" not in text
    assert 'source = "train.en"' in text
    assert 'source = "t.tsv"' in text


def test_a_portable_dump_can_be_opened_anywhere(run_toml: Path, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(dump_config(portable(load_config(run_toml))), encoding="utf-8")
    assert load_config(path).model == load_config(run_toml).model


def test_two_places_of_the_same_project_are_the_same_run_once_portable(tmp_path: Path) -> None:
    configs = []
    for folder in (tmp_path / "here", tmp_path / "there"):
        folder.mkdir()
        (folder / "run.toml").write_text(SMALLEST, encoding="utf-8")
        configs.append(portable(load_config(folder / "run.toml")))
    assert configs[0] == configs[1]


def test_differences_are_dotted_keys(run_toml: Path) -> None:
    old = load_config(run_toml)
    new = load_config(run_toml, ["train.seed=2", "decode.beam=2", "data.valid=v.tsv", "data.max_length=9"])
    assert sorted(differences(old, new)) == ["data.max_length", "data.valid", "decode.beam", "train.seed"]
    assert differences(old, old) == []


# --- overrides ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        pytest.param("train.max_steps=7", ("train", "max_steps"), 7, id="a number"),
        pytest.param("train.learning_rate=4e-3", ("train", "learning_rate"), 0.004, id="an exponent"),
        pytest.param("train.device=cuda:1", ("train", "device"), "cuda:1", id="a bare word"),
        pytest.param('train.device="cpu"', ("train", "device"), "cpu", id="a quoted word"),
        pytest.param("train.tensorboard=true", ("train", "tensorboard"), True, id="a truth"),
        pytest.param("train.betas=[0.8, 0.9]", ("train", "betas"), (0.8, 0.9), id="a list"),
        pytest.param(" train.seed = 5 ", ("train", "seed"), 5, id="spaces"),
        pytest.param("project.license=CC-BY-SA-4.0=x", ("project", "license"), "CC-BY-SA-4.0=x", id="an equals sign"),
    ],
)
def test_an_override_is_a_value_in_toml_or_a_bare_word(
    run_toml: Path, override: str, key: tuple[str, str], value: object
) -> None:
    assert getattr(getattr(load_config(run_toml, [override]), key[0]), key[1]) == value


def test_the_last_override_wins(run_toml: Path) -> None:
    assert load_config(run_toml, ["train.seed=5", "train.seed=6"]).train.seed == 6


@pytest.mark.parametrize("override", ["train", "=5", "train.=5", ".seed=5", "train..seed=5", ""])
def test_what_is_no_override_is_refused_with_an_example(run_toml: Path, override: str) -> None:
    assert refusal(run_toml, override) == (
        f"{override}: not an override; write section.key=value, as in train.max_steps=1000"
    )


def test_an_override_below_a_value_is_refused(run_toml: Path) -> None:
    assert refusal(run_toml, "project.name.x=5") == "project.name.x=5: name is not a section"


# --- mistakes ----------------------------------------------------------------------------------------------------

EXTRA: list[tuple[str, str, str]] = [
    ("a mistyped key", "[train]\nmax_step = 5\n", "train.max_step: unknown key; did you mean train.max_steps?"),
    ("a mistyped section", "[trian]\nseed = 5\n", "trian: unknown key; did you mean train?"),
    ("layer for layers", "[model]\nlayer = 5\n", "model.layer: unknown key; did you mean model.layers?"),
    ("nothing like it", "[decode]\nzzz = 5\n", "decode.zzz: unknown key; known here: method, beam, length_penalty, "),
    ("a wrong type", '[train]\nseed = "many"\n', "train.seed: input should be a whole number"),
    (
        "a huge number",
        "[data.clean]\ntoo_long = 1e99\n",
        "data.clean.too_long: input should be a whole number, not 1e+99",
    ),
    (
        "a million layers",
        '[model]\npreset = "tiny"\nlayers = 1000000\n',
        "model.layers: input should be less than or equal to 1000, not 1000000",
    ),
    ("a factor below 1", "[data.clean]\nlength_ratio = 0.5\n", "data.clean.length_ratio: give a factor of at least 1"),
    ("too small", "[train]\naccumulate = 0\n", "train.accumulate: input should be greater than 0, not 0"),
    ("not a number", "[train]\nlearning_rate = nan\n", "train.learning_rate: input should be a finite number"),
    ("no such choice", '[model]\npreset = "huge"\n', "model.preset: input should be 'paper-base', 'paper-big', 'tiny'"),
    ("half a model", "[model]\nheads = 2\nd_ff = 8\n", "model.encoder_layers: missing; give it, or a model.preset"),
    (
        "heads that do not divide",
        "[model]\nlayers = 1\nd_model = 32\nd_ff = 8\nheads = 3\n",
        "model.heads: 3 does not divide d_model = 32; make d_model 30 or 33",
    ),
    (
        "more hypotheses than the beam",
        "[decode]\nbeam = 2\nn_best = 3\n",
        "decode.n_best: 3 is more than beam = 2; widen the beam",
    ),
    (
        "watching what is not measured",
        '[train]\nwatch = "bleu"\ntranslate_lines = 0\n',
        'train.watch: "bleu" needs translations; set translate_lines above 0',
    ),
    (
        "one matrix for two vocabularies",
        "[tokenizer]\njoint = false\n",
        'model.tie: "all" needs one vocabulary; set tokenizer.joint = true or tie = "target"',
    ),
    (
        "one model that is two",
        "[tokenizer]\nshared = true\n",
        "tokenizer.shared: two models, but tokenizer.joint is one; set joint = false, or remove shared",
    ),
    ("a negative width", "[model]\nlayers=1\nd_model=-1\nd_ff=8\nheads=4\n", "model.d_model: input should be greater"),
    ("a number as text", '[model]\nlayers=1\nd_model="32"\nd_ff=8\nheads=2\n', "model.d_model: "),
    ("layers that are no number", '[model]\nlayers="six"\nd_model=32\nd_ff=8\nheads=2\n', "model.layers: "),
]


@pytest.mark.parametrize(("extra", "message"), [pytest.param(*case[1:], id=case[0]) for case in EXTRA])
def test_a_mistake_in_the_file_is_named_by_file_and_key(run_toml: Path, extra: str, message: str) -> None:
    assert refusal(run_toml, text=SMALLEST + extra).startswith(f"run.toml: {message}")


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.max_step=5", "train.max_step: unknown key; did you mean train.max_steps?"),
        ("trian.max_steps=5", "trian: unknown key; did you mean train?"),
        ("train.max_steps=many", 'train.max_steps: input should be a whole number, or "auto", not'),
        ("train.snapshots=-1", 'train.snapshots: input should be greater than or equal to 0, or "auto", not -1'),
        ("data.augment.placeholders=2", 'data.augment.placeholders: input should be less than 1, or "auto"'),
        ('tokenizer.user_defined_symbols=["a", "a"]', "tokenizer.user_defined_symbols[1]: 'a' is there twice"),
        ('tokenizer.user_defined_symbols=[""]', "tokenizer.user_defined_symbols[0]: '' is empty; remove it"),
        ('tokenizer.user_defined_symbols=["<0x0A>"]', "tokenizer.user_defined_symbols[0]: <0x0A> is a byte; remove it"),
        ("data.train=[]", "data.train: missing; this key has no default"),
        ("version=2", "version: input should be 1, not 2"),
        ("project.name=a b", "project.name: "),
        ("train.batch_tokens=atuo", "train.batch_tokens: input should be a whole number, or \"auto\", not 'atuo'"),
        ("train.batch_tokens=1.5", 'train.batch_tokens: input should be a whole number, or "auto", not 1.5'),
        ("train.batch_tokens=0", 'train.batch_tokens: input should be greater than 0, or "auto", not 0'),
        ("train.batch_tokens=9999999999", "train.batch_tokens: input should be less than or equal to 2147483647"),
        ("train.start_from=1", "train.start_from: input should be a path in quotes, not 1"),
        ("train.start_from=", "train.start_from: input should be a path in quotes, not ''"),
        ("train.output=", "train.output: input should be a path in quotes, not ''"),
        ("data.augment=0.2", "data.augment: input should be a section of keys, as in [data.augment], not 0.2"),
        ("data.valid=1", 'data.valid: input should be a path in quotes, or {source = "…", target = "…"}, not 1'),
        ("data.valid=", "data.valid.source: input should be a path in quotes, not ''"),
        ("model=3", "model: input should be a section of keys, as in [model], not 3"),
        (
            "data.train=a.tsv",
            'data.train: input should be a list of corpora, as in [[data.train]] or ["FILE.tsv"], not',
        ),
        ("project.name=2026-11-28", "project.name: input should be text in quotes, not 2026-11-28"),
        ("data.valid=true", 'or {source = "…", target = "…"}, not true'),
        ("project.name=[2026-11-28, false]", "project.name: input should be text in quotes, not [2026-11-28, false]"),
        ("train.max_minutes=01:30:00", "train.max_minutes: input should be a number, not 01:30:00"),
        ("train.output=~no-such-user/run", "run.toml: ~no-such-user/run: this machine knows no home of that user"),
        ('data.test="~no-such-user/test.tsv"', "run.toml: ~no-such-user/test.tsv: this machine knows no home of that"),
    ],
)
def test_a_mistake_in_an_override_is_named_by_its_key(run_toml: Path, override: str, message: str) -> None:
    assert message in refusal(run_toml, override)


@pytest.mark.parametrize(
    ("key", "most", "bound"),
    [
        ("train.seed", 2**63 - 1, "less than 9223372036854775808"),
        ("train.threads", 1024, "less than or equal to 1024"),
        ("train.max_steps", 2**31 - 1, "less than or equal to 2147483647"),
        ("train.translate_lines", 2**31 - 1, "less than or equal to 2147483647"),
        ("data.shuffle_buffer", 2**31 - 1, "less than or equal to 2147483647"),
        ("tokenizer.vocab_size", 1_000_000, "less than or equal to 1000000"),
        ("tokenizer.character_coverage", 1, "less than or equal to 1"),
    ],
)
def test_a_number_beyond_all_bounds_is_refused_with_its_bound(run_toml: Path, key: str, most: int, bound: str) -> None:
    section, name = key.split(".")
    assert getattr(getattr(load_config(run_toml, [f"{key}={most}"]), section), name) == most
    for beyond in (most + 1, 10**30):
        assert refusal(run_toml, f"{key}={beyond}") == f"run.toml: {key}: input should be {bound}, not {beyond}"


@pytest.mark.parametrize("seconds", ["0.001", "1e18"])
def test_a_wait_for_others_is_seconds_that_a_clock_can_count(run_toml: Path, seconds: str) -> None:
    bound = "greater than or equal to 1" if seconds == "0.001" else "less than or equal to 1000000"
    assert f"train.peer_timeout: input should be {bound}, " in refusal(run_toml, f"train.peer_timeout={seconds}")


def test_less_coverage_than_sentencepiece_takes_is_refused_by_its_key(run_toml: Path) -> None:
    assert refusal(run_toml, "tokenizer.character_coverage=0.97") == (
        "run.toml: tokenizer.character_coverage: input should be greater than or equal to 0.98, not 0.97"
    )
    assert load_config(run_toml, ["tokenizer.character_coverage=0.98"]).tokenizer.character_coverage == 0.98


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param('valid = "v.tsv"', "data.train: missing; this key has no default", id="no training text"),
        pytest.param('train = []\nvalid = "v.tsv"', "data.train: ", id="an empty list"),
        pytest.param('train = "t.tsv"\nvalid = "v.tsv"', "data.train: input should be a list", id="a path for a list"),
        pytest.param(
            'train = ["t.en"]\nvalid = "v.tsv"',
            "data.train[0].target: missing; t.en contains one side, name the file of the other",
            id="one side only",
        ),
        pytest.param(
            'train = ["t.tsv"]\nvalid = {source = "v.tsv", target = "v.ko"}',
            "data.valid.target: v.tsv contains both sides; remove `target`",
            id="a second file beside a .tsv",
        ),
        pytest.param(
            'train = [{sorce = "t.en", target = "t.ko"}]\nvalid = "v.tsv"',
            "data.train[0].sorce: unknown key; did you mean data.train[0].source?",
            id="a mistyped side",
        ),
        pytest.param(
            'train = [{source = "t.tsv", weight = 0}]\nvalid = "v.tsv"',
            "data.train[0].weight: input should be greater than 0, not 0",
            id="no weight",
        ),
        pytest.param(
            'train = [{source = "t.tsv", weight = 1e30}]\nvalid = "v.tsv"',
            "data.train[0].weight: input should be less than or equal to 10000, not 1e+30",
            id="more weight than any epoch",
        ),
    ],
)
def test_a_mistake_in_the_data_section_is_named(run_toml: Path, data: str, message: str) -> None:
    head = SMALLEST.split("[data]")[0]
    assert refusal(run_toml, text=f"{head}[data]\n{data}\n").startswith(f"run.toml: {message}")


def test_a_missing_file_says_how_to_write_one(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.toml") == "no.toml: no such file; write one with `dragoman init NAME --pair ko-en`"


def test_a_folder_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "dir.toml").mkdir()
    assert refusal(tmp_path / "dir.toml") == "dir.toml: cannot be read: Is a directory"


def test_what_is_not_toml_is_named_with_its_line(run_toml: Path) -> None:
    assert refusal(run_toml, text="[project\nname = 1\n").startswith("run.toml: not TOML: ")
    assert "line 1" in refusal(run_toml)


def test_what_is_not_utf8_is_named_with_its_byte(run_toml: Path) -> None:
    run_toml.write_bytes(b'[project]\nname = "caf\xe9"\n')
    assert refusal(run_toml) == "run.toml: not UTF-8 at byte 21; save the file as UTF-8"


def test_a_byte_order_mark_of_an_editor_is_let_pass(run_toml: Path) -> None:
    run_toml.write_bytes(b"\xef\xbb\xbf" + SMALLEST.encode())
    assert load_config(run_toml).project.name == "toy"


def test_an_unknown_key_is_reported_before_what_it_leaves_missing(run_toml: Path) -> None:
    wrong = SMALLEST.replace('target = "ko"', 'traget = "ko"')
    assert refusal(run_toml, text=wrong) == ("run.toml: project.traget: unknown key; did you mean project.target?")


def test_a_section_with_changes_is_checked_again() -> None:
    assert build_section(DecodeConfig(), {"beam": 7}, "decode").beam == 7
    with pytest.raises(ConfigError, match=r"^decode\.beam: input should be greater than 0, not 0$"):
        build_section(DecodeConfig(), {"beam": 0}, "decode")


def test_every_key_is_documented() -> None:
    def undocumented(section: Any, prefix: str = "") -> list[str]:
        found = []
        for name, field in section.model_fields.items():
            found += [] if field.description else [prefix + name]
            if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields"):
                found += undocumented(field.annotation, f"{prefix}{name}.")
        return found

    assert undocumented(RunConfig) == []


def test_a_tree_is_refused_under_the_name_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^here: project: missing; this key has no default$"):
        build_config({}, "here", tmp_path)


@pytest.mark.parametrize("key", ["position_base=500.0", "first_position=2"])
def test_only_sinusoidal_positions_have_a_base_and_a_first_number(key: str) -> None:
    name, _, value = key.partition("=")
    shape = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, name: float(value)}
    assert getattr(ModelConfig.model_validate(shape), name) == float(value)
    with pytest.raises(ValueError, match=f"{name}: only sinusoidal positions have it"):
        ModelConfig.model_validate({**shape, "positions": "rotary"})


@pytest.mark.parametrize(
    "key", [{"position_base": 1.0}, {"position_base": float("inf")}, {"first_position": -1}], ids=str
)
def test_positions_without_a_meaning_are_refused(key: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(key))):
        ModelConfig.model_validate({"layers": 1, "d_model": 8, "d_ff": 8, "heads": 2, **key})


def test_rotary_positions_need_pairs_of_numbers() -> None:
    shape = {"preset": "tiny", "d_model": 100}
    with pytest.raises(ValueError, match="d_k: rotary positions turn pairs of numbers, and 25 is odd; change d_model"):
        ModelConfig.model_validate(shape)
    assert ModelConfig.model_validate({**shape, "positions": "sinusoidal"}).d_k == 25
    assert ModelConfig.model_validate({**shape, "heads": 5}).d_k == 20
