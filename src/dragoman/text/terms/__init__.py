"""What a translation must keep or use: placeholders, their symbols, glossaries and term bases."""
