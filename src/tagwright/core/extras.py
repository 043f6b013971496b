"""Packages that only some jobs need: which extra of Tagwright brings each."""

from __future__ import annotations

from importlib.util import find_spec

from tagwright.errors import ConfigError

EXTRAS = {
    "accelerate": "train",
    "faiss": "index",
    "pyarrow": "parquet",
    "sentence_transformers": "train",
    "torch": "train",
}
"Package -> extra."


def require(what: str, *packages: str) -> None:
    """Raise ConfigError if a package is not installed that `what` needs: "training by rts", "reading Parquet"."""
    for package in packages:
        if find_spec(package) is None:
            raise ConfigError(
                f'{what} needs {package}, which is not installed; pip install "tagwright[{EXTRAS[package]}]"'
            )
