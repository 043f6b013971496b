"""Read one text a line, with its labels in the same line of a file beside: data sets of PECOS and of AttentionXML."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tagwright.errors import InputError, one_line_of
from tagwright.readers.documents.records import POSITION, Located
from tagwright.readers.limits import PLAIN, Reading
from tagwright.readers.lines import open_lines
from tagwright.text.words import clean
from tagwright.types import Document

PART = "(?:train|test|trn|tst|valid|val)[-_]"
"How names of AttentionXML's files begin, as a pattern."

_NAME = re.compile(rf"X\.(trn|tst|val)\.txt|({PART})(?:raw[-_])?texts\.txt")

_TITLE_ENDS = "/SEP/"
"Between title and text, where AttentionXML's data have both."

_log = logging.getLogger(__name__)

_REMEDY = "take both from the same data set"


def labels_beside(path: Path) -> Path | None:
    """The file where the labels of the texts of a file of this name are, there or not; None if the name tells none.

    >>> str(labels_beside(Path("X.trn.txt"))), str(labels_beside(Path("train_raw_texts.txt")))
    ('Y.trn.npz', 'train_labels.txt')
    """
    name, packed = path.name.removesuffix(".gz"), path.suffix * (path.suffix == ".gz")
    found = _NAME.fullmatch(name)
    return path.with_name(f"Y.{found[1]}.npz" if found[1] else f"{found[2]}labels.txt{packed}") if found else None


def read_lines(path: Path, reading: Reading = PLAIN) -> Iterator[Located]:
    """Documents without ids; labels are positions (`#17`) from a matrix, or ids between spaces from a text file.

    Without a matrix they have no labels, and a warning says so. Raises InputError with path and line: other numbers of
    lines, no text file of labels, no sparse matrix, a name that does not tell where labels are.
    """
    beside = labels_beside(path)
    if beside is None or not (beside.is_file() or beside.suffix == ".npz"):
        names = "X.trn.txt with Y.trn.npz, or train_texts.txt with train_labels.txt (trn, tst, val; train, test, valid)"
        raise InputError(f"holds a text in each line, but no file of labels is beside it; name both: {names}", path)
    if not beside.is_file():
        _log.warning("%s: its documents have no labels, as %s is not beside it", path, beside.name)
        yield from ((line, _document(text)) for line, text in open_lines(path, reading=reading))
        return
    rows = _matrix_rows(beside) if beside.suffix == ".npz" else _label_lines(beside, reading)
    line, row, labels = 0, 0, tuple[str, ...]()
    for line, text in open_lines(path, reading=reading):
        while row < line:
            row, labels = next(rows, (0, ()))
            if not row:
                problem = f"is text {line:,}, but {beside.name} has only {line - 1:,} rows; {_REMEDY}"
                raise InputError(problem, path, line)
        yield line, _document(text, labels)
    if next(rows, None):
        raise InputError(f"is the last text, but {beside.name} has more than {line:,} rows; {_REMEDY}", path, line)


def _document(text: str, labels: tuple[str, ...] = ()) -> Document:
    title, mark, rest = clean(text).partition(_TITLE_ENDS)
    return Document("", title.strip() if mark else "", (rest if mark else title).strip(), labels=labels)


def _label_lines(path: Path, reading: Reading) -> Iterator[tuple[int, tuple[str, ...]]]:
    return ((line, tuple(dict.fromkeys(clean(text).split()))) for line, text in open_lines(path, "take", reading))


def _matrix_rows(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The labels of each row of a sparse matrix of scipy (documents, labels), from 1; nothing pickled is read."""
    from scipy.sparse import csr_array, load_npz

    try:
        matrix = csr_array(load_npz(path))
        matrix.check_format()
    except Exception as error:  # of scipy, numpy and zipfile, for whatever the file holds
        problem = f"is no sparse matrix as scipy.sparse.save_npz writes it, or a damaged one ({one_line_of(error)})"
        raise InputError(problem, path) from None
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    for row, (start, end) in enumerate(pairwise(matrix.indptr), 1):
        yield row, tuple(f"{POSITION}{label}" for label in matrix.indices[start:end].tolist())
