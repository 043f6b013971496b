"""Translate names of labels by what a vocabulary in two languages teaches, so that texts in one find labels in both."""

from tagwright.translation.names import translate_names

__all__ = ["translate_names"]
