"""What processes share, as a program that starts two of them: FOLDER STATIC-ENCODER TRANSFORMER."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import accelerate  # noqa: F401  imported once, before the processes are forked, as are the next two
import numpy as np
import sentence_transformers  # noqa: F401
import sklearn.svm  # noqa: F401
import torch
from tests.papers.topics import DOCUMENTS, LABELS
from tests.training.launching import fork_ranks
from tests.training.training_run import run_comparably, step_comparably

from tagwright.encoders import precision
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.prompts import Role
from tagwright.papers import depl, maclr
from tagwright.papers.descriptions import DescriptionRetriever
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.training.config import TrainingConfig
from tagwright.training.shared_work import all_gather, shared_dense, shared_run
from tagwright.types import Document, Floats, Run

SHORT = TrainingConfig(batch=8, steps=3, learning_rate=0.001, validation=0.0)
"Gentle: where the loss is nearly nothing, Adam makes a step of the sign of a rounding error."
FEW = maclr.Config(encoder_pairs=False, clustering=False, pseudo_labels=1, temperature=1.0, training=SHORT)


def main(folder: Path, encoder: str) -> None:
    """Write what this process has in the end, and how many texts and documents it read for it."""
    rank = os.environ.get("RANK", "0")
    read: list[str] = []
    lexical = Lexical(LABELS, LexicalOptions(k=2))

    def find(documents: Sequence[Document]) -> Run:
        read.extend(document.id for document in documents)
        return lexical(documents)

    found = shared_run(DOCUMENTS, find)
    static = BiEncoder.load(encoder, cached=False)
    counting = Counting(static)
    dense = shared_dense(LABELS, counting, DenseOptions())
    # Fewer labels than processes.
    bees = LABELS.restrict(["wasp"])
    plain = depl.Config(encoder=encoder, trained_start=False, hard_negatives=0, keywords=0, training=SHORT)
    one_label = shared_dense(bees, static, DenseOptions())
    one_described = depl.fit(DOCUMENTS, bees, plain).stages["dual"]
    assert isinstance(one_described, DescriptionRetriever)
    assert one_described.search
    trained = maclr.fit(DOCUMENTS, LABELS, replace(FEW, encoder=encoder)).stages["dense"]
    described = depl.fit(
        DOCUMENTS, LABELS, depl.Config(encoder=encoder, trained_start=False, hard_negatives=2, training=SHORT)
    ).stages["dual"]
    assert isinstance(trained, Dense)
    assert isinstance(described, DescriptionRetriever)
    assert described.search
    everything = np.arange(len(LABELS))
    np.savez(
        folder / f"{rank}.npz",
        read=np.array(read),
        texts=np.array(counting.texts),
        indptr=found.indptr,
        labels=found.labels,
        scores=found.scores,
        none=all_gather(np.zeros((0, 3), np.int8)),
        uneven=all_gather(np.full((2 * int(rank), 2), 0.5 + int(rank), np.float16)),
        trained=trained.vectors[everything],
        described=described.search.vectors[everything],
        dense=dense.vectors[everything],
        one_label=one_label.vectors[np.array([0])],
        one_described=one_described.search.vectors[np.array([0])],
    )


def write_threads(path: Path) -> None:
    """Write the names of the threads there are now, where the system lists them."""
    names = []
    for each in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # it has just ended
            names.append(each.read_text())
    path.write_text("".join(names))


class Counting:
    """An encoder that counts the texts it is given."""

    def __init__(self, encoder: BiEncoder) -> None:
        self._encoder, self.dim, self.name, self.texts = encoder, encoder.dim, encoder.name, 0

    def encode(self, texts: Sequence[str], *, role: Role | None = None, progress: str = "") -> Floats:
        self.texts += len(texts)
        return self._encoder.encode(texts, role=role, progress=progress)

    def save(self, folder: Path) -> None:
        raise NotImplementedError


def work() -> None:
    """What each process does, and leaves in the folder."""
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    # called after what is registered later
    atexit.register(write_threads, folder / f"{os.environ['RANK']}.threads")
    with patch.object(precision, "formats", dict):  # as in all tests
        main(folder, sys.argv[2])
    np.savez(folder / f"{os.environ['RANK']}-step.npz", **step_comparably(sys.argv[3]))  # type: ignore[arg-type]
    for encoder in sys.argv[2:]:
        run_comparably(encoder, folder / f"training-{Path(encoder).name}")


if __name__ == "__main__":
    fork_ranks(2, work)
