"""Corpora, vocabularies, run files, and bags of words."""
