"""Characters and words: normal form, scripts, languages, numbers, Korean particles."""
