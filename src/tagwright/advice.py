"""The contents of documents in, the recommended method with its reasons out. One table holds what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MANY_LABELLED = 2_000
"Labelled documents from which training on labels beat zero-shot: see `TABLE`."

MANY = 1_000
"The fewest documents on which methods that learn from texts or metadata were measured."

PAPER = 2_000
"The fewest words of a full paper, a document with sections."


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """How many documents there are, and how many have labels, are full papers, have references or keywords, and so on.

    A full paper has sections and `PAPER` words or more: on web pages with sections FuTex is far below zero-shot. MICoL
    was level or worse where only authors join the documents.
    """

    documents: int
    labels: int = 0
    papers: int = 0
    metadata: int = 0
    texts: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: with at least this many such documents, this command; and what was measured."""

    method: str
    command: str
    needs: str
    least: int
    measured: str

    def has(self, holdings: Holdings) -> int:
        """How many documents have what the method needs."""
        return int(getattr(holdings, self.needs))


@dataclass(frozen=True, slots=True)
class Advice:
    """One method: whether it is recommended, whether the data allow it, the command, the condition and the reasons."""

    method: str
    take: bool
    fits: bool
    command: str
    where: str
    why: str


TABLE = (
    Row(
        "svm",
        "train svm DOCS... --labels FILE --output DIR",
        "labels",
        MANY_LABELLED,
        "web pages, 6,421 labelled: nDCG@5 59.0, zero-shot 38.0; titles, 41,333: 46.2 and 37.0; with 50 and 300 "
        "labelled documents no trained method was better than zero-shot",
    ),
    Row(
        "futex",
        "train futex DOCS... --labels FILE --output DIR",
        "papers",
        MANY,
        "3,297 full papers with MeSH: P@1 78.7 and P@5 49.4, zero-shot 67.7 and 45.0",
    ),
    Row(
        "micol",
        "train micol DOCS... --labels FILE --output DIR",
        "metadata",
        MANY,
        "papers with references and keywords: P@1 68.9 and P@5 46.3, zero-shot 67.7 and 45.0; abstracts with authors "
        "only: P@1 41.2, zero-shot 43.7",
    ),
    Row(
        "rts",
        "train rts DOCS... --labels FILE --output DIR --fuse",
        "texts",
        MANY,
        "finds more among 100: R@100 84.3 on web pages and 64.3 on titles, zero-shot 82.1 and 63.4; the first five are "
        "as good",
    ),
    Row(
        "zero-shot",
        "suggest DOCS... --labels FILE",
        "documents",
        1,
        "nothing is trained; P@1 37.2 on web pages, 40.1 on titles, 67.7 on full papers, 43.7 on abstracts",
    ),
)
"Best first where the data allow it. Each figure is from the README, on documents that nothing was learnt from."

_HAVING = {
    "labels": "with labels",
    "papers": f"with sections and {PAPER:,} words or more",
    "metadata": "with references or keywords",
    "texts": "with a title and a text",
    "documents": "of any kind",
}


def advise(holdings: Holdings, table: Sequence[Row] = TABLE) -> list[Advice]:
    """Every method of the table; the first that the data allow is recommended.

    >>> [(each.method, each.where) for each in advise(Holdings(documents=300, labels=300)) if each.take]
    [('zero-shot', 'from 1 document of any kind (here 300)')]
    """
    fitting = [row.method for row in table if row.has(holdings) >= row.least]
    return [
        Advice(
            row.method,
            take=row.method in fitting[:1],
            fits=row.method in fitting,
            command=row.command,
            where=_where(row, holdings),
            why=row.measured,
        )
        for row in table
    ]


def _where(row: Row, holdings: Holdings) -> str:
    noun = "document" if row.least == 1 else "documents"
    return f"from {row.least:,} {noun} {_HAVING[row.needs]} (here {row.has(holdings):,})"
