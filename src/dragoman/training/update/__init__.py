"""Gradients → weights: optimizer, schedule, precision, clipping, averages, processes."""
