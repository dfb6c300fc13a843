"""Training: logits → better weights, section 5. Input: a configuration and batches. Output: checkpoints."""
