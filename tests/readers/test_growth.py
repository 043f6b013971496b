"""`python -m tests.readers.strange_files` measures how time grows with a file; here each file is read once, small."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.strange_files import SHAPES, once

from tagwright.errors import InputError
from tagwright.readers.documents.files import READERS, guess_format

FLAVOURS = {"annif", "xc", "micol", "futex", "s2orc", "csl"}
"Kinds of JSON, which are read as `jsonl` or `json`."


@pytest.mark.parametrize(("suffix", "name"), [(suffix, name) for suffix, shapes in SHAPES.items() for name in shapes])
def test_a_file_as_a_stranger_makes_it_is_read_or_refused(suffix: str, name: str) -> None:
    for pieces in (1, 3, 300):
        size, _ = once(suffix, SHAPES[suffix][name], pieces)
        assert size


def test_each_format_has_such_files(tmp_path: Path) -> None:
    found = set()
    for suffix, shapes in SHAPES.items():
        for shape in shapes.values():
            if isinstance(content := shape(3), bytes):
                (tmp_path / f"x.{suffix}").write_bytes(content)
                try:
                    found.add(guess_format(tmp_path / f"x.{suffix}"))
                except InputError:
                    continue
    assert found >= READERS.keys() - FLAVOURS
