"""What all formats share: documents, units, passages, and writing a translation where its source was."""
