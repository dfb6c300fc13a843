"""What a run will cost before it starts: counted operations, trial updates, memory."""
