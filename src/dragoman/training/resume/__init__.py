"""What a run resumes from: checkpoints, their hashes, validation, and when to stop."""
