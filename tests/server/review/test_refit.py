from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.conftest import BEES, reviewing, word_tagger

from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.weighted_sum import AppendLabels, AppendOptions, WeightedSum
from tagwright.errors import ConfigError
from tagwright.models import Models
from tagwright.papers import svm
from tagwright.review.events import Decision
from tagwright.server.review.refit import Refit, Refitter, refit_combiner, without_reviews
from tagwright.server.review.review import Review, TrainingData
from tagwright.server.serving import saved_models
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Label, Run

pytestmark = pytest.mark.usefixtures("quick_auto")


@pytest.fixture
def review(tmp_path: Path) -> Review:
    return reviewed(tmp_path)


def reviewed(tmp_path: Path) -> Review:
    review = reviewing(tmp_path, BEES, Document("d2", "Tax law"), Document("d3", "Unseen"))
    review.decisions.add_all([
        Decision(document="d1", reviewer="Ann", action="accept", label="o", rank=1),
        Decision(document="d2", reviewer="Ann", action="reject", label="o"),
        Decision(document="d2", reviewer="Ann", action="done"),
    ])  # fmt: skip
    return review


def run(
    review: Review, refit: Refit, use: Callable[[Refitter], Awaitable[None]], folder: Path | None = None
) -> Refitter:
    refitter = Refitter(review, refit, folder)

    async def main() -> None:
        await review.model.queue.start()
        await use(refitter)
        await refitter.finish()
        await review.model.queue.stop()

    asyncio.run(main())
    return refitter


def said(refitter: Refitter) -> str:
    return " ".join(refitter.outcome)


def test_it_learns_from_what_was_decided_and_swaps_without_dropping_a_request(review: Review) -> None:
    seen: list[tuple[list[str], list[list[str]]]] = []
    asked, go = threading.Event(), threading.Event()

    def refit(tagger: Tagger, labelled: TrainingData) -> Tagger:
        seen.append(([document.id for document in labelled.documents], labelled.labels))
        asked.set()
        go.wait(600)
        return replace(tagger.restrict(["o"]), training={"combined": {"nDCG@5": {"before": 0.25, "after": 0.5}}})

    async def use(refitter: Refitter) -> None:
        version = review.model.version
        assert refitter.start()
        await asyncio.to_thread(asked.wait, 600)
        assert not refitter.start()  # one at a time
        text = "Honey bees and orchards"
        (found,) = await review.model.suggest([text], SuggestOptions(k=5))
        assert {each.id for each in found} == {"http://x.org/bee", "o"}
        requests = [asyncio.create_task(review.model.suggest([text], SuggestOptions(k=5))) for _ in range(20)]
        go.set()
        assert all(found for (found,) in await asyncio.gather(*requests))
        await refitter.finish()
        (found,) = await review.model.suggest([text], SuggestOptions(k=5))
        assert [each.id for each in found] == ["o"]
        assert review.model.version != version

    refitter = run(review, refit, use)
    assert seen == [(["d1", "d2", "d3"], [["o"], [], []])]
    assert re.match(r"Trained on 1 documents at .* UTC; it is in use, and gone when the server ends\. ", said(refitter))
    assert said(refitter).endswith("reviewed documents: 25.0 without the decisions, 50.0 with them.")


def test_every_training_begins_with_the_first_tagger(review: Review) -> None:
    bases: list[Tagger] = []

    def refit(tagger: Tagger, *_: object) -> Tagger:
        bases.append(tagger)
        return replace(tagger.restrict(["o"]), training={"combined": {"nDCG@5": {"before": 0.25, "after": 0.5}}})

    async def use(refitter: Refitter) -> None:
        for _ in range(2):
            refitter.start()
            assert refitter.outcome == ()  # that of the training before is gone
            await refitter.finish()

    run(review, refit, use)
    assert bases[0] is bases[1]


def better(tagger: Tagger, *_: object) -> Tagger:
    measured = {"nDCG@5": {"before": 0.25, "after": 0.5}, "reviews": 1}
    return replace(tagger.restrict(["o"]), training={"before": tagger.training, "combined": measured})


async def once(refitter: Refitter) -> None:
    refitter.start()
    await refitter.finish()


def test_what_is_better_becomes_a_version_in_use_where_the_model_has_versions(tmp_path: Path) -> None:
    models = Models(tmp_path / "bees")
    models.add(word_tagger())
    review = reviewed(tmp_path)
    (review.model,) = saved_models([str(models.folder)])
    refitter = run(review, better, once, models.folder)
    assert "it is in use, and saved as version 0002 of bees" in said(refitter)
    assert models.current.name == "0002"
    assert review.model.version == "bees 0002"
    assert models.current.record["trainings"][0]["combined"]["nDCG@5"] == {"before": 0.25, "after": 0.5}
    models.add(word_tagger())
    models.promote(3)
    refitter = run(review, better, once, models.folder)
    assert said(refitter).startswith("Another version was promoted meanwhile, so nothing is changed")
    assert (len(models), models.current.name) == (3, "0003")


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_model_that_was_saved_since_the_server_read_it_is_not_replaced(
    review: Review, tmp_path: Path, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    folder, before = tmp_path / "bees", review.model.tagger
    before.save(folder)
    newer = before.restrict(["http://x.org/bee"])

    def meanwhile(tagger: Tagger, *_: object) -> Tagger:
        if when == "during":
            newer.save(folder, overwrite=True)
        return better(tagger)

    async def use(refitter: Refitter) -> None:
        if when == "before":
            newer.save(folder, overwrite=True)
        await once(refitter)

    refitter = run(review, meanwhile, use, folder)
    assert said(refitter).startswith("Another model was saved meanwhile, so nothing is changed: load it and train")
    assert "bees: another process has saved a tagger there meanwhile, which is not replaced" in caplog.text
    assert [label.id for label in Tagger.load(folder).vocabulary] == ["http://x.org/bee"]
    assert review.model.tagger is before


def test_a_version_that_is_promoted_while_the_trained_one_is_saved_stays_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(tmp_path / "bees")
    models.add(word_tagger())
    models.add(word_tagger())
    review = reviewed(tmp_path)
    (review.model,) = saved_models([str(models.folder)])
    add = Models.add

    def late(self: Models, *given: Any, **options: Any) -> Any:
        self.promote(2)
        return add(self, *given, **options)

    monkeypatch.setattr(Models, "add", late)
    refitter = run(review, better, once, models.folder)
    assert said(refitter).startswith("Another version was promoted meanwhile, so nothing is changed")
    assert (len(models), models.current.name, review.model.number) == (2, "0002", "0001")


def test_one_training_after_the_other_replaces_what_the_first_has_saved(review: Review, tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    review.model.tagger.save(folder)

    async def twice(refitter: Refitter) -> None:
        await once(refitter)
        assert "saved as bees" in said(refitter)
        await once(refitter)

    assert "it is in use, and saved as bees." in said(run(review, better, twice, folder))
    (model,) = saved_models([str(folder)])
    assert [label.id for label in model.tagger.vocabulary] == ["o"]


def test_what_is_no_better_on_documents_that_it_has_not_seen_changes_nothing(review: Review, tmp_path: Path) -> None:
    before, folder = review.model.tagger, tmp_path / "bees"
    before.save(folder)

    def refit(tagger: Tagger, *_: object) -> Tagger:
        return replace(tagger.restrict(["o"]), training={"combined": {"nDCG@5": {"before": 0.5, "after": 0.5}}})

    refitter = run(review, refit, once, folder)
    assert "without a gain: the model stays as it is" in said(refitter)
    assert review.model.tagger is before
    assert len(Tagger.load(folder).vocabulary) == 3


def test_where_it_cannot_be_saved_it_is_used_and_that_is_said(review: Review, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    refitter = run(review, better, once, folder)
    assert "not saved, so gone when the server ends" in said(refitter)
    assert [file.name for file in folder.iterdir()] == ["mine.txt"]
    assert len(review.model.tagger.vocabulary) == 1


def test_what_was_learned_on_top_of_a_learned_combiner_is_explained_by_stages() -> None:
    base, (_, labelled) = every_kind()[0], lesson()
    assert isinstance(base.combiner, LearnedCombiner)
    described = replace(base.combiner.described, first=base.combiner)
    pool = base.candidates(labelled.documents[:1])
    two = replace(base.combiner, described=described)
    found, scores = two.explain(pool), two.combine(pool)
    assert {"exact_match", "tfidf"} <= set(found.names)
    constant = scores.scores_of(found.candidates) - found.added.sum(axis=1)
    assert np.ptp(constant) == pytest.approx(0, abs=1e-4)


KILLED = """
import sys
from pathlib import Path
from tagwright.server.review import refit
from tagwright.tagger import Tagger
from tests.server.review.test_refit import reviewed, better
import os, signal

class Killed(Tagger):
    def write(self, folder):
        super().write(folder)
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
tagger = better(Tagger.load(folder))
killed = Killed(tagger.vocabulary, tagger.retrievers, tagger.rerankers, tagger.pool, tagger.combiner, tagger.training)
refit.Refitter(reviewed(Path(sys.argv[2])), lambda *_: killed, folder)._save(killed, None, {})
"""


def test_a_kill_while_it_is_saved_leaves_the_old_model_whole(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "bees")
    command = [sys.executable, "-c", KILLED, str(tmp_path / "bees"), str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert len(Tagger.load(tmp_path / "bees", verify=True).vocabulary) == 3
    Tagger.load(tmp_path / "bees").restrict(["o"]).save(tmp_path / "bees", overwrite=True)  # and can be replaced
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["bees"]


def test_it_begins_again_with_the_model_before_any_review(tmp_path: Path) -> None:
    tagger, labelled = lesson()
    found = refit_combiner(tagger, labelled)
    assert found.training["combined"]["reviews"] == 20
    found.save(tmp_path / "found")
    before = without_reviews(Tagger.load(tmp_path / "found"))
    texts = labelled.documents[:5]
    assert before.tag(texts, k=2).labels.tolist() == tagger.tag(texts, k=2).labels.tolist()
    assert before.tag(texts, k=2).labels.tolist() != found.tag(texts, k=2).labels.tolist()
    assert without_reviews(tagger) is tagger


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ConfigError("too few documents"), "too few documents"), (ZeroDivisionError("x"), "internal error")],
)
def test_a_training_that_fails_leaves_the_model_and_says_so(review: Review, error: Exception, reason: str) -> None:
    before = review.model.tagger

    def refit(*_: object) -> Tagger:
        raise error

    async def use(refitter: Refitter) -> None:
        assert refitter.start()

    refitter = run(review, refit, use)
    assert reason in said(refitter)
    assert "ZeroDivision" not in said(refitter)
    assert review.model.tagger is before


def lesson() -> tuple[Tagger, TrainingData]:
    """Exact matches are always wrong here and the label with one more word is right, which nobody knows beforehand."""
    nouns = [f"{first}{second}ane" for first in ("b", "d", "f", "g", "k") for second in ("el", "or", "um", "ip")]
    wrong = [Label(f"w{place}", (noun,)) for place, noun in enumerate(nouns)]
    right = [Label(f"r{place}", (f"{noun} zebra",)) for place, noun in enumerate(nouns)]
    tagger = word_tagger().with_labels([*wrong, *right])
    documents = [Document(str(place), noun, f"The {noun}.") for place, noun in enumerate(nouns)]
    return tagger, TrainingData(documents, [[label.id] for label in right], [set()] * len(documents))


def test_the_combiner_learns_which_stage_is_right() -> None:
    tagger, labelled = lesson()
    found = refit_combiner(tagger, labelled)
    measured = found.training["combined"]["nDCG@5"]
    assert measured["after"] > measured["before"]
    with pytest.raises(ConfigError, match="2 documents with labels"):
        refit_combiner(tagger, TrainingData(labelled.documents[:2], [["r0"], []], [set(), set()]))


def every_kind() -> list[Tagger]:
    """Taggers of every combiner: of `train auto`, of one trained stage, and with labels appended as in FuTex."""
    untrained, labelled = lesson()
    documents = [replace(each, labels=tuple(ids)) for each, ids in zip(*labelled[:2], strict=True)]
    gold = untrained.vocabulary.gold(documents)
    learned = replace(refit_combiner(untrained, labelled), training={"auto": {}})  # as `train auto` combines
    assert isinstance(learned.combiner, LearnedCombiner)
    appended = replace(
        untrained, combiner=AppendLabels(WeightedSum(weights={"tfidf": 1.0}), AppendOptions(by="exact_match"))
    )
    return [learned, svm.fit(documents * 2, untrained.vocabulary, gold=Run.concat([gold, gold])), appended]


@pytest.mark.parametrize("place", range(3), ids=["auto", "svm", "futex"])
def test_every_tagger_is_trained_and_saved_and_loaded(place: int, tmp_path: Path) -> None:
    tagger, (_, labelled) = every_kind()[place], lesson()
    found = refit_combiner(tagger, labelled)
    measured = found.training["combined"]["nDCG@5"]
    assert 0 < measured["before"] <= measured["after"]
    found.save(tmp_path / "found")
    again = Tagger.load(tmp_path / "found")
    documents = labelled.documents[:3]
    assert again.tag(documents, k=5).labels.tolist() == found.tag(documents, k=5).labels.tolist()
    anew = refit_combiner(without_reviews(again), labelled)  # after a restart it learns the same, not on top of that
    assert anew.tag(documents, k=5).labels.tolist() == found.tag(documents, k=5).labels.tolist()
    assert anew.training["combined"] == found.training["combined"]
