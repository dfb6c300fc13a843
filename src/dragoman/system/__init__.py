"""Files, archives, processes, the machine and a cluster. One atomic writer, one lock, one hash."""
