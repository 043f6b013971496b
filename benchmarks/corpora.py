"""The corpora that quality is measured on: `python -m benchmarks corpora FOLDER` verifies the files of a folder.

They lie beside the project. `python -m benchmarks NAME --folder FOLDER` takes others of the same shape: FOLDER has a
folder for each name, or is itself one corpus, which then stands for every name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks import figures

from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.evaluation.metrics import mark_labelled
from tagwright.types import Document, Longs, Run

FOLDER = Path(figures.OWN or Path(__file__).resolve().parents[2] / "shared" / "data")
NAMES = ("mdn", "tib", "epmc", "arxiv")
ALL = (*NAMES, "kirja", "pubmedqa")
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


def own_labels(name: str, labels: Vocabulary, documents: Sequence[Document]) -> Longs:
    """(documents,) the label that each document is itself, -1 for none: on mdn a page is a label too."""
    return labels.own(documents) if name == "mdn" else np.full(len(documents), -1)


@dataclass(frozen=True, eq=False)
class Scored:
    """Documents that have a label to find, and their gold labels; own: see `own_labels`."""

    labels: Vocabulary
    documents: list[Document]
    gold: Run
    own: Longs

    def without_self(self, run: Run, depth: int) -> Run:
        """The first suggestions of a run over the documents, none of them for itself."""
        return run.without(self.own).top(depth)


def scored(name: str, most: int | None = None, part: str = "dev") -> Scored:
    """The documents of a part that have a label to find, or so many of them, drawn with seed 0, in their order."""
    vocabulary, every = labels(name), documents(name, part)
    own = own_labels(name, vocabulary, every)
    gold = vocabulary.gold(every, unknown="ignore").without(own)
    drawn = np.sort(np.random.default_rng(0).permutation(np.flatnonzero(mark_labelled(gold)))[:most])
    return Scored(vocabulary, [every[i] for i in drawn], gold.take(drawn), own[drawn])


def parser(
    name: str, about: str | None, among: Sequence[str] = NAMES, corpora: Sequence[str] = (), *, work: bool = False
) -> argparse.ArgumentParser:
    """What every benchmark accepts: a file of results, and where it is asked for, corpora and a folder of work.

    among: the corpora that may be asked for, if any; corpora: those that are measured by default, if not all.
    """
    made = argparse.ArgumentParser(prog=f"python -m benchmarks {name}", description=about)
    if among:
        made.add_argument("--corpora", nargs="+", choices=among, default=corpora or among)
    if work:
        made.add_argument("--work", type=Path, required=True, help="a folder for what is kept of each row")
    results = figures.RESULTS / f"{name.replace('_', '-')}.json"
    made.add_argument("--output", type=Path, default=results, help="a JSON file, added to where it exists")
    return made
