"""`python -m tests.readers.strange_files` measures how time grows with a file; here each file is read once, small."""

from __future__ import annotations

import pytest
from tests.readers.strange_files import SHAPES, once


@pytest.mark.parametrize(("suffix", "name"), [(suffix, name) for suffix, shapes in SHAPES.items() for name in shapes])
def test_a_file_as_a_stranger_makes_it_is_read_or_refused(suffix: str, name: str) -> None:
    for pieces in (1, 3, 300):
        size, _ = once(suffix, SHAPES[suffix][name], pieces)
        assert size
