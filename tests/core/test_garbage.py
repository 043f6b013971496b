"""The search for unused cycles is paused, and goes on as before."""

import gc

import pytest

from tagwright.core.garbage import pause_collection, seldom_collected


def test_the_search_is_paused_inside_and_goes_on_after_an_error() -> None:
    inside = list[bool]()
    with pytest.raises(ValueError, match="stop"), pause_collection():
        inside.append(gc.isenabled())
        raise ValueError("stop")
    assert inside == [False]
    assert gc.isenabled()


def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with pause_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_search_is_seldom_inside_and_as_often_as_before_after_an_error() -> None:
    before, inside = gc.get_threshold(), list[int]()
    with pytest.raises(ValueError, match="stop"), seldom_collected():
        inside.append(gc.get_threshold()[0])
        raise ValueError("stop")
    assert inside == [100_000]
    assert gc.get_threshold() == before
