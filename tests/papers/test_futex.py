from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.fixed import Fixed
from tests.papers.topics import LABELS, TOPICS, first_labels, trained

from tagwright.combining.fusion import reciprocal_ranks
from tagwright.combining.weighted_sum import WeightedSum
from tagwright.core.steps import NAME, Steps
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.papers import futex
from tagwright.papers.full_text import FullText, Paragraphs
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.tagger import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Distribution, Document, Floats, Label, Run, Section

QUICK = futex.Config(
    network="cross",
    rankings=("abstract", "fulltext"),
    count=24,
    min_papers=2,
    shortest=2,
    training=TrainingConfig(batch=4, steps=6, validation=0.0, checkpoint_seconds=0),
)
"The paper's rankings."


def paper(i: int, name: str) -> Document:
    """The title names the topic, the rest is made of its words; papers of a topic cite the same work."""
    words = np.random.default_rng(i).choice(TOPICS[name], 12).tolist()
    sections = (Section("Body", 1, (" ".join(words[:6]), " ".join(words[6:]))),)
    return Document(f"d{i}", f"about {name}", f"the {words[0]}", sections, {"reference": (name,)}, (name,))


NAMES = [list(TOPICS)[i % 3] for i in range(24)]
PAPERS = [paper(i, name) for i, name in enumerate(NAMES)]
UNSEEN = [replace(paper(100 + i, name), id=f"u{i}", title="", metadata={}) for i, name in enumerate(NAMES)]
"Nothing names their topic; only their words are of it."

TOPIC = [LABELS.index[name] for name in NAMES]


class Says(Fixed):
    distribution: Distribution = "normal"


@pytest.mark.parametrize(("order", "expected"), [("example", "ABEDC"), ("append", "ABCED")])
def test_example_3_1(order: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = Vocabulary([Label(name, (name,)) for name in "ABCDE"])
    found, both = Says({0: 1.0, 1: 1.0, 2: 1.0}), Says({0: 3.0, 1: 2.0, 2: 1.0})
    combiner = WeightedSum(by="ranks", rank_constant=0, weights={"exact_match": 0.0})
    ensemble = Tagger(labels, {"exact_match": found}, {"abstract": both, "fulltext": both}, combiner=combiner)
    assert ensemble.tag([PAPERS[0]]).scores.tolist() == pytest.approx([2.0, 1.0, 0.67], abs=0.005)
    # Parabel's order in the example is E, B, A, D, C
    probable = Says(dict(zip([4, 1, 0, 3, 2], [0.9, 0.8, 0.7, 0.6, 0.5], strict=True)))
    monkeypatch.setattr(futex, "classifier", lambda *_: probable)
    pseudo = futex.pseudo_labels(ensemble, PAPERS[:1], replace(QUICK, pseudo_labels=2))
    assert pseudo.labels.tolist() == [0, 1]
    tagger = futex.self_train(ensemble, PAPERS[:1], pseudo, replace(QUICK, pseudo_labels=2, order=order, min_papers=1))
    assert "".join(labels[label].name for label in tagger.tag(PAPERS[:1], 5).labels.tolist()) == expected


def test_a_candidate_that_the_classifier_does_not_reach_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Example 3.1 with a classifier that knows E and B alone."""
    labels = Vocabulary([Label(name, (name,)) for name in "ABCDE"])
    found = Says({0: 3.0, 1: 2.0, 2: 1.0})
    ensemble = Tagger(labels, {"exact_match": found})
    monkeypatch.setattr(futex, "classifier", lambda *_: Says({4: 0.9, 1: 0.8}))
    config = replace(QUICK, pseudo_labels=1, order="example", min_papers=1)
    tagger = futex.self_train(ensemble, PAPERS[:1], Run.from_rows([[0]]), config)
    assert "".join(labels[label].name for label in tagger.tag(PAPERS[:1], 5).labels.tolist()) == "AEBC"


def test_the_full_text_tells_what_no_name_does(encoder: dict[str, str], tmp_path: Path) -> None:
    tagger = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"]))
    for papers in (PAPERS, UNSEEN):
        assert sum(a == b for a, b in zip(first_labels(tagger.tag(papers)), TOPIC, strict=True)) >= 22
    without = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"], self_training=False))
    assert len(without.tag(UNSEEN).labels) == 0
    tagger.save(tmp_path / "tagger")
    loaded = Tagger.load(tmp_path / "tagger")
    assert loaded.tag(UNSEEN).labels.tolist() == tagger.tag(UNSEEN).labels.tolist()


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (
            {},
            {
                "exact_match": "ExactMatch",
                "abstract": "CrossEncoderReranker",
                "fulltext": "FullText",
                "classifier": "Trees",
            },
        ),
        (
            {"network": "none"},
            {"exact_match": "ExactMatch", "abstract": "FullText", "fulltext": "FullText", "classifier": "Trees"},
        ),
        (
            {"rankings": futex.Config().rankings},
            {
                "exact_match": "ExactMatch",
                "all_mentions": "ExactMatch",
                "abstract": "CrossEncoderReranker",
                "classifier": "Trees",
            },
        ),
        (
            {"rankings": ("abstract",)},
            {"exact_match": "ExactMatch", "abstract": "CrossEncoderReranker", "classifier": "Trees"},
        ),
        (
            {"self_training": False},
            {"exact_match": "ExactMatch", "abstract": "CrossEncoderReranker", "fulltext": "FullText"},
        ),
        (
            {"rankings": ("mentions", "all_mentions"), "network": "none", "self_training": False},
            {"exact_match": "ExactMatch", "all_mentions": "ExactMatch"},
        ),
        (
            {"network": "bi", "retrievers": ("exact_match", "bm25", "dense"), "self_training": False},
            {
                "exact_match": "ExactMatch",
                "bm25": "Lexical",
                "dense": "FullText",
                "abstract": "FullText",
                "fulltext": "FullText",
            },
        ),
    ],
)
def test_each_part_can_be_switched_off(options: dict[str, Any], kinds: dict[str, str], encoder: dict[str, str]) -> None:
    tagger = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"], **options))
    assert {name: type(stage).__name__ for name, stage in tagger.stages.items()} == kinds
    assert len(tagger.tag(PAPERS)) == len(PAPERS)


def test_a_candidate_gets_the_reciprocal_ranks_of_both_rankings(encoder: dict[str, str]) -> None:
    config = replace(
        QUICK,
        encoder=encoder["transformer"],
        text_field="text",
        retrievers=("exact_match", "bm25"),
        self_training=False,
    )
    documents = [Document("m", "wasp and bank", "near the stone"), PAPERS[1]]
    tagger = futex.fit(PAPERS, LABELS, config)
    pool, run = tagger.retrievers["exact_match"](documents), tagger.tag(documents)
    ranks: list[dict[int, int]] = [{}, {}]
    for stage, rank in zip(("abstract", "fulltext"), ranks, strict=True):
        ranker = tagger.stages[stage]
        order = pool.rescored(ranker.score(ranker.read(documents), pool))
        rank.update({label: place + 1 for place, label in enumerate(order[0][0].tolist())})
    assert len(ranks[0]) == 3
    expected = {label: 1 / ranks[0][label] + 1 / ranks[1][label] for label in ranks[0]}
    assert dict(zip(*(part.tolist() for part in run[0]), strict=True)) == pytest.approx(expected)


@pytest.mark.parametrize("text_field", ["title_and_abstract", "text"])
def test_mentions_rank_alike_whether_they_find_the_candidates_or_not(
    text_field: Literal["title_and_abstract", "text"], encoder: dict[str, str]
) -> None:
    documents = [Document("m", "wasp and bank", "near the stone, a wasp"), *PAPERS]
    options: dict[str, Any] = {
        "network": "none",
        "text_field": text_field,
        "self_training": False,
        "rankings": futex.Config().rankings,
    }
    tagger = futex.fit(PAPERS, LABELS, replace(QUICK, encoder=encoder["transformer"], **options))
    pool = tagger.retrievers["exact_match"](documents)
    heads, everywhere = (
        ExactMatch(LABELS, ExactMatchOptions(text_field=field)) for field in ("title_and_abstract", "text")
    )
    abstract = tagger.stages["abstract"]
    opinions = [pool.rescored(stage.score(stage.read(documents), pool)) for stage in (heads, everywhere, abstract)]
    expected = reciprocal_ranks(opinions, k=0, candidates=pool)
    assert tagger.tag(documents).scores.tolist() == pytest.approx(expected.top(10).scores.tolist())


@pytest.mark.parametrize(("device", "learning"), [("cuda", "cross"), ("cpu", "none")])
def test_without_a_gpu_nothing_learns_from_the_network_unless_asked(
    device: str, learning: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(futex, "uses_gpu", lambda: device == "cuda")
    assert futex.Config().learning == learning
    assert futex.Config(network="bi").learning == "bi"
    assert futex.Config(rankings=("mentions",)).learning == "none"


@pytest.mark.parametrize(("shortest", "expected"), [(2, {"bees fly", "wasps sting now"}), (3, {"wasps sting now"})])
def test_the_fine_tuning_reads_no_shorter_paragraphs_than_the_ranking(shortest: int, expected: set[str]) -> None:
    document = Document("d", sections=(Section("Body", 1, ("bees fly", "wasps sting now")),))
    view = futex.Config(shortest=shortest, abstract_chance=0.0).view
    assert {view(document, (0, epoch)) for epoch in range(40)} == expected


@pytest.mark.parametrize("kind", ["static", "transformer"])
def test_the_bi_encoder_can_learn_from_the_network(kind: str, encoder: dict[str, str]) -> None:
    config = trained(
        replace(QUICK, encoder=encoder[kind], network="bi", shortest=10), learning_rate=0.01
    )  # reads the heads
    _, before = futex.fine_tune(PAPERS, replace(config, network="none"))
    _, after = futex.fine_tune(PAPERS, config)
    texts = [paper.sections[0].paragraphs[0] for paper in PAPERS]
    apart = [[np.abs(i - j) % 3 > 0 for i in range(24)] for j in range(24)]

    def margin(encode: Callable[[Sequence[str]], Floats]) -> float:
        cosines = encode(texts) @ encode(texts).T
        return float(cosines[~np.array(apart)].mean() - cosines[np.array(apart)].mean())

    assert margin(after.encode) > margin(before.encode)


def test_a_run_that_was_killed_while_ranking_goes_on(
    encoder: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(futex, "BATCH", 8)
    config = replace(QUICK, encoder=encoder["transformer"])
    asked: list[str] = []
    original = FullText.read

    class Stop(Exception):  # noqa: N818
        pass

    def read(stage: FullText, documents: Sequence[Document]) -> Paragraphs:
        if len(asked) == 16:
            raise Stop
        asked.extend(document.id for document in documents)
        return original(stage, documents)

    monkeypatch.setattr(FullText, "read", read)
    with pytest.raises(Stop):
        futex.fit(PAPERS, LABELS, config, Steps(tmp_path))
    assert (tmp_path / "ranking" / "8" / NAME).is_file()
    assert (tmp_path / "cross" / NAME).is_file()
    asked.append("resumed")
    tagger = futex.fit(PAPERS, LABELS, config, Steps(tmp_path, resume=True))
    assert asked == [*(document.id for document in PAPERS[:16]), "resumed", *(d.id for d in PAPERS[16:])]
    monkeypatch.setattr(FullText, "read", original)
    whole = futex.fit(PAPERS, LABELS, config)
    cross, again = tagger.stages["abstract"], whole.stages["abstract"]
    pool = whole.retrievers["exact_match"](PAPERS)
    assert isinstance(cross, CrossEncoderReranker)
    assert cross.score(cross.read(PAPERS), pool).tolist() == again.score(again.read(PAPERS), pool).tolist()
    with pytest.raises(ConfigError, match="was started with pseudo_labels 5, not 3"):
        futex.fit(PAPERS, LABELS, replace(config, pseudo_labels=3), Steps(tmp_path, resume=True))


def test_what_was_ranked_is_joined_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(futex, "BATCH", 1)
    batches, joined = 8 * PAPERS, 0
    concat = Run.concat

    def counting(runs: Sequence[Run]) -> Run:
        nonlocal joined
        joined += sum(map(len, runs))
        return concat(runs)

    class Ensemble:
        def tag(self, documents: Sequence[Document], k: int) -> Run:
            return Run.from_rows([{int(document.id[-1:]): 1.0} for document in documents]).top(k)

    monkeypatch.setattr(Run, "concat", counting)
    papers = [replace(paper, id=str(number)) for number, paper in enumerate(batches)]
    found = futex.pseudo_labels(Ensemble(), papers, trained(QUICK, checkpoint_seconds=3600.0), Steps(tmp_path))  # type: ignore[arg-type]
    assert found.labels.tolist() == [number % 10 for number in range(len(papers))]
    assert joined <= 3 * len(papers)  # as a share, to be saved, and to be given back; not their square


def test_what_cannot_be_learnt_from_is_said_before_anything_is_loaded() -> None:
    pytest.importorskip("torch")
    alone = [replace(document, metadata={"reference": (document.id,)}) for document in PAPERS]
    with pytest.raises(TagwrightError, match='meta-path "P->P<-P" joins no two of the 24 documents'):
        futex.fit(alone, LABELS, replace(QUICK, encoder="nowhere/no-such"))
    with pytest.raises(ConfigError, match="no reference or citation field"):
        futex.fit([replace(document, metadata={}) for document in PAPERS], LABELS, QUICK)


def test_what_the_label_trees_need_is_said_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "omikuji", None)
    with pytest.raises(TagwrightError, match=r'pip install "tagwright\[trees\]"'):
        futex.fit(PAPERS, LABELS, replace(QUICK, encoder="nowhere/no-such"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": "all"}, 'network is "all", expected one of auto, cross, bi, both, none'),
        ({"order": "last"}, 'order is "last", expected one of example, append'),
        ({"retrievers": ()}, "retrievers is .*, expected one or more values without duplicates"),
        ({"retrievers": ("tfidf",)}, "expected a list, each one of exact_match, bm25, dense"),
        ({"rankings": ("abstract", "abstract")}, "rankings is .*, expected one or more values without duplicates"),
        ({"pseudo_labels": 0}, "pseudo_labels is 0, expected at least 1"),
        ({"abstract_chance": 2.0}, r"abstract_chance is 2.0, expected at least 0 and at most 1"),
        ({"temperature": -1.0}, r"temperature is -1.0, expected more than 0"),
        ({"aggregate": "all"}, 'aggregate is "all"'),
        ({"network": "cross", "rankings": ("mentions",)}, 'which only the ranking "abstract" reads'),
        ({"language": "klingon"}, "klingon"),
        ({"found": 0}, "found is 0"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        futex.Config(**options)
