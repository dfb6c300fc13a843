"""Export: bundle → other runtimes, each export verified against the reference before it is written."""
