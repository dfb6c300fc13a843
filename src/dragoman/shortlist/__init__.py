"""Target pieces worth considering for a source: learned from attention, stored, read."""
