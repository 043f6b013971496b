from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from statistics import NormalDist

import numpy as np
import pytest

from tagwright.monitoring.monitor import (
    FALSE_ALARMS,
    FIRST,
    LEVEL,
    SIGNALS,
    STEP,
    STREAM,
    WINDOW,
    Monitor,
    Signal,
    most_changed,
    ranks_differ,
)
from tagwright.monitoring.record import Record

TURN = FIRST + WINDOW + 100


def records(count: int, seed: int = 0, *, language: str = "en") -> Iterator[Record]:
    """Documents with one of twenty labels."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        label, sure = f"label {rng.integers(20)}", round(float(rng.uniform(0.3, 0.9)), 4)
        yield Record("2026-01-01T00:00:00+00:00", "bees 0001", language, (label,), (sure,))


def alarms(found: Iterable[Record], languages: Mapping[str, int] | None = None) -> dict[Signal, int]:
    """Signal -> documents before its first alarm."""
    monitor = Monitor(languages)
    for record in found:
        monitor.add(record)
    return {name: next(look.at for look in looks if look.is_alarm) for name, looks in monitor.looks().items()
            if any(look.is_alarm for look in looks)}  # fmt: skip


def test_all_looks_and_signals_together_have_the_stated_probability() -> None:
    assert pytest.approx(FALSE_ALARMS) == LEVEL * len(SIGNALS) * STREAM / STEP


def test_documents_like_the_first_ones_raise_no_alarm() -> None:
    assert alarms(records(2000)) == {}


def test_a_label_on_every_document_raises_an_alarm_within_100_documents_and_is_named() -> None:
    flooded = (replace(each, labels=(*each.labels, "flood"), confidences=(0.6, 0.6)) for each in records(100, seed=1))
    monitor = Monitor()
    for record in [*records(TURN), *flooded]:
        monitor.add(record)
    last = monitor.looks()["label"][-1]
    assert last.is_alarm
    assert (last.category, last.had, last.has, last.value) == ("flood", 0.0, 0.5, 0.5)


def test_another_language_raises_an_alarm_and_is_named() -> None:
    monitor = Monitor()
    for record in [*records(TURN), *records(100, seed=1, language="fi")]:
        monitor.add(record)
    last = monitor.looks()["language"][-1]
    assert last.is_alarm
    assert (last.value, last.before) == (0.5, 1.0)
    assert (last.category, last.had, last.has) in {("fi", 0.0, 0.5), ("en", 1.0, 0.5)}  # equally improbable


def test_lower_confidences_raise_alarms() -> None:
    doubtful = (replace(each, confidences=(0.2,)) for each in records(200, seed=1))
    assert {"unsure", "confidence"} == alarms([*records(TURN), *doubtful]).keys()


def test_languages_are_compared_with_the_training_from_the_first_window_on() -> None:
    assert alarms(records(WINDOW, seed=1, language="fi"), {"en": 300}) == {"language": WINDOW}
    monitor = Monitor({"en": 300})
    for record in records(FIRST + WINDOW, seed=1):
        monitor.add(record)
    looks = monitor.looks()
    assert [looks[name][0].at for name in ("language", "label")] == [WINDOW, FIRST + WINDOW]


def test_rejected_suggestions_raise_an_alarm() -> None:
    accepted = [0.5, 0.75, 1.0, 0.8] * 50
    looks = Monitor().looks([*accepted, *[0.25] * 40])["accepted"]
    assert [look.is_alarm for look in looks if look.at <= 200] == [False, False, False]
    assert looks[-1].is_alarm
    assert looks[-1].at == 240
    last_accepted = [1.0, 0.8, *[0.5, 0.75, 1.0, 0.8] * 2]
    assert looks[-1].value == pytest.approx((sum(last_accepted) + 40 * 0.25) / 50)
    assert looks[-1].before == pytest.approx((0.5 + 0.75 + 1.0 + 0.8) / 4)


def test_only_the_last_documents_are_kept() -> None:
    monitor = Monitor()
    for _ in range(3):
        for record in records(STREAM // 2):
            monitor.add(record)
    at = [look.at for look in monitor.looks()["label"]]
    assert at == [*range(STREAM // 2 + STEP, 3 * STREAM // 2 + 1, STEP)]


def test_the_probability_of_a_share_is_that_of_all_ways_to_draw_the_documents() -> None:
    documents = "aaab" + "abbbb"  # 3 of the 4 last ones have "a", 1 of the 5 before
    drawn = [sum(documents[i] == "a" for i in rows) for rows in combinations(range(9), 4)]
    at_least, at_most = sum(n >= 3 for n in drawn) / len(drawn), sum(n <= 3 for n in drawn) / len(drawn)
    p, *change = most_changed({"a": 3}, 4, {"a": 1}, 5)
    assert p == pytest.approx(2 * min(at_least, at_most))
    assert change == ["a", 0.2, 0.75]
    assert most_changed({"a": 3}, 4, {"a": 1}, 5, rises=True)[0] == pytest.approx(at_least)


def test_the_probability_counts_every_category_that_could_have_changed() -> None:
    alone = most_changed({"a": 9}, 10, {"a": 1}, 10, rises=True)[0]
    others = {f"b{i}": 1 for i in range(30)}
    assert most_changed({"a": 9}, 10, {"a": 1, **others}, 10, rises=True)[0] == pytest.approx(31 * alone)


def test_the_probability_of_ranks_by_hand() -> None:
    """U is 4 of 4, its mean 2, its deviation the root of 2 x 2 x 5 / 12: z = (4 - 2 - 0.5) / 1.29099 = 1.16190."""
    assert ranks_differ([3, 4], [1, 2]) == pytest.approx(2 * (1 - NormalDist().cdf(1.16190)), abs=1e-5)
