"""The search for unused cycles is paused, and goes on as before."""

import gc

import pytest

from tagwright.core.garbage import uncollected


def test_the_search_is_paused_inside_and_goes_on_after_an_error() -> None:
    inside = list[bool]()
    with pytest.raises(ValueError, match="stop"), uncollected():
        inside.append(gc.isenabled())
        raise ValueError("stop")
    assert inside == [False]
    assert gc.isenabled()


def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
