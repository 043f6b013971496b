"""What is written is read again with the same ids, names and texts, or it is an error: never changed in silence."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.readers.reading import read, same_folder

import tagwright
from tagwright.core.display import for_programs
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, TagwrightError
from tagwright.readers.documents.jsonl import write_jsonl
from tagwright.readers.lines import table_lines, write_lines
from tagwright.readers.run_files import read_run, run_lines, run_records, write_run
from tagwright.readers.trec import read_qrels, write_qrels
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.export import export_lines
from tagwright.review.file import ReviewFile
from tagwright.text.words import clean
from tagwright.types import Document, Label, Run

TRICKY = ["a", "Z", "9", " ", "%", "20", "\t", "\r", "\n", "\r\n", "\0", "\x85", "\u2028", "\u202e", "\ud800", "\u0301"]
TRICKY += list("|;<>=+-@'\",[]\\/#")
TEXT = st.lists(st.sampled_from(TRICKY), min_size=1, max_size=6).map(lambda parts: clean("".join(parts)).strip())
IDS = st.lists(TEXT.filter(bool), min_size=2, max_size=2, unique=True)
LONG = "long " * 40_000 + "end"

Trip = Callable[[Sequence[str], Path], Sequence[str]]


def documents_as(wanted: str) -> Trip:
    def trip(ids: Sequence[str], path: Path) -> Sequence[str]:
        """The id of a document, and a label of it."""
        document, label = ids
        file = ReviewFile(":memory:")
        ReviewedDocuments(file).add([Document(document, "Bees")])
        Decisions(file).add_all([Decision(document=document, reviewer="Ann", action="accept", label=label)])
        write_lines(export_lines(file, wanted), path)  # type: ignore[arg-type]
        file.close()
        (found,) = read(path)
        return [document if wanted == "tsv" else found.id, *found.labels]

    return trip


def records(ids: Sequence[str], path: Path) -> Sequence[str]:
    write_jsonl([Document(ids[0], "Bees", labels=(ids[1],))], path)
    (found,) = read(path)
    return [found.id, *found.labels]


def corpus(ids: Sequence[str], path: Path) -> Sequence[str]:
    Corpus.of([Document(ids[0], "Bees", labels=(ids[1],))]).save(path)
    (found,) = Corpus.read(path)
    return [found.id, *found.labels]


def run(wanted: str) -> Trip:
    def trip(ids: Sequence[str], path: Path) -> Sequence[str]:
        """One suggestion for the second of two documents; the labels have the same ids."""
        labels = {id_: place for place, id_ in enumerate(ids)}
        suggested = Run.from_rows([[], [0]])
        write_run(suggested, ids, ids, path, wanted)  # type: ignore[arg-type]
        write_lines(map(for_programs, run_lines(run_records(suggested, ids, ids), wanted)), path.with_name("printed"))  # type: ignore[arg-type]
        assert read_run(path.with_name("printed"), ids, labels).indptr.tolist() == [0, 0, 1]
        found = read_run(path, ids, labels)
        return [ids[label] for label in found.labels] + [ids[row] for row in found.rows]

    return trip


def qrels(ids: Sequence[str], path: Path) -> Sequence[str]:
    write_qrels(Run.from_rows([[], [0]]), ids, ids, path)
    nothing, found = read_qrels(path, ids, set(ids))
    return [*found, ids[1]] if not nothing else []


def labels(ids: Sequence[str], path: Path) -> Sequence[str]:
    Vocabulary([Label(ids[0], (ids[1],)), Label("other", ("Other",), broader=(ids[0],))]).write(path)
    first, second = Vocabulary.read(path)
    assert second.broader == (first.id,)
    return [first.id, *first.names]


TRIPS: dict[str, Trip] = {
    "documents.jsonl": records,
    "saved.jsonl": corpus,
    "export.jsonl": documents_as("jsonl"),
    "export.csv": documents_as("csv"),
    "export.tsv": documents_as("tsv"),
    "run.jsonl": run("jsonl"),
    "run.trec": run("trec"),
    "gold.qrels": qrels,
    "labels.jsonl": labels,
    "labels.csv": labels,
    "labels.tsv": labels,
    "labels.ttl": labels,
}


REFUSING = {"export.tsv", "labels.tsv"}
"Formats that cannot hold all ids."

SAYING = {"labels.ttl"}
"SKOS needs URIs."


@pytest.mark.parametrize("name", TRIPS)
@settings(same_folder, max_examples=10)
@given(ids=IDS)
@example(ids=["a\r\nb", "b\r\na"])
@example(ids=["=1+1", "'=1+1"])
@example(ids=["a%20b", "a b"])
@example(ids=["a  b", "b\tc"])
@example(ids=["\ufffd", "{x"])
@example(ids=["# a", '"b"'])
@example(ids=["a", "a\n\u0301"])
@example(ids=[LONG, "x"])
def test_ids_and_names_come_back_as_they_were(
    name: str, ids: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    try:
        found = TRIPS[name](ids, tmp_path / name)
    except TagwrightError:
        assert name in REFUSING
    else:
        assert list(found) == ids or (name in SAYING and caplog.messages)


def test_tables_that_people_open_hold_no_formulas() -> None:
    """Each module that writes rows of cells escapes formulas, but for TSV of suggestions and for vocabularies, which
    programs read."""
    root, tables = Path(tagwright.__file__).parent, dict[str, bool]()
    writing = r"csv\.writer|DictWriter|to_csv|\btable_lines\(|\"\\t\"\.join|\}\\t\{"
    for path in root.rglob("*.py"):
        text = re.sub(r"^from .* import .*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        if re.search(writing, text):
            tables[path.relative_to(root).as_posix()] = "escape_formula" in text
    assert {
        "review/export.py",
        "readers/run_files.py",
        "server/start_pages.py",
        "evaluation/scores.py",
    } <= tables.keys()
    unescaped = {"app/suggestions.py", "readers/labels/files.py", "readers/lines.py"}  # the last for all others
    assert {name for name, escapes in tables.items() if not escapes} == unescaped


def test_tsv_keeps_what_it_can_hold_and_refuses_the_rest() -> None:
    rows = [["a  b", "=\u2028x"]]
    assert list(table_lines(rows, "tsv")) == ["a  b\t=\u2028x"]
    for cell in ("a\tb", "a\rb", "a\nb"):
        with pytest.raises(ConfigError, match="has a tab or a line end, which TSV cannot hold; JSON lines can"):
            list(table_lines([[cell]], "tsv"))
