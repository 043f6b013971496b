"""Corpora and vocabularies, and what is made of their text."""
