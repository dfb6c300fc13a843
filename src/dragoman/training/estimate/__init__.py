"""What a run will cost, known before it starts: counted operations, trial updates, memory."""
