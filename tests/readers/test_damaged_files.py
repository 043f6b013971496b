"""Whatever a file holds, it is read, or refused in one line that names it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.readers.reading import outcome, written
from tests.readers.samples import SAMPLES, Sample


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content with a few bytes changed, cut off at any place, or with a piece of it over and over."""
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    others = bytes(rng.choice((byte, byte, byte, rng.randrange(256))) for byte in content[start:end])
    return rng.choice(
        (content[:start] + others + content[end:], content[:end], content[:start] + 200 * content[start:end])
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_a_damaged_file_is_read_or_refused(tmp_path: Path, sample: Sample) -> None:
    rng, whole = random.Random(1), sample.file("Bees", "Wasps <b>& ants</b>")
    for _ in range(200 if sample.format == "arrow" else 12):  # pyarrow may crash on damage that it does not check
        found = outcome(written(tmp_path, damaged(whole, rng), sample.name))
        assert not isinstance(found, str) or (sample.name in found and "\n" not in found)
