"""Marian's files with random weights, written by the names that Marian and CTranslate2's converter know."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece

ENGLISH = ["the small dog sees two red birds", "a big cat sleeps in the old house", "who has seen the green tree?"]
KOREAN = ["작은 개가 빨간 새 두 마리를 본다", "큰 고양이가 낡은 집에서 잔다", "누가 초록 나무를 보았나?"]
D, FF, HEADS, LAYERS = 16, 24, 2, 2
Arrays = dict[str, np.ndarray[Any, Any]]


def spm(lines: list[str], size: int = 60, **keys: int) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(lines * 20),
        model_writer=model,
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **keys,
    )
    return model.getvalue()


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return [
        processor.IdToPiece(id_)
        for id_ in range(processor.GetPieceSize())
        if not (processor.IsControl(id_) or processor.IsUnknown(id_))
    ]


def quoted(piece: str) -> str:
    escaped = piece.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def arrays(*rows: int, pre: bool = False, tie: str = "all") -> Arrays:
    """Matrices are [in, out], biases [1, n]; `rows` are the sizes of source and target, or of both."""
    rng, found = np.random.default_rng(3), {}

    def put(name: str, *shape: int, deviation: float = 0.2, mean: float = 0.0) -> None:
        found[name] = (mean + deviation * rng.standard_normal(shape)).astype(np.float32)

    def norm(name: str) -> None:
        put(f"{name}_ln_scale{'_pre' * pre}", 1, D, mean=1.0)
        put(f"{name}_ln_bias{'_pre' * pre}", 1, D)

    for stack in ("encoder", "decoder"):
        for layer in range(1, LAYERS + 1):
            prefix = f"{stack}_l{layer}"
            for part in ("self",) if stack == "encoder" else ("self", "context"):
                for letter in "qkvo":
                    put(f"{prefix}_{part}_W{letter}", D, D)
                    put(f"{prefix}_{part}_b{letter}", 1, D)
                norm(f"{prefix}_{part}_Wo")
            put(f"{prefix}_ffn_W1", D, FF)
            put(f"{prefix}_ffn_b1", 1, FF)
            put(f"{prefix}_ffn_W2", FF, D)
            put(f"{prefix}_ffn_b2", 1, D)
            norm(f"{prefix}_ffn_ffn")
        if pre:
            put(f"{stack}_top_ln_scale", 1, D, mean=1.0)
            put(f"{stack}_top_ln_bias", 1, D)
    for name, count in zip(("Wemb",) if tie == "all" else ("encoder_Wemb", "decoder_Wemb"), rows, strict=True):
        put(name, count, D, deviation=0.3)
    if tie == "none":
        put("decoder_ff_logit_out_W", D, rows[-1])
    put("decoder_ff_logit_out_b", 1, rows[-1])
    found["decoder_ff_logit_out_b"][0, 1] = -40  # <unk>, which our models never say
    return found


def options(*, pre: bool = False, tie: str = "all", activation: str = "swish", **changed: str) -> dict[str, str]:
    return {
        "type": "transformer",
        "dim-emb": str(D),
        "dim-vocabs": "\n  - 60\n  - 60",
        "enc-depth": str(LAYERS),
        "dec-depth": str(LAYERS),
        "transformer-heads": str(HEADS),
        "transformer-dim-ffn": str(FF),
        "transformer-ffn-depth": "2",
        "transformer-ffn-activation": activation,
        "transformer-decoder-autoreg": "self-attention",
        "transformer-preprocess": "n" if pre else '""',
        "transformer-postprocess": "da" if pre else "dan",
        "transformer-postprocess-top": "n" if pre else '""',
        "transformer-postprocess-emb": "d",
        "transformer-no-projection": "false",
        "transformer-train-position-embeddings": "false",
        "transformer-guided-alignment-layer": "last",
        "transformer-tied-layers": "\n  []",
        "tied-embeddings": str(tie == "target").lower(),
        "tied-embeddings-all": str(tie == "all").lower(),
        "tied-embeddings-src": "false",
        **{key.replace("_", "-"): value for key, value in changed.items()},
    }


def save(path: Path, matrices: Arrays, settings: dict[str, str]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in settings.items()).encode() + b"\0"
    np.savez(path, **matrices, **{"special:model.yml": np.frombuffer(text, np.int8)})


def write_archive(
    folder: Path, *, pre: bool = False, tie: str = "all", marks: tuple[str, ...] = (), **changed: str
) -> Arrays:
    """An OPUS-MT archive; its vocabulary lacks some pieces of each model."""
    folder.mkdir(exist_ok=True)
    models = {"source": spm(ENGLISH), "target": spm(KOREAN)}
    for side, model in models.items():
        (folder / f"{side}.spm").write_bytes(model)
    both = [list(dict.fromkeys(piece for model in models.values() for piece in pieces_of(model)[:-2]))]
    vocabularies = both if tie == "all" else [pieces_of(model)[:-2] for model in models.values()]
    names = ["opus.vocab.yml"] if tie == "all" else ["opus.src.vocab.yml", "opus.trg.vocab.yml"]
    rows = []
    for name, pieces in zip(names, vocabularies, strict=True):
        lines = [f"{quoted(piece)}: {id_}\n" for id_, piece in enumerate(["</s>", "<unk>", *marks, *pieces])]
        (folder / name).write_text("".join(lines), encoding="utf-8")
        rows.append(len(lines))
    matrices = arrays(*rows, pre=pre, tie=tie)
    save(folder / "opus.npz", matrices, options(pre=pre, tie=tie, **changed))
    listed = "".join(f"  - {name}\n" for name in (names * 2)[:2])
    (folder / "decoder.yml").write_text(
        f"relative-paths: true\nmodels:\n  - opus.npz\nvocabs:\n{listed}beam-size: 6\nnormalize: 1\n", encoding="utf-8"
    )
    return matrices
