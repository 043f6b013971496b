"""Models with a history: immutable versions, each with a record and a model card, one of them in use."""

from tagwright.models.history import Models, Version

__all__ = ["Models", "Version"]
