"""The version of this package, which every other module may read."""

__version__ = "0.12.0"
