"""Words, sentences, stop words, and the language of texts."""
