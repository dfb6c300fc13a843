"""What the service keeps: its database, keys, glossaries, corrections."""
