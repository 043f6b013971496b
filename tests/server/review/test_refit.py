from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.conftest import BEES, reviewing, word_tagger

from tagwright.combining.learned_combiner import LearnedCombiner
from tagwright.combining.steps import find_last
from tagwright.combining.weighted_sum import AppendLabels, WeightedSum
from tagwright.core.versions import in_use, model_names, put_in_use
from tagwright.data.corpus import text_digests
from tagwright.errors import ConfigError
from tagwright.papers import svm
from tagwright.review.events import Action, Decision
from tagwright.review.file import ReviewFile
from tagwright.server.review.refit import Refit, Refitter, Trained, refit_combiner, without_reviews
from tagwright.server.review.review import Review, TrainingData
from tagwright.server.served_model import ServedModel
from tagwright.server.serving import saved_models
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document, Label, Run

BEE = "http://x.org/bee"

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
    refitter = Refitter(review, refit, folder or review.file.path.parent / "versions")

    async def main() -> None:
        await review.model.start()
        await use(refitter)
        await refitter.finish()
        await review.model.stop()

    asyncio.run(main())
    return refitter


def said(refitter: Refitter) -> str:
    return " ".join(refitter.outcome(refitter.last))


def better(tagger: Tagger, *_: object) -> Tagger:
    gain = {"low": 0.1, "high": 0.2}
    measured = {"nDCG@5": {"before": 0.25, "after": 0.5}, "gain": gain, "reviews": 1}
    return replace(tagger.restrict([BEE]), training={"before": tagger.training, "combined": measured})


async def once(refitter: Refitter) -> None:
    refitter.start()
    await refitter.finish()


def blindly(review: Review, label: str, count: int) -> None:
    """Documents about bees and orchards, of which a reviewer has given this label without seeing suggestions."""
    documents = [Document(f"b{place}", f"Honey bees and orchards {place}") for place in range(count)]
    review.documents.add(documents)
    for each in documents:
        event: dict[str, Any] = {"document": each.id, "reviewer": "Ann"}
        review.decisions.add_all([
            Decision(action="accept", label=label, **event), Decision(action="blind", **event),
            Decision(action="shown", label="o", rank=1, **event), Decision(action="done", **event),
        ])  # fmt: skip


def test_it_learns_from_what_was_decided_and_from_no_document_that_was_reviewed_blind(review: Review) -> None:
    seen: list[TrainingData] = []
    blindly(review, "http://x.org/tax", 1)

    def refit(tagger: Tagger, labelled: TrainingData) -> Tagger:
        seen.append(labelled)
        return better(tagger)

    refitter = run(review, refit, once)
    assert [document.id for document in seen[0].documents] == ["d1", "d2", "d3", "b0"]
    assert seen[0].labels == [["o"], [], [], []]
    assert seen[0].blind == [[], [], [], ["http://x.org/tax"]]
    began = r"Version 20..-..-..-02 of versions: trained on 1 documents, 20..-..-.. ..:.. UTC\. Too few"
    assert re.match(began, said(refitter))


@pytest.mark.parametrize("is_learned_from", [True, False])
def test_a_text_that_was_learned_from_or_counted_under_another_id_measures_nothing(
    review: Review, is_learned_from: bool
) -> None:
    blindly(review, BEE, 20 if is_learned_from else 19)
    copy = Document("copy", "", "honey bees\n and ORCHARDS 3")
    review.documents.add([copy])
    actions: list[Action] = ["accept", "done"] if is_learned_from else ["accept", "blind", "done"]
    review.decisions.add_all(
        Decision(document="copy", reviewer="Ann", action=action, label=BEE if action == "accept" else None)
        for action in actions
    )
    refitter = run(review, better, once)
    assert "Too few decisions to say whether it is better: 19 documents reviewed blind, of 20." in said(refitter)


def test_with_few_blind_documents_the_version_waits_and_the_page_says_that_they_are_too_few(review: Review) -> None:
    blindly(review, BEE, 19)
    before = review.model.tagger
    refitter = run(review, better, once)
    assert "Too few decisions to say whether it is better: 19 documents reviewed blind, of 20." in said(refitter)
    assert said(refitter).endswith("from +10.0 to +20.0 points (95% interval) by these figures.")
    assert review.model.tagger is before
    first, _ = model_names(refitter.folder)
    assert (review.model.number, in_use(refitter.folder).name) == (first, first)


def test_what_is_clearly_better_on_blind_documents_is_used_without_dropping_a_request(review: Review) -> None:
    """The tagger suggests Bees, which is right, after Orchards: nDCG@5 is 1 / log2(3) = 63.1, and then 100."""
    blindly(review, BEE, 20)
    asked, go = threading.Event(), threading.Event()

    def refit(tagger: Tagger, _: TrainingData) -> Tagger:
        asked.set()
        go.wait(600)
        return better(tagger)

    async def use(refitter: Refitter) -> None:
        assert refitter.start()
        await asyncio.to_thread(asked.wait, 600)
        assert not refitter.start()  # one at a time
        text = "Honey bees and orchards"
        requests = [asyncio.create_task(review.model.suggest([text], SuggestOptions(k=5))) for _ in range(20)]
        go.set()
        assert all(found for (found,) in await asyncio.gather(*requests))
        await refitter.finish()
        (found,) = await review.model.suggest([text], SuggestOptions(k=5))
        assert [each.id for each in found] == [BEE]

    refitter = run(review, refit, use)
    first, second = model_names(refitter.folder)
    assert review.model.version == f"bees {second}"
    figures = f"On 20 documents reviewed blind, nDCG@5 is 100.0, and 63.1 with version {first}: +36.9 points, "
    assert f"{figures}with a 95% interval from +36.9 to +36.9. A clear gain." in said(refitter)


@pytest.mark.parametrize(("label", "verdict"), [("http://x.org/tax", "No clear gain."), ("o", "Clearly worse.")])
def test_what_is_not_clearly_better_waits(review: Review, label: str, verdict: str) -> None:
    """Neither tagger suggests Tax law for these documents; the one that knows Bees only misses Orchards."""
    blindly(review, label, 20)
    before = review.model.tagger
    refitter = run(review, better, once)
    assert verdict in said(refitter)
    assert review.model.tagger is before
    first, _ = model_names(refitter.folder)
    assert in_use(refitter.folder).name == first


def test_the_outcome_is_kept_with_the_version_and_shown_by_the_next_server(review: Review) -> None:
    blindly(review, BEE, 20)
    said_before = said(run(review, better, once))
    again = Refitter(review, better, review.file.path.parent / "versions")
    assert said(again) == said_before
    assert again.last is not None
    assert again.last.blind["difference"] == {"value": pytest.approx(0.369, abs=1e-3),
                                              "low": pytest.approx(0.369, abs=1e-3),
                                              "high": pytest.approx(0.369, abs=1e-3)}  # fmt: skip
    first, _ = model_names(again.folder)
    assert Trained.of(again.folder / first) is None


def test_the_folder_that_is_served_stays_and_is_the_first_version(review: Review, tmp_path: Path) -> None:
    review.model.tagger.save(tmp_path / "bees")
    blindly(review, BEE, 20)
    files = {path: path.read_bytes() for path in (tmp_path / "bees").rglob("*") if path.is_file()}
    run(review, better, once)
    assert {path: path.read_bytes() for path in (tmp_path / "bees").rglob("*") if path.is_file()} == files
    versions = [tmp_path / "versions" / name for name in model_names(tmp_path / "versions")]
    assert [len(Tagger.load(each).vocabulary) for each in versions] == [3, 1]
    assert len(Tagger.load(tmp_path / "versions").vocabulary) == 1
    put_in_use(versions[0])
    assert len(Tagger.load(tmp_path / "versions").vocabulary) == 3


def test_every_training_begins_with_the_first_tagger(review: Review) -> None:
    bases: list[Tagger] = []
    blindly(review, BEE, 20)

    def refit(tagger: Tagger, *_: object) -> Tagger:
        bases.append(tagger)
        return better(tagger)

    async def use(refitter: Refitter) -> None:
        await once(refitter)
        review.decisions.add_all([Decision(document="d3", reviewer="Ann", action="accept", label="o", rank=1)])
        await once(refitter)

    run(review, refit, use)
    assert bases[0] is bases[1]


@pytest.mark.parametrize("better_blind", [False, True])
def test_a_training_without_news_makes_no_version_and_says_so_also_after_a_restart(
    tmp_path: Path, better_blind: bool
) -> None:
    tagger, lesson_ = lesson()
    first = Review(ServedModel("bees", tagger, "Bees"), ReviewFile(tmp_path / "reviews.sqlite"))
    first.documents.add(lesson_.documents)
    for document, (label,) in zip(lesson_.documents, lesson_.labels, strict=True):
        event: dict[str, Any] = {"document": document.id, "reviewer": "Ann"}
        first.decisions.add_all([Decision(action="accept", label=label, **event), Decision(action="done", **event)])
    if better_blind:
        documents = [replace(each, id=f"b{each.id}", title=f"A {each.title}") for each in lesson_.documents]
        first.documents.add(documents)
        for document, (label,) in zip(documents, lesson_.labels, strict=True):
            event = {"document": document.id, "reviewer": "Ann"}
            first.decisions.add_all([
                Decision(action="accept", label=label, **event), Decision(action="blind", **event),
                Decision(action="done", **event),
            ])  # fmt: skip

    async def twice(refitter: Refitter) -> None:
        await once(refitter)
        assert "trained on 20 documents" in said(refitter)
        await once(refitter)

    refitter = run(first, refit_combiner, twice)
    names = model_names(refitter.folder)
    same = f"Nothing is new: version {names[1]} has learned from the same decisions."
    assert said(refitter) == same
    used = names[better_blind]
    assert (len(names), first.model.number, in_use(refitter.folder).name) == (2, used, used)
    (served,) = saved_models([str(refitter.folder)])
    again = Review(served, first.file)
    assert said(run(again, refit_combiner, once, refitter.folder)) == same
    again.decisions.add_all([Decision(document="0", reviewer="Ben", action="reject", label="r0")])
    told = said(run(again, refit_combiner, once, refitter.folder))
    assert f"Version {model_names(refitter.folder)[2]}" in told
    texts = Tagger.load(refitter.folder / names[1]).training["texts"]
    assert sorted(texts) == sorted(text_digests(lesson_.documents))  # those learned from, not the blind ones


def test_a_version_that_is_put_in_use_during_a_training_stays_in_use(tmp_path: Path) -> None:
    folder = tmp_path / "bees"
    word_tagger().save(folder / "1")
    word_tagger().restrict([BEE, "o"]).save(folder / "2")
    put_in_use(folder / "1")
    review = reviewed(tmp_path)
    blindly(review, BEE, 20)
    (review.model,) = saved_models([str(folder)])

    def late(tagger: Tagger, *_: object) -> Tagger:
        put_in_use(folder / "2")
        return better(tagger)

    refitter = run(review, late, once, folder)
    assert "A clear gain." in said(refitter)
    assert (len(model_names(folder)), in_use(folder).name, review.model.number) == (3, "2", "1")


def test_where_it_cannot_be_saved_that_is_said_and_nothing_changes(review: Review, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.write_text("mine")
    before = review.model.tagger
    refitter = run(review, better, once, folder)
    assert re.match(r"The tagger was not trained: .*other/.*: cannot be written", said(refitter))
    assert folder.read_text() == "mine"
    assert review.model.tagger is before


def test_what_clients_send_is_trained_on_when_it_is_enough(review: Review) -> None:
    async def use(refitter: Refitter) -> None:
        assert not await refitter.start_if_due()  # 2 documents are reviewed
        clients = (Decision(document=f"c{place}", reviewer="Koha", action="done") for place in range(48))
        review.decisions.add_all(clients)
        assert await refitter.start_if_due()
        await refitter.finish()
        assert not await refitter.start_if_due()  # none of these has a label, but none is new

    run(review, better, use)


def test_what_was_learned_on_top_of_a_learned_combiner_is_explained_by_stages() -> None:
    base, (_, labelled) = every_kind()[0], lesson()
    learned = find_last(base.steps, LearnedCombiner)
    assert learned
    pool = base.candidates(labelled.documents[:1])
    run, before = base.rank(pool), base.contributions(pool)
    found, scores = learned.explain(pool, run, before), learned.apply(pool, run)
    assert {"exact_match", "tfidf"} <= set(found.names)
    constant = scores.scores_of(found.candidates) - found.added.sum(axis=1)
    assert np.ptp(constant) == pytest.approx(0, abs=1e-4)


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


@cache
def lesson() -> tuple[Tagger, TrainingData]:
    """Exact matches are always wrong here and the label with one more word is right, which nobody knows beforehand."""
    nouns = [f"{first}{second}ane" for first in ("b", "d", "f", "g", "k") for second in ("el", "or", "um", "ip")]
    wrong = [Label(f"w{place}", (noun,)) for place, noun in enumerate(nouns)]
    right = [Label(f"r{place}", (f"{noun} zebra",)) for place, noun in enumerate(nouns)]
    tagger = word_tagger().with_labels([*wrong, *right])
    documents = [Document(str(place), noun, f"The {noun}.") for place, noun in enumerate(nouns)]
    return tagger, TrainingData(
        documents, [[label.id] for label in right], [set()] * len(documents), [[]] * len(documents)
    )


def test_the_combiner_learns_which_stage_is_right_and_what_to_expect_on_new_documents() -> None:
    tagger, labelled = lesson()
    found = refit_combiner(tagger, labelled).training["combined"]
    gained = found["nDCG@5"]["after"] - found["nDCG@5"]["before"]  # by every document the same
    assert gained > 0
    assert [found["gain"][name] for name in ("value", "low", "high")] == pytest.approx([gained] * 3, abs=1e-4)
    with pytest.raises(ConfigError, match="2 documents with labels"):
        refit_combiner(tagger, TrainingData(labelled.documents[:2], [["r0"], []], [set(), set()], [[], []]))


def test_the_page_says_what_to_expect_on_new_documents() -> None:
    blind: dict[str, Any] = {"reviews": 20, "documents": 0}
    measured = {"before": 0.5, "after": 0.6}
    trained = Trained("2", "2026-11-27 10:00 UTC", measured, {"low": -0.012, "high": 0.3}, blind, "", {})
    said = "On new documents like these, the decisions bring from -1.2 to +30.0 points (95% interval) by these figures."
    assert str(trained.sentences("versions")[-1]) == said


@cache
def every_kind() -> list[Tagger]:
    """Taggers of every combiner: of `train auto`, of one trained stage, and with labels appended as in FuTex."""
    untrained, labelled = lesson()
    documents = [replace(each, labels=tuple(ids)) for each, ids in zip(*labelled[:2], strict=True)]
    gold = untrained.vocabulary.gold(documents)
    learned = replace(refit_combiner(untrained, labelled), training={"auto": {}})  # as `train auto` combines
    assert find_last(learned.steps, LearnedCombiner)
    steps = (WeightedSum(weights={"tfidf": 1.0}), AppendLabels(by="exact_match"))
    appended = replace(untrained, steps=steps)
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
