"""The command `verify`: is every file of a saved tagger as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tagwright.core.terminal import escaped


def verify(model: Annotated[Path, typer.Argument(metavar="MODEL", help="A saved tagger.", show_default=False)]) -> None:
    """Check every byte of a saved tagger. Loading one checks 64 MB, and of larger files only their sizes."""
    from tagwright.tagger import Tagger

    tagger = Tagger.load(model, verify=True)
    print(escaped(f"{model}: whole, {len(tagger.vocabulary):,} labels"))
