"""Readers of documents and of labels, one module a format."""
