"""The fixture of `test_m2m.py`: a small M2M-100 model and what Hugging Face computes. See `make_fixtures.py`."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import torch
from make_fixtures import LEARNED_LINES, corpus, learn
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

NAME, SEED, PIECES, STEPS, BEAM = "m2m", 5, 220, 200, 4
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")


class Restricted(nn.Module):
    """Logits of the pieces alone: an imported model has no rows for other languages, nor for padding."""

    def __init__(self, head: nn.Linear, kept: Sequence[int]) -> None:
        super().__init__()
        self.weight, mask = head.weight, torch.full((head.weight.size(0),), -1e4)
        mask[list(kept)] = 0
        self.mask = mask

    def forward(self, x: Tensor) -> Tensor:
        """The logits of a linear layer, those of other tokens far below."""
        return nn.functional.linear(x, self.weight, self.mask)


def make_m2m(output: Path, weights: Path | None) -> None:
    """Write the fixture."""
    folder = output / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    pairs = corpus()
    learned, held_out = pairs[:LEARNED_LINES], pairs[LEARNED_LINES:][:18]
    spm = learn([text for pair in learned for text in pair], folder / "sentencepiece.bpe.model", PIECES)
    # As in the real vocab.json: another order than that of the model, and some of its pieces are not in it.
    pieces = sorted(spm.IdToPiece(id_) for id_ in range(3, spm.GetPieceSize() - 2))
    vocabulary = {piece: id_ for id_, piece in enumerate([*SPECIAL, *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    tokenizer = M2M100Tokenizer(
        str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"), src_lang="en", tgt_lang="ko"
    )
    languages = [token for token, _ in sorted(tokenizer.lang_token_to_id.items(), key=lambda item: item[1])]
    (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": languages}))
    torch.manual_seed(SEED)
    if weights:
        model = M2M100ForConditionalGeneration.from_pretrained(weights / NAME, dtype=torch.float32).eval()
    else:
        model = M2M100ForConditionalGeneration(configuration(len(vocabulary) + len(languages) + 8)).eval()
        train(model, tokenizer, learned)
    model.config.save_pretrained(folder)
    save_file({"model.shared.weight": model.model.shared.weight.half(), **layers(model)}, folder / "model.safetensors")
    kept = [*range(4, len(vocabulary)), 2]
    expect(model, tokenizer, folder, held_out, kept)


def layers(model: M2M100ForConditionalGeneration) -> dict[str, Tensor]:
    """All weights but the tied ones, in float16."""
    left_out = ("model.shared", "lm_head", "embed_tokens", "embed_positions")
    state = model.state_dict()
    return {name: w.half().clone() for name, w in state.items() if not any(part in name for part in left_out)}


def configuration(vocab_size: int) -> M2M100Config:
    """As small as the shape allows."""
    return M2M100Config(
        vocab_size=vocab_size, d_model=16, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=24, decoder_ffn_dim=24, max_position_embeddings=64, dropout=0.0,
        attention_dropout=0.0, encoder_layerdrop=0.0, decoder_layerdrop=0.0, num_beams=5, max_length=64,
    )  # fmt: skip


def train(model: M2M100ForConditionalGeneration, tokenizer: M2M100Tokenizer, pairs: Sequence[tuple[str, str]]) -> None:
    """Some steps with all text as one batch, so that translations are not one piece over and over; then float16."""
    torch.set_num_threads(1)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    batch = tokenizer(
        [pair[0] for pair in pairs], text_target=[pair[1] for pair in pairs], padding=True, return_tensors="pt"
    )
    labels = batch.pop("labels")
    inputs = torch.cat((torch.full_like(labels[:, :1], tokenizer.eos_token_id), labels[:, :-1]), dim=1)
    labels = labels.masked_fill(labels == tokenizer.pad_token_id, -100)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        logits = model(**batch, decoder_input_ids=inputs).logits
        nn.functional.cross_entropy(logits.mT, labels).backward()
        optimizer.step()
        optimizer.zero_grad()
    for parameter in model.parameters():
        parameter.data.copy_(parameter.data.half().float())


@torch.no_grad()
def expect(
    model: M2M100ForConditionalGeneration,
    tokenizer: M2M100Tokenizer,
    folder: Path,
    pairs: Sequence[tuple[str, str]],
    kept: Sequence[int],
) -> None:
    """What Hugging Face makes of some text: ids, translations, logits of every token that an import keeps."""
    sources, targets = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    batch = tokenizer(sources[:12], return_tensors="pt", padding=True)
    target_ids = tokenizer(text_target=targets)["input_ids"]
    inputs = tokenizer(sources[:2], return_tensors="pt", padding=True)
    decoder = torch.tensor([[tokenizer.eos_token_id, *target_ids[at][:2]] for at in (0, 1)])
    logits = model(**inputs, decoder_input_ids=decoder).logits
    save_file(
        {"logits": logits[:, :, : max(kept) + 1].contiguous(), "decoder_ids": decoder}, folder / "expected.safetensors"
    )
    model.lm_head = Restricted(model.lm_head, kept)
    options = {
        "do_sample": False,
        "max_new_tokens": 33,
        "forced_bos_token_id": tokenizer.get_lang_id("ko"),
        "length_penalty": 0.0,
    }
    found = {
        "sources": sources,
        "targets": targets,
        "source_ids": tokenizer(sources)["input_ids"],
        "target_ids": target_ids,
        "greedy": [row.tolist() for row in model.generate(**batch, num_beams=1, **options)],
        "beam": [row.tolist() for row in model.generate(**batch, num_beams=BEAM, early_stopping="never", **options)],
    }
    (folder / "expected.json").write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
