"""A review file for tests of what learns from decisions."""

from contextlib import closing
from pathlib import Path

from tagwright.review.decisions import Decisions
from tagwright.review.events import Decision, Verdict
from tagwright.review.file import ReviewFile


def reviewed(file: Path, *verdicts: tuple[str, str, str, Verdict]) -> Path:
    """Write (document, label, reviewer, action) into a new file."""
    with closing(ReviewFile(file)) as opened:
        Decisions(opened).add_all(
            [Decision(document=d, label=label, reviewer=who, action=what, rank=1) for d, label, who, what in verdicts]
        )
    return file
