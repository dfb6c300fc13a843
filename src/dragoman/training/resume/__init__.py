"""What a run goes on from: checkpoints, their hashes, validation, and when to stop."""
