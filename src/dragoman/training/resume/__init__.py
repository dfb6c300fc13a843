"""What a run resumes from, and when it stops: checkpoints with their hashes, averages, validation."""
