"""Data: files → Batch. Enters paths of parallel text, leaves tensors of token ids in a seeded, resumable order."""
