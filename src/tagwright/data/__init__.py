"""Files in, values out: corpora, vocabularies, text."""
