"""What the routers of all dialects share: senders, bodies, uploads, problems."""
