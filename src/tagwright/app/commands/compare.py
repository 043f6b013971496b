"""The command `compare`, which shares its options with `evaluate`."""

from tagwright.app.commands.evaluate import compare

__all__ = ["compare"]
