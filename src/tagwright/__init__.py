"""Tagwright tags any document with any vocabulary, with few labelled documents or none."""

__version__ = "0.1.0"
