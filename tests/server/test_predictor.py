"""Answers of other processes are those of this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import LABELS, word_tagger

from tagwright.errors import TagwrightError
from tagwright.server.application import application
from tagwright.server.predictor import SuggestRequest, Workers, predict
from tagwright.server.served_model import Predict, ServedModel
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Document

BEES = Document("d", "Honey bees visit orchards")
REQUESTS = [
    SuggestRequest(BEES, SuggestOptions(k=5)),
    SuggestRequest(BEES, SuggestOptions(k=1)),
    SuggestRequest(BEES, SuggestOptions(k=5), evidence=True),
    SuggestRequest(BEES, SuggestOptions(k=5, without=["o"])),
    SuggestRequest(BEES, SuggestOptions(k=5, only=["o"])),
    SuggestRequest(BEES, SuggestOptions(k=5), served=SuggestOptions(only=["o"])),
]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    found = Workers(2)
    yield found
    found.close()


def test_other_processes_give_the_same_answers(workers: Workers) -> None:
    expected = predict(word_tagger(), REQUESTS)
    both = {"http://x.org/bee", "o"}
    assert [{each.id for each in row} for row in expected[2:]] == [both, {"http://x.org/bee"}, {"o"}, {"o"}]
    assert [len(row) for row in expected] == [2, 1, 2, 1, 1, 1]
    answer = workers.use(word_tagger())
    for _ in range(3):
        assert answer(REQUESTS) == expected
    suggested = expected[0]
    assert answer([SuggestRequest(BEES, SuggestOptions(k=2), suggested=suggested)]) == [expected[2]]


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_process_that_is_killed_costs_no_request(workers: Workers) -> None:
    answer = workers.use(word_tagger())
    answer(REQUESTS)
    for worker in list(workers._pool._all):
        worker.kill()
    for _ in range(workers.count):
        assert len(answer(REQUESTS)) == len(REQUESTS)


@pytest.mark.skipif(os.name != "posix", reason="needs priorities")
def test_processes_for_what_takes_long_let_others_go_first() -> None:
    patient = Workers(1, patient=True)
    patient.use(word_tagger())(REQUESTS[:1])
    (worker,) = patient._pool._all
    assert os.getpriority(os.PRIO_PROCESS, worker._process.pid) == min(19, max(10, os.getpriority(os.PRIO_PROCESS, 0)))
    patient.close()


def test_a_request_that_fails_says_so_and_the_process_goes_on(workers: Workers) -> None:
    answer = workers.use(word_tagger())
    with pytest.raises(TagwrightError, match="does not estimate confidences"):
        answer([SuggestRequest(BEES, SuggestOptions(best_cut=True))])
    assert answer([SuggestRequest(BEES)])[0]


def test_a_copy_for_other_processes_goes_when_nothing_asks_it() -> None:
    found = Workers(1)
    answers: list[Predict] = []

    def labels(answer: Predict) -> set[str]:
        return {each.id for each in answer([SuggestRequest(BEES, SuggestOptions(k=5))])[0]}

    try:
        for ids in (["o"], ["http://x.org/bee"], ["o"], LABELS.ids):
            answers.append(found.use(word_tagger().restrict(ids)))
            assert labels(answers[-1]) == set(ids) - {"http://x.org/tax"}
        assert labels(answers[0]) == {"o"}  # a request that began before the swap
        copies = Path(found._folder.name)
        assert len(list(copies.iterdir())) == 4
        del answers[:-1]
        assert len(list(copies.iterdir())) == 1
    finally:
        found.close()


def test_a_server_whose_models_are_computed_elsewhere() -> None:
    model = ServedModel("bees", word_tagger(), "Bees")
    model.use_workers(Workers(2))
    with TestClient(application([model])) as client:
        project = "/v1/projects/bees"

        def labels() -> list[str]:
            found = client.post(f"{project}/suggest", data={"text": "Honey bees, orchards"}).json()["results"]
            return [each["label"] for each in found]

        assert set(labels()) == {"Bees", "Orchards"}
        documents = {"documents": [{"text": "bees"}, {"text": ""}, {"text": "orchards"}] * 10}
        batch = client.post(f"{project}/suggest-batch", json=documents).json()
        assert [len(each["results"]) for each in batch] == [1, 0, 1] * 10
        model.swap(word_tagger().restrict(["o"]), datetime.now(UTC))
        assert labels() == ["Orchards"]
