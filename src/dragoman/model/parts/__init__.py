"""The parts of every network: attention, masks, embeddings, norms, dropout, cache, experts."""
