"""Tables of documentation, made of the files in results/: `python -m benchmarks tables` writes them where they stand.

A table stands between `<!-- table NAME -->` and `<!-- end -->`, in README.md and in any page of docs. What is around it
is written by hand. A test fails where a table is not what the results give. With `--folder FOLDER` those that the files
in FOLDER/results allow are printed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks import corpora, figures, languages, peer_tables, quality_tables, speed_tables

ROOT = Path(__file__).parents[1]

HEAD = 2
"Lines of a table without rows."

_TABLE = re.compile(r"(<!-- table (?P<name>[^\n]+?) -->)\n.*?(<!-- end -->)", re.DOTALL)


def main(arguments: list[str]) -> None:
    argparse.ArgumentParser(prog="python -m benchmarks tables", description=__doc__).parse_args(arguments)
    if figures.OWN:
        for name, lines in measured():
            print(f"# {name}", "", *lines, "", sep="\n")
        return
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")


def makers() -> dict[str, Callable[[], Iterable[str]]]:
    """Name -> what makes the lines of a table."""
    return {
        **quality_tables.tables(),
        **speed_tables.TABLES,
        **peer_tables.tables(),
        **corpora.TABLES,
        **figures.TABLES,
        **languages.TABLES,
    }


def measured() -> Iterator[tuple[str, list[str]]]:
    """The tables that can be made of the results that are there; a part that one of them lacks is said."""
    for name, lines in makers().items():
        try:
            table = [*lines()] if name not in {*corpora.TABLES, *figures.TABLES} else []
        except FileNotFoundError:
            continue
        except KeyError as missing:
            print(f"{name}: {missing} has not been measured", file=sys.stderr)
            continue
        if len(table) > HEAD:
            yield name, table


def pages() -> list[Path]:
    """The files that may hold tables."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def filled(text: str) -> str:
    """The text with all its tables as the results give them. Raises KeyError for a name that has no maker."""
    made = makers()
    return _TABLE.sub(lambda found: "\n".join([found[1], *made[found["name"]](), "", found[3]]), text)


def named(text: str) -> list[str]:
    """The names of the tables in a text, in order."""
    return [found["name"] for found in _TABLE.finditer(text)]
