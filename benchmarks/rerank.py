"""How fast candidates are re-ranked, beside a loop that does what the published code of MICoL does.

That loop encodes the document again for every candidate, pads every text to its longest (256 tokens, pairs 512), and
computes in float32, 16 pairs at a time. Both rank the same candidates of documents of epmc, those of names and BM25, by
the packaged MiniLM, read the same text (256 tokens of a document), and take turns. The loop's speed does not depend on
the texts, so it is given a few of the pairs only. With other programs at work on the machine, the ratios hold and the
rates do not; rates per second of processor time suffer less.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.machine import timed

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.device import best_device, best_dtype
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.types import Document, Floats, Run

if TYPE_CHECKING:
    import torch

BATCH, LENGTH = 16, 256
WANTED = {"bi": 50, "cross": 6}


def main(arguments: list[str]) -> None:
    parser = corpora.parser("rerank", __doc__, ())
    parser.add_argument("--documents", type=int, default=32)
    parser.add_argument("--pairs", type=int, default=400, help="that the cross-encoder ranks, and the bi-encoder all")
    parser.add_argument("--published", type=int, default=32, help="pairs that the published way is given")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)

    corpora.require(("epmc",))
    documents, run, vocabulary = candidates(options.documents)
    every = np.arange(len(run.labels))
    few = np.random.default_rng(0).choice(every, options.pairs, replace=False)
    report: dict[str, Any] = {
        "path": f"{best_device().type} {str(best_dtype(best_device())).removeprefix('torch.')}",
        "documents": len(documents),
        "candidates": len(run.labels),
        "rounds": options.rounds,
    }
    published = Published(documents, run, vocabulary, few[: options.published])
    ours: dict[str, tuple[int, Callable[[], Floats]]] = {
        "bi": (len(run.labels), partial(bi, documents, run, vocabulary, BiEncoder.load(cached=False))),
        "cross": (options.pairs, partial(cross, documents, pick(run, few), vocabulary, CrossEncoder.load())),
    }
    for name, (pairs, rank) in ours.items():
        report[name] = compare(rank, pairs, getattr(published, name), options.published, options.rounds)
        report[name]["wanted"] = WANTED[name]
    report["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(report, indent=1))
    figures.write(options.output, report)


def candidates(count: int) -> tuple[list[Document], Run, Vocabulary]:
    """Documents, their candidates, and a vocabulary of these only."""
    documents, labels = corpora.documents("epmc", "dev", count), corpora.labels("epmc")
    run = Run.union(
        [ExactMatch(labels)(documents), Lexical(labels, LexicalOptions(text_field="title_and_abstract"))(documents)]
    )
    used, places = np.unique(run.labels, return_inverse=True)
    some = labels.restrict([labels[i].id for i in used.tolist()])
    return documents, Run.of(run.indptr, places, run.scores), some


def pick(run: Run, places: np.ndarray[Any, np.dtype[np.int64]]) -> Run:
    """Some of the candidates."""
    mask = np.zeros(len(run.labels), np.bool_)
    mask[places] = True
    return run.keep(mask)


def bi(documents: Sequence[Document], run: Run, labels: Vocabulary, encoder: BiEncoder) -> Floats:
    """The labels are encoded too, although a tagger does that once for all documents."""
    stage = Dense(labels, encoder, DenseOptions(label_text="text"))
    return stage.score(stage.read(documents), run)


def cross(documents: Sequence[Document], run: Run, labels: Vocabulary, encoder: CrossEncoder) -> Floats:
    stage = CrossEncoderReranker(labels, encoder)
    return stage.score(stage.read(documents), run)


class Published:
    """The loop of the published code over some of the candidates."""

    def __init__(
        self, documents: Sequence[Document], run: Run, labels: Vocabulary, places: np.ndarray[Any, np.dtype[np.int64]]
    ) -> None:
        model = CrossEncoder.load().model
        self.tokenizer = model.tokenizer
        self.body: Any = model.transformers_model
        self.head: Any = model[2]
        self.pairs = [
            (documents[run.rows[i]].title_and_abstract, labels[int(run.labels[i])].text) for i in places.tolist()
        ]

    def bi(self) -> Floats:
        """Cosines of CLS states."""
        return self._over(self._cosines)

    def cross(self) -> Floats:
        """Linear scores of CLS states of document and label together."""
        return self._over(self._scores)

    def _over(self, score: Callable[[list[str], list[str]], torch.Tensor]) -> Floats:
        import torch

        batches = [self.pairs[start : start + BATCH] for start in range(0, len(self.pairs), BATCH)]
        with torch.inference_mode():
            found = [score([d for d, _ in batch], [label for _, label in batch]) for batch in batches]
        return np.concatenate([scores.numpy() for scores in found])

    def _cosines(self, documents: list[str], labels: list[str]) -> torch.Tensor:
        import torch

        d, l = (self._cls(texts, max_length=LENGTH) for texts in (documents, labels))  # noqa: E741
        return torch.nn.functional.cosine_similarity(d, l)

    def _scores(self, documents: list[str], labels: list[str]) -> torch.Tensor:
        cut = self.tokenizer(documents, truncation=True, max_length=LENGTH, add_special_tokens=False)["input_ids"]
        starts = self.tokenizer.batch_decode(cut)
        scores: torch.Tensor = self.head.linear(self._cls(starts, labels, max_length=2 * LENGTH))[:, 0]
        return scores

    def _cls(self, *texts: list[str], max_length: int) -> torch.Tensor:
        features = self.tokenizer(
            *texts, padding="max_length", truncation=True, max_length=max_length, return_tensors="pt"
        )
        states: torch.Tensor = self.body(**features).last_hidden_state[:, 0]
        return states


def compare(
    ours: Callable[[], Floats], pairs: int, theirs: Callable[[], Floats], few: int, rounds: int
) -> dict[str, Any]:
    """Both in turn, after a first run of each that is not counted."""
    ours(), theirs()
    runs = [(timed(ours)[:2], timed(theirs)[:2]) for _ in range(rounds)]
    rate = {
        name: {
            "pairs_per_second": statistics.median(count / run[way][0] for run in runs),
            "pairs_per_processor_second": statistics.median(count / run[way][1] for run in runs),
        }
        for way, (name, count) in enumerate({"tagwright": pairs, "published": few}.items())
    }
    ratios = [[pairs / few * theirs[kind] / ours[kind] for ours, theirs in runs] for kind in (0, 1)]
    return {
        "pairs": pairs,
        **rate,
        "times_as_fast": {
            "median": statistics.median(ratios[0]),
            "least": min(ratios[0]),
            "most": max(ratios[0]),
            "of_processor_time": statistics.median(ratios[1]),
        },
    }
