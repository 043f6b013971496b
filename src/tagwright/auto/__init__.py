"""`train auto`: train what pays on the data at hand, and learn how to combine it."""

from tagwright.auto.recipe import Config, fit

__all__ = ["Config", "fit"]
