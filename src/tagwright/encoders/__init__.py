"""Encoders of texts: models, fast inference, and the cache of embeddings."""
