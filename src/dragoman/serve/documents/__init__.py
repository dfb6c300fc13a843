"""Documents in a service: stored, translated by threads, and deleted in time."""
