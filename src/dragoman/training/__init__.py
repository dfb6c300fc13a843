"""Training: logits → better weights, section 5. Enters a configuration and batches, leaves checkpoints."""
