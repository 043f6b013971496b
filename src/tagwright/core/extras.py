"""Packages that only some jobs need: which extra of Tagwright brings each."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from tagwright.errors import ConfigError, InputError

EXTRAS = {
    "accelerate": "train",
    "bibtexparser": "documents",
    "defusedxml": "xlsx",
    "faiss": "index",
    "fastapi": "serve",
    "httpx": "llm",
    "itsdangerous": "serve",
    "jinja2": "serve",
    "mcp": "mcp",
    "omikuji": "trees",
    "openpyxl": "xlsx",
    "prometheus_client": "serve",
    "pyarrow": "parquet",
    "pymarc": "marc",
    "pypandoc": "documents",
    "pypdfium2": "pdf",
    "python_multipart": "serve",
    "ray": "ray",
    "rdflib": "skos",
    "sentence_transformers": "train",
    "torch": "train",
    "trafilatura": "html",
    "uvicorn": "serve",
}
"Package -> extra."


def require(what: str, *packages: str, path: Path | str | None = None) -> None:
    """Raise an error if a package is not installed that `what` needs: "training by rts", "reading Parquet".

    path: of the file that is to be read; the error is then InputError and names it, otherwise ConfigError.
    """
    for package in packages:
        if find_spec(package) is None:
            problem = f'{what} needs {package}, which is not installed; pip install "tagwright[{EXTRAS[package]}]"'
            raise ConfigError(problem) if path is None else InputError(problem, path)
