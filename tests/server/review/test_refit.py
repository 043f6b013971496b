from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.server.conftest import word_tagger

from tagwright.combining.acceptance import SuggestOptions
from tagwright.errors import ConfigError
from tagwright.review.current import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.review.refit import Refit, Refitter, refit_combiner
from tagwright.server.review.session import Labelled, Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.types import Document, Label


@pytest.fixture
def review(tmp_path: Path) -> Review:
    review = Review(ServedModel("bees", word_tagger(), "Bees"), ReviewFile(tmp_path / "reviews.sqlite"))
    review.documents.add([Document("d1", "Honey bees"), Document("d2", "Tax law"), Document("d3", "Unseen")])
    review.decisions.add_all([
        Decision(document="d1", reviewer="Ann", action="accept", label="o", rank=1),
        Decision(document="d2", reviewer="Ann", action="reject", label="o"),
        Decision(document="d2", reviewer="Ann", action="done"),
    ])  # fmt: skip
    return review


def run(review: Review, refit: Refit, use: Callable[[Refitter], Awaitable[None]]) -> Refitter:
    refitter = Refitter(review, refit)

    async def main() -> None:
        await review.model.queue.start()
        await use(refitter)
        await refitter.finish()
        await review.model.queue.stop()

    asyncio.run(main())
    return refitter


def test_it_learns_from_what_was_decided_and_swaps_without_dropping_a_request(review: Review) -> None:
    seen: list[tuple[list[str], list[list[str]]]] = []
    asked, go = threading.Event(), threading.Event()

    def refit(tagger: Tagger, labelled: Labelled) -> Tagger:
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
    assert refitter.outcome.startswith("Trained on 1 document at")
    assert refitter.outcome.endswith("nDCG@5, cross-validated: 25.0 before, 50.0 now.")


def test_every_training_begins_with_the_first_tagger(review: Review) -> None:
    bases: list[Tagger] = []

    def refit(tagger: Tagger, *_: object) -> Tagger:
        bases.append(tagger)
        return replace(tagger.restrict(["o"]), training={"combined": {"nDCG@5": {"before": 0.25, "after": 0.5}}})

    async def use(refitter: Refitter) -> None:
        for _ in range(2):
            refitter.start()
            await refitter.finish()

    run(review, refit, use)
    assert bases[0] is bases[1]


@pytest.mark.parametrize(
    ("error", "said"),
    [(ConfigError("too few documents"), "too few documents"), (ZeroDivisionError("x"), "internal error")],
)
def test_a_training_that_fails_leaves_the_model_and_says_so(review: Review, error: Exception, said: str) -> None:
    before = review.model.tagger

    def refit(*_: object) -> Tagger:
        raise error

    async def use(refitter: Refitter) -> None:
        assert refitter.start()

    refitter = run(review, refit, use)
    assert said in refitter.outcome
    assert "ZeroDivision" not in refitter.outcome
    assert review.model.tagger is before


def test_the_combiner_learns_which_stage_is_right() -> None:
    """Exact matches are always right here and words always wrong, which nobody knows beforehand."""
    nouns = [f"{first}{second}ane" for first in ("b", "d", "f", "g", "k") for second in ("el", "or", "um", "ip")]
    right = [Label(f"r{place}", (noun,)) for place, noun in enumerate(nouns)]
    wrong = [Label(f"w{place}", (f"{noun} zebra quartz", f"{noun} jazz")) for place, noun in enumerate(nouns)]
    tagger = word_tagger().with_labels([*wrong, *right])
    documents = [Document(str(place), noun, f"The {noun}.") for place, noun in enumerate(nouns)]
    found = refit_combiner(tagger, Labelled(documents, [[label.id] for label in right], [set()] * len(documents)))
    measured = found.training["combined"]["nDCG@5"]
    assert measured["after"] >= measured["before"]
    with pytest.raises(ConfigError, match="2 documents with labels"):
        refit_combiner(tagger, Labelled(documents[:2], [["r0"], []], [set(), set()]))
