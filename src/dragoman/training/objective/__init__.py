"""Logits → loss: label smoothing, expected risk, dual learning, balance of experts."""
