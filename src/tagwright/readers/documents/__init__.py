"""Readers of documents: one module a format."""
