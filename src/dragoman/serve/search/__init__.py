"""The sentences of all requests → common batches → engines."""
