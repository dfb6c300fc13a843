"""Faults of translations: loops, lost placeholders and numbers; their repair by small edits, and the final check."""
