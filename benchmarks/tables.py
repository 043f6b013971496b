"""Tables of documentation, made of the files in results/: `python -m benchmarks tables` writes them where they stand.

A table stands between `<!-- table NAME -->` and `<!-- end -->`, in README.md and in any page of docs. What is around it
is written by hand. A test fails where a table is not what the results give.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from benchmarks import corpora, figures, peer_tables, quality_tables, scale_tables, server_tables, speed_tables

ROOT = Path(__file__).parents[1]

TABLES: Mapping[str, Callable[[], Iterable[str]]] = {
    **quality_tables.TABLES,
    **speed_tables.TABLES,
    **peer_tables.TABLES,
    **scale_tables.TABLES,
    **server_tables.TABLES,
    **corpora.TABLES,
    **figures.TABLES,
}
"Name -> the lines of a table."

_TABLE = re.compile(r"(<!-- table (?P<name>[^\n]+?) -->)\n.*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> None:
    argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__).parse_args(arguments)
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")


def pages() -> list[Path]:
    """The files that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The text with all its tables as the results give them. Raises KeyError for a name that is not in TABLES."""
    return _TABLE.sub(lambda found: "\n".join([found[1], *TABLES[found["name"]](), "", found[3]]), text)


def named(text: str) -> list[str]:
    """The names of the tables in a text, in order."""
    return [found["name"] for found in _TABLE.finditer(text)]
