from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Route
from starlette.testclient import TestClient
from tests.unsure import without_confidences

from tagwright.data.vocabulary import Vocabulary
from tagwright.review.file import ReviewFile
from tagwright.server import annif, json_api, reconciliation
from tagwright.server.application import application
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger, zero_shot
from tagwright.types import Document, Label

LABELS = Vocabulary(
    [Label("http://x.org/bee", ("Bees", "Apis")), Label("http://x.org/tax", ("Tax law",)), Label("o", ("Orchards",))]
)


def word_tagger() -> Tagger:
    """A tagger by names and words; without confidences, so that what is shown follows from the scores."""
    made = zero_shot.fit(LABELS, zero_shot.Config(stages=("exact_match", "tfidf"), language="english"))
    return without_confidences(made)


async def learn_nothing(*_: object) -> None:
    """A server that calls it accepts labelled documents."""


Learnt: TypeAlias = list[tuple[str, Sequence[Mapping[str, Any]]]]


@pytest.fixture(scope="module")
def _learnt() -> Learnt:
    return []


@pytest.fixture
def learnt(_learnt: Learnt) -> Learnt:
    """What the test has sent to learn from."""
    _learnt.clear()
    return _learnt


@pytest.fixture(scope="module")
def client(_learnt: Learnt) -> Iterator[TestClient]:
    async def learn(model: ServedModel, documents: Sequence[Mapping[str, Any]], _: str) -> None:
        _learnt.append((model.id, documents))

    models = [
        ServedModel("bees-en", word_tagger(), "Bees and taxes"),
        ServedModel("fixed-en", word_tagger(), "Another"),
    ]
    with TestClient(application(models, learn=learn, max_body=4000), raise_server_exceptions=False) as client:
        yield client


def addresses(app: FastAPI) -> set[tuple[str, str]]:
    """Method and path of every route."""
    routers = (json_api.router, annif.router, reconciliation.router)
    routes = [*app.routes, *(route for router in routers for route in router.routes)]
    return {(method, route.path) for route in routes if isinstance(route, Route) for method in route.methods or ()} | {
        (method, route.path) for route in routes if isinstance(route, APIRoute) for method in route.methods or ()
    }


BEES = Document("d1", "Honey bees")


def reviewing(folder: Path, *documents: Document) -> Review:
    """A review of these documents, whose decisions are kept in the folder."""
    review = Review(ServedModel("bees", word_tagger(), "Bees"), ReviewFile(folder / "reviews.sqlite"))
    review.documents.add(documents)
    return review
