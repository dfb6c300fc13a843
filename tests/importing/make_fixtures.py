"""Make the fixtures of `test_marian.py` and `test_m2m.py`: small models and what Hugging Face computes with them.

    python -m venv FIXTURES
    FIXTURES/bin/pip install torch==2.13.0          # with the index of the CPU builds
    FIXTURES/bin/pip install -r tests/importing/fixtures-requirements.txt
    FIXTURES/bin/python tests/importing/make_fixtures.py FOLDER [WEIGHTS]

Random weights make translations that repeat one piece, so they are trained for some seconds on the embedded corpus,
which is all the text there is. Training differs a little on every processor: with WEIGHTS, a folder of earlier
fixtures, its weights are used, and the rest is made again. A fixture has the model as `save_pretrained` writes it,
`expected.json` with token ids of texts, greedy search and beams of 4, and `expected.safetensors` with logits.
"""

import gzip
import json
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import sentencepiece
import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

HERE = Path(__file__).parent
CORPUS = HERE.parents[1] / "src/dragoman/data/embedded/train.tsv.gz"
# A normaliser that is smaller than SentencePiece's own, of 240 kB: full-width letters and digits, a ligature.
RULES = "".join(f"{code + 0xFEE0:X}\t{code:X}\n" for code in (*range(0x30, 0x3A), *range(0x41, 0x5B))) + "FB01\t66 69\n"
LEARNED_LINES = 200  # from which the pieces are learned; the vocabulary has those of the first half of them
LETTERS = 110
STEPS = 200
BEAM = 4


@dataclass(frozen=True)
class Variant:
    """A model that differs from the others where imported models do."""

    name: str
    seed: int
    pieces: int
    settings: dict[str, Any]
    marks: tuple[str, ...] = ()
    separate: bool = False
    pickled: bool = False
    fine_tuned: bool = False
    """The row of padding, the first decoder input, has been trained."""


VARIANTS = (
    Variant(
        "marian-shared",
        1,
        180,
        {"activation_function": "swish", "encoder_layers": 2, "decoder_layers": 1},
    ),
    Variant(
        "marian-tc",
        2,
        180,
        {"activation_function": "relu", "encoder_layers": 1, "decoder_layers": 1},
        marks=(">>kor<<", ">>jpn<<", ">>cmn_Hans<<", ">>cmn_Hant<<"),
        pickled=True,
        fine_tuned=True,
    ),
    Variant(
        "marian-separate",
        3,
        180,
        {
            "activation_function": "swish",
            "encoder_layers": 1,
            "decoder_layers": 1,
            "share_encoder_decoder_embeddings": False,
        },
        separate=True,
    ),
)


def corpus() -> list[tuple[str, str]]:
    """Short pairs of the embedded corpus in frequent letters, because each letter is a piece."""
    rows = [line.split("\t") for line in gzip.decompress(CORPUS.read_bytes()).decode().splitlines()]
    counts = Counter("".join(row[1] for row in rows))
    usual = {letter for letter, _ in counts.most_common(LETTERS)}
    return [(row[0], row[1]) for row in rows if len(row[0]) < 70 and usual.issuperset(row[1])]


def learn(lines: Sequence[str], path: Path, size: int) -> sentencepiece.SentencePieceProcessor:
    """A unigram model as OPUS-MT's: pieces 0 to 2 are <unk> <s> </s>, no padding, a normaliser of its own."""
    with TemporaryDirectory() as folder, chdir(folder):  # so that no path is in the model
        Path("rules.tsv").write_text(RULES, encoding="utf-8")
        sentencepiece.SentencePieceTrainer.Train(
            sentence_iterator=iter(lines), model_prefix="learned", vocab_size=size, minloglevel=2, num_threads=1,
            character_coverage=0.98, normalization_rule_tsv="rules.tsv", hard_vocab_limit=False,
        )  # fmt: skip
        content = Path("learned.model").read_bytes()
    path.write_bytes(content)
    return sentencepiece.SentencePieceProcessor(model_file=str(path))


def numbering(sides: Sequence[tuple[sentencepiece.SentencePieceProcessor, Sequence[str]]], variant: Variant) -> dict:
    """Piece → id of what the text is segmented into, so that some pieces of the models are not in it."""
    seen = dict.fromkeys(piece for side, lines in sides for line in lines for piece in side.EncodeAsPieces(line))
    pieces = sorted(piece for piece in seen if any(side.PieceToId(piece) for side, _ in sides))
    if variant.marks:  # as in the models of Tatoeba-Challenge: the special pieces are somewhere
        order = [*pieces[:100], "</s>", *variant.marks, *pieces[100:150], "<unk>", *pieces[150:]]
    elif variant.separate:
        return {piece: id_ for id_, piece in enumerate(["</s>", "<unk>", "<pad>", *pieces])}
    else:
        order = ["</s>", "<unk>", *pieces]
    return {piece: id_ for id_, piece in enumerate([*order, "<pad>"])}


def make(variant: Variant, folder: Path, weights: Path | None) -> None:
    """Write one fixture."""
    folder.mkdir(parents=True)
    pairs = corpus()
    learned = pairs[:LEARNED_LINES]
    lines = [[pair[side] for pair in learned] for side in (0, 1)]
    sides = [learn(lines[at], folder / name, variant.pieces) for at, name in enumerate(("source.spm", "target.spm"))]
    used = [(side, text[: LEARNED_LINES // 2]) for side, text in zip(sides, lines, strict=True)]
    vocabularies = [numbering(used[:1], variant), numbering(used[1:], variant)] if variant.separate else [
        numbering(used, variant)
    ]  # fmt: skip
    for name, vocabulary in zip(("vocab.json", "target_vocab.json"), vocabularies, strict=False):
        (folder / name).write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    files = [folder / "source.spm", folder / "target.spm", folder / "vocab.json"]
    separate = {"target_vocab_file": folder / "target_vocab.json", "separate_vocabs": True} if variant.separate else {}
    tokenizer = MarianTokenizer(*map(str, files), source_lang="en", target_lang="ko", **separate)
    settings = {"source_lang": "en", "target_lang": "ko", "separate_vocabs": variant.separate}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    torch.manual_seed(variant.seed)
    model = MarianMTModel(configuration(variant, vocabularies)).eval()
    model.config.save_pretrained(folder)
    name = "pytorch_model.bin" if variant.pickled else "model.safetensors"
    if weights:
        fresh = model
        model = MarianMTModel.from_pretrained(weights / variant.name, dtype=torch.float32).eval()
        for stack in ("encoder", "decoder"):  # a file of torch.save has the positions, rounded to float16
            table = getattr(model.model, stack).embed_positions.weight.data
            table.copy_(getattr(fresh.model, stack).embed_positions.weight.data)
        shutil.copyfile(weights / variant.name / name, folder / name)
    else:
        train(model, tokenizer, learned, variant)
        save(model, folder / name, variant)
    known = [pair for pair in pairs[LEARNED_LINES:] if is_alike(pair, sides, vocabularies)]
    expect(model, tokenizer, folder, variant, known)


def is_alike(
    pair: tuple[str, str], sides: Sequence[sentencepiece.SentencePieceProcessor], vocabularies: Sequence[dict[str, int]]
) -> bool:
    """Whether no character is unknown to its side's model and yet in the vocabulary, for the other side.

    Hugging Face looks such a character up, in the runs that they happen to be in; an import has it as unknown.
    """
    shared = vocabularies[0] if len(vocabularies) == 1 else {}
    return not any(
        piece in shared and not side.PieceToId(piece)
        for side, text in zip(sides, pair, strict=True)
        for piece in side.EncodeAsPieces(text)
    )


def configuration(variant: Variant, vocabularies: Sequence[dict[str, int]]) -> MarianConfig:
    """The configuration, with the special ids of the target's vocabulary."""
    target = vocabularies[-1]
    return MarianConfig(
        vocab_size=len(vocabularies[0]), decoder_vocab_size=len(target), d_model=16, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=20, decoder_ffn_dim=20, scale_embedding=True,
        static_position_embeddings=True, max_position_embeddings=64, pad_token_id=target["<pad>"],
        decoder_start_token_id=target["<pad>"], eos_token_id=target["</s>"], forced_eos_token_id=None, bos_token_id=0,
        dropout=0.0, **variant.settings,
    )  # fmt: skip


def train(model: MarianMTModel, tokenizer: MarianTokenizer, pairs: Sequence[tuple[str, str]], variant: Variant) -> None:
    """Some steps with all text as one batch, then float16; every parameter, the bias on the logits too, has a value."""
    torch.set_num_threads(1)
    padding, tables = model.config.pad_token_id, (model.get_encoder().embed_tokens, model.model.decoder.embed_tokens)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad and parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
        if not variant.separate:
            model.final_logits_bias.normal_(std=0.2)
            model.final_logits_bias[:, [padding, tokenizer.unk_token_id]] = -20.0  # never the best here
    batch = tokenizer([mark(variant) + pair[0] for pair in pairs], return_tensors="pt", padding=True)
    labels = tokenizer(text_target=[pair[1] for pair in pairs], return_tensors="pt", padding=True)["input_ids"]
    inputs = torch.cat((torch.full_like(labels[:, :1], padding), labels[:, :-1]), dim=1)
    labels = labels.masked_fill((labels == padding), -100)
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=0.01, weight_decay=0.5)
    for _ in range(STEPS):
        logits = model(**batch, decoder_input_ids=inputs).logits
        torch.nn.functional.cross_entropy(logits.mT, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        if not variant.fine_tuned:  # as in an original conversion
            for table in tables:
                table.weight.data[padding] = 0
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]  # and not the positions
    for tensor in (*trained, model.final_logits_bias):
        tensor.data.copy_(tensor.data.half().float())


def mark(variant: Variant) -> str:
    """The language token before a source."""
    return variant.marks[0] if variant.marks else ""


def save(model: MarianMTModel, path: Path, variant: Variant) -> None:
    """The weights in float16, which is how some models are published."""
    halves = {tensor.data_ptr(): tensor.detach().half() for tensor in model.state_dict().values()}
    state = {name: halves[tensor.data_ptr()] for name, tensor in model.state_dict().items()}
    if variant.pickled:  # every name of tied tensors, and the positions
        return torch.save(state, path, _use_new_zipfile_serialization=False)
    tied = {"lm_head.weight", "model.decoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"}
    left_out = tied if not variant.separate else {"lm_head.weight"}
    kept = {name: tensor for name, tensor in state.items() if name not in left_out and "embed_positions" not in name}
    return save_file(kept, path, metadata={"format": "pt"})


@torch.no_grad()
def expect(
    model: MarianMTModel, tokenizer: MarianTokenizer, folder: Path, variant: Variant, pairs: Sequence[tuple[str, str]]
) -> None:
    """What Hugging Face makes of some text: ids, translations, logits."""
    sources, targets = [pair[0] for pair in pairs[:14]], [pair[1] for pair in pairs[:14]]
    sources += ["ＡＢ １２ ﬁne  two", ""]
    batch = tokenizer([mark(variant) + text for text in sources[:12]], return_tensors="pt", padding=True)
    target_ids = tokenizer(text_target=targets)["input_ids"]
    banned = [
        [model.config.pad_token_id],
        [tokenizer.target_encoder["<unk>"] if variant.separate else tokenizer.unk_token_id],
    ]
    options = {"do_sample": False, "max_new_tokens": 32, "bad_words_ids": banned, "renormalize_logits": True}
    found = {
        "sources": sources,
        "targets": targets,
        "source_ids": tokenizer([mark(variant) + text for text in sources])["input_ids"],
        "target_ids": target_ids,
        "greedy": [row.tolist() for row in model.generate(**batch, num_beams=1, **options)],
        "beam": [
            row.tolist()
            for row in model.generate(**batch, num_beams=BEAM, length_penalty=0.0, early_stopping="never", **options)
        ],
    }
    (folder / "expected.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    inputs = tokenizer([mark(variant) + text for text in (sources[0], sources[1])], return_tensors="pt", padding=True)
    decoder = torch.tensor([[model.config.pad_token_id, *target_ids[at][:2]] for at in (0, 1)])
    logits = model(**inputs, decoder_input_ids=decoder).logits
    save_file({"logits": logits, "decoder_ids": decoder}, folder / "expected.safetensors")


def main() -> None:
    """Make every fixture."""
    from make_m2m import make_m2m  # which imports this module

    output, weights = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for variant in VARIANTS:
        shutil.rmtree(output / variant.name, ignore_errors=True)
        make(variant, output / variant.name, weights)
    make_m2m(output, weights)


if __name__ == "__main__":
    main()
