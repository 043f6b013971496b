"""Texts in, vectors out: the encoders, their fast inference and the cache of embeddings."""
