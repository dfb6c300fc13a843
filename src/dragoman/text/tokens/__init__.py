"""Text ↔ ids: SentencePiece models, sampled segmentations, added pieces, language tokens."""
