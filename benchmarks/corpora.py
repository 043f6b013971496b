"""The corpora that quality is measured on: `python -m benchmarks corpora FOLDER` verifies the files of a folder.

They lie beside the project. `python -m benchmarks NAME --folder FOLDER` takes others of the same shape: FOLDER has a
folder for each name, or is itself one corpus, which then stands for every name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import figures

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.types import Document

FOLDER = Path(figures.OWN or Path(__file__).resolve().parents[2] / "shared" / "data")
NAMES = ("mdn", "tib", "epmc", "arxiv")
FROM_DEV = ("epmc",)
"Corpora whose train documents have no labels: labelled ones are drawn from dev, and the rest of it is scored."

FILES = ("train.jsonl.gz", "dev.jsonl.gz", "labels.jsonl.gz")
"What a corpus consists of."

DIGESTS = figures.COMMITTED / "corpora.json"
"Corpus -> file -> SHA-256, of the files that the figures were made with."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks corpora", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        sys.exit(f"{folder}: not a folder; expected one with a folder for each of {', '.join(digests())}")
    found = verified(folder, digests())
    for file, state in found.items():
        print(f"{file}: {state}")
    sys.exit(any(state != "right" for state in found.values()))


def digests() -> dict[str, dict[str, str]]:
    """Corpus -> file -> SHA-256."""
    found: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return found


def verified(folder: Path, wanted: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Corpus/file -> whether it is right, differs or is missing."""
    found = {}
    for name, files in wanted.items():
        for file, digest in files.items():
            path, state = folder / name / file, "missing"
            if path.is_file():
                with path.open("rb") as content:
                    state = "right" if hashlib.file_digest(content, "sha256").hexdigest() == digest else "differs"
            found[f"{name}/{file}"] = state
    return found


def table() -> Iterator[str]:
    """The SHA-256 of each file."""
    yield from ("| file | SHA-256 |", "| --- | --- |")
    for name, files in digests().items():
        yield from (f"| `{name}/{file}` | `{digest}` |" for file, digest in files.items())


TABLES = {"corpora": table}


def folder(name: str) -> Path:
    """Where the files of a corpus lie."""
    return FOLDER if (FOLDER / "labels.jsonl.gz").is_file() else FOLDER / name


def require(names: tuple[str, ...]) -> None:
    """Stop, saying so, where a corpus is missing."""
    missing = [name for name in names if not all((folder(name) / file).is_file() for file in FILES)]
    if missing:
        sys.exit(f"skipped: {', '.join(missing)} not found under {FOLDER}; expected {', '.join(FILES)} of each")


def labels(name: str) -> Vocabulary:
    """The vocabulary of a corpus."""
    return Vocabulary.read(folder(name) / "labels.jsonl.gz")


def corpus(name: str, *parts: str) -> Corpus:
    """The documents of some parts of a corpus: train, dev."""
    return Corpus.read(*(folder(name) / f"{part}.jsonl.gz" for part in parts))


def documents(name: str, part: str, most: int | None = None) -> list[Document]:
    """The train or dev documents of a corpus, or the first `most` of them."""
    return corpus(name, part)[slice(most)]
