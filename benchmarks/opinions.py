"""Candidates of a corpus and what each ranker thinks of them, kept on disk: rankings are made of these in seconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from benchmarks import corpora, rows

from tagwright.combining.fusion import reciprocal_ranks
from tagwright.core.atomic import replace_file
from tagwright.core.steps import Steps
from tagwright.data.bags import BagOfWords
from tagwright.data.corpus import Corpus
from tagwright.data.sparse_arrays import Matrix
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.evaluation.metrics import mark_labelled
from tagwright.papers import futex
from tagwright.papers.full_text import FullText, FullTextOptions
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.types import Document, Run, Stage

CHUNK = 256
"Documents between two writes of an opinion."

Part = Literal["dev", "train"]


OPINIONS: Mapping[str, FullTextOptions] = {
    "abstract": FullTextOptions(aggregate="abstract"),
    "tree": FullTextOptions(),
    "first 512": FullTextOptions(aggregate="first"),
}

MENTIONS: Mapping[str, ExactMatchOptions] = {
    "mentions in the abstract": ExactMatchOptions(text_field="title_and_abstract"),
    "mentions": ExactMatchOptions(),
}
"How often, how early and how specifically a label is named."

CROSS = "cross"
"The fine-tuned cross-encoder on the abstract."


@dataclass(frozen=True)
class Task(rows.Task):
    """A corpus, an encoder, and what is kept of both."""

    encoder: str = "minilm"
    most: int | None = None
    "So many documents of each part: for a first look."
    tuning: Mapping[str, Any] = field(default_factory=dict)
    "Options of the fine-tuning."

    @cached_property
    def train(self) -> Any:
        """The documents besides dev."""
        corpus = corpora.corpus(self.name, "train")
        return corpus if self.most is None else corpus[: self.most]

    @cached_property
    def dev(self) -> list[Document]:
        """Those that have a label to find."""
        documents = corpora.documents(self.name, "dev", self.most)
        return [d for d, kept in zip(documents, mark_labelled(self._gold(documents)), strict=True) if kept]

    @cached_property
    def everything(self) -> Sequence[Document]:
        """What is learnt from: train and dev, as in the paper, without labels."""
        return Corpus.of(document for part in (self.train, self.dev) for document in part)

    @cached_property
    def gold_everywhere(self) -> Run:
        """The labels of train and dev: for the propensities (A.2), and for supervised rows."""
        train = self.labels.gold(self.train, unknown="ignore")
        return Run.concat([self.without_self(self.train, train), self.gold])

    @cached_property
    def words(self) -> tuple[BagOfWords, Matrix]:
        """The bag of words of everything."""
        return futex.bag_of_words(self.everything, futex.Config())

    @cached_property
    def plain(self) -> Dense:
        """The labels under the encoder as it comes."""
        return Dense(self.labels, BiEncoder.load(self.encoder), DenseOptions(k=rows.DEPTH))

    @cached_property
    def cross(self) -> CrossEncoder:
        """The cross-encoder that has learnt from the network."""
        folder = self.work / self.name / "tuned"
        folder.mkdir(parents=True, exist_ok=True)
        config = futex.Config(encoder=self.encoder, network="cross", **self.tuning)
        found, _ = futex.fine_tune(self.everything, config, Steps(folder, resume=True))
        assert found is not None
        return found

    def documents(self, part: Part) -> Sequence[Document]:
        """Train or dev."""
        return self.dev if part == "dev" else self.train

    def candidates(self, part: Part) -> Run:
        """The labels whose names stand in the abstract."""

        def find(documents: Sequence[Document], _: slice) -> Run:
            stages = futex.retrievers(self.labels, futex.Config(), lambda: FullText(self.plain)).values()
            return self.without_self(documents, Run.union([stage(documents) for stage in stages]))

        return self._kept("candidates", part, find)

    def opinion(self, name: str, part: Part) -> Run:
        """The candidates as one ranker sees them."""
        candidates = self.candidates(part)

        def judge(documents: Sequence[Document], span: slice) -> Run:
            mine = candidates.take(np.arange(len(candidates))[span])
            stage = self._stage(name)
            return mine.rescored(stage.score(stage.read(documents), mine))

        return self._kept(name, part, judge)

    def ranking(self, opinions: Sequence[str], part: Part) -> Run:
        """The candidates by the reciprocal ranks of all opinions (Eq. 9); one alone keeps its scores.

        A label that is not mentioned gets nothing for that, as in a tagger.
        """
        found = {name: self.opinion(name, part) for name in opinions}
        if len(found) == 1:
            return found[opinions[0]]
        ranked = [run.keep(run.scores > 0) if name in MENTIONS else run for name, run in found.items()]
        return reciprocal_ranks(ranked, k=0, candidates=self.candidates(part))

    def _stage(self, name: str) -> Stage:
        if name in MENTIONS:
            return ExactMatch(self.labels, MENTIONS[name])
        if name == CROSS:
            return CrossEncoderReranker(self.labels, self.cross)
        return FullText(self.plain, OPINIONS[name])

    def _kept(self, name: str, part: Part, make: Callable[[Sequence[Document], slice], Run]) -> Run:
        """Made piece by piece, each kept in a file."""
        documents, parts = self.documents(part), [Run.from_rows([])]
        for start in range(0, len(documents), CHUNK):
            span = slice(start, min(start + CHUNK, len(documents)))
            path = self.work / self.name / "opinions" / name / part / f"{start:07}.npz"
            if not path.is_file():
                run = make(documents[span], span)
                with replace_file(path) as file, file.open("wb") as opened:
                    np.savez(opened, indptr=run.indptr, labels=run.labels, scores=run.scores)
            with np.load(path, allow_pickle=False) as stored:
                parts.append(Run(stored["indptr"], stored["labels"], stored["scores"]))
        return Run.concat(parts)
