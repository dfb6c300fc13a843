"""Data: files → Batch. Input: paths of parallel text. Output: tensors of token ids in a seeded, resumable order."""
