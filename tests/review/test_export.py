from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.readers.reading import read
from typer.testing import CliRunner

from tagwright import train
from tagwright.app.cli import app
from tagwright.data.corpus import Corpus, was_reviewed_blind
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError, InputError
from tagwright.readers.documents.records import check_document
from tagwright.readers.lines import Place
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Action, Decision
from tagwright.review.export import DOWNLOADS, export_lines, write_export
from tagwright.review.file import ReviewFile, StorageError
from tagwright.types import Document, Label, Section

DOCUMENTS = [
    Document("d1", "Bees, wasps", 'They "fly".\nFar.', (Section("Wings", 1, ("Four.",)),)),
    Document("d2", "Taxes", "On income."),
    Document("d3", "Untouched"),
]
EVENTS: list[tuple[str, str, Action, str | None]] = [
    ("d1", "Ann", "accept", "http://x.org/bee"),
    ("d1", "Ann", "accept", "wasp"),
    ("d1", "Ann", "reject", "tax"),
    ("d1", "Ben", "accept", "http://x.org/bee"),
    ("d1", "Ben", "accept", "tax"),
    ("d2", "Ann", "accept", "tax"),
    ("d2", "Ann", "undo", None),
    ("d2", "Ann", "done", None),
    ("elsewhere", "client", "accept", "tax"),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = ReviewFile(tmp_path / "reviews.sqlite")
    ReviewedDocuments(file).add(DOCUMENTS)
    Decisions(file).add_all(
        Decision(document=document, reviewer=reviewer, action=action, label=label, rank=1 if label else None)
        for document, reviewer, action, label in EVENTS
    )
    file.close()
    return file.path


@pytest.fixture
def half_blind(tmp_path: Path) -> ReviewFile:
    """Of two documents one was reviewed blind: Bees was given, then Orchards was accepted from the suggestions."""
    file = ReviewFile(tmp_path / "half.sqlite")
    ReviewedDocuments(file).add([Document("d1", "Bees\tfly"), Document("d2", "=1+1")])
    event: dict[str, Any] = {"document": "d1", "reviewer": "Ann"}
    Decisions(file).add_all([
        Decision(action="accept", label="bee", **event), Decision(action="blind", **event),
        Decision(action="shown", label="orchard", rank=1, **event),
        Decision(action="accept", label="orchard", rank=1, **event), Decision(action="done", **event),
        Decision(document="d2", reviewer="Ann", action="accept", label="tax", rank=1),
    ])  # fmt: skip
    return file


def test_what_was_reviewed_blind_is_exported_with_the_labels_that_nobody_suggested(
    half_blind: ReviewFile, tmp_path: Path
) -> None:
    (line,) = export_lines(half_blind, "blind")
    assert {key: value for key, value in json.loads(line).items() if value} == {
        "id": "d1", "title": "Bees\tfly", "labels": ["bee"], "metadata": {"reviewed": ["blind"]},
    }  # fmt: skip


def test_a_text_under_two_ids_is_one_document_to_measure_on(half_blind: ReviewFile) -> None:
    ReviewedDocuments(half_blind).add([Document("copy", "bees  FLY"), Document("other", "Owls")])
    for document, expected in (("copy", 1), ("other", 2)):
        event: dict[str, Any] = {"document": document, "reviewer": "Ann"}
        Decisions(half_blind).add_all([
            Decision(action="accept", label="bee", **event), Decision(action="blind", **event),
            Decision(action="done", **event),
        ])  # fmt: skip
        assert Decisions(half_blind).statistics().blind == expected


def test_formats_to_train_on_leave_out_what_was_reviewed_blind_and_say_so(half_blind: ReviewFile) -> None:
    half_blind.close()
    for wanted in ("jsonl", "tsv", "annif"):
        result = CliRunner().invoke(app, ["reviews", str(half_blind.path), "--export", "--format", wanted])
        (line,) = result.stdout.splitlines()
        assert "tax" in line
        assert "left out: 1 document reviewed blind, to measure on; --format blind has them" in result.stderr
    for wanted in ("csv", "uris", "decisions"):
        result = CliRunner().invoke(app, ["reviews", str(half_blind.path), "--export", "--format", wanted])
        assert "d1" in result.stdout
        assert "left out" not in result.stderr


def test_every_format_of_the_page_has_each_reviewed_document(half_blind: ReviewFile, tmp_path: Path) -> None:
    labels = Vocabulary([Label("bee", ("Bees",)), Label("orchard", ("Orchards",)), Label("tax", ("Taxes",))])
    for wanted, (_, name, _) in DOWNLOADS.items():
        write_export(half_blind, wanted, labels, tmp_path / name)
        if wanted in ("csv", "xlsx", "tsv", "annif", "jsonl"):
            read_back = [each.labels for each in Corpus.read(tmp_path / name)]
            blind = [("bee", "orchard")] if wanted in ("csv", "xlsx") else []  # which nothing may learn from
            assert read_back == [*blind, ("tax",)], wanted
    assert (tmp_path / "reviewed-uris.tsv").read_text() == "d1\tbee\nd1\torchard\nd2\ttax\n"
    assert (tmp_path / "reviewed.csv").read_text().splitlines()[1:] == [
        "d1,Bees\tfly,,bee|orchard,Bees|Orchards,blind", "d2,'=1+1,,tax,Taxes,",
    ]  # fmt: skip
    assert json.loads((tmp_path / "reviewed-annif.jsonl").read_text()) == {
        "document_id": "d2", "text": "=1+1", "subjects": [{"uri": "tax", "label": "Taxes"}],
    }  # fmt: skip


def test_training_on_an_export_with_documents_reviewed_blind_is_warned_of(
    half_blind: ReviewFile, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for wanted, expected in (("csv", [True, False]), ("xlsx", [True, False]), ("blind", [True])):
        _, name, _ = DOWNLOADS[wanted]
        write_export(half_blind, wanted, None, tmp_path / name)
        documents = Corpus.read(tmp_path / name)
        assert [was_reviewed_blind(each) for each in documents] == expected
    more = [replace(each, id=f"{each.id} again") for each in documents]
    others = [Document(f"r{row}", "Rain falls", labels=("tax",)) for row in range(4)]
    train("svm", [*documents, *more, *others], ["bee", "orchard", "tax"], language="en", check=False)
    assert [each for each in caplog.messages if "to learn from were reviewed blind" in each]


def printed(path: Path, *options: str) -> str:
    result = CliRunner().invoke(app, ["reviews", str(path), *options])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_labelled_documents_come_back_as_the_readers_read_them(path: Path, tmp_path: Path) -> None:
    for name in ("jsonl", "csv"):
        (tmp_path / f"out.{name}").write_text(printed(path, "--export", "--format", name), encoding="utf-8")
        corpus = Corpus.read(str(tmp_path / f"out.{name}"))
        labels = {document.id: document.labels for document in corpus}
        assert labels == {"d1": ("http://x.org/bee", "wasp"), "d2": ()}
        assert corpus[0].title == "Bees, wasps"
        assert 'They "fly".\nFar.' in corpus[0].text
        if name == "jsonl":
            assert corpus[0].sections == DOCUMENTS[0].sections


def test_a_format_without_an_export_is_refused_with_what_to_write(path: Path) -> None:
    result = CliRunner().invoke(app, ["reviews", str(path), "--format", "csv"])
    assert isinstance(result.exception, ConfigError)
    assert f"add --export: reviews {path} --export --format csv" in str(result.exception)


TRICKY = st.text(st.sampled_from("aZ9|;<>=+-@'\",[]\\\t\r\n \u0301"), max_size=6)
NOT_BLANK = TRICKY.filter(str.strip)


@settings(deadline=None, max_examples=100)
@given(
    id_=NOT_BLANK,
    title=TRICKY,
    abstract=TRICKY,
    labels=st.lists(NOT_BLANK, max_size=3, unique_by=str.strip),
)
def test_csv_is_read_back_exactly(
    id_: str, title: str, abstract: str, labels: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = list(export_lines(decided(id_, title, abstract, labels), "csv"))
    path = tmp_path_factory.mktemp("export") / "out.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    assert read(path) == [check_document(Document(id_, title, abstract, labels=tuple(labels)), Place(path))]


def decided(id_: str, title: str, abstract: str, labels: list[str]) -> ReviewFile:
    file = ReviewFile(":memory:")
    ReviewedDocuments(file).add([Document(id_, title, abstract)])
    accepted = [Decision(document=id_, reviewer="Ann", action="accept", label=label) for label in labels]
    Decisions(file).add_all([*accepted, Decision(document=id_, reviewer="Ann", action="done")])
    return file


def test_csv_has_a_row_a_document_with_names_beside_ids_in_the_columns_that_were_read(path: Path) -> None:
    labels = path.parent / "labels.csv"
    call = ("--export", "--format", "csv")
    labels.write_text("id,name\nhttp://x.org/bee,Bees\ntax,Tax law\nwasp,wasp\n", encoding="utf-8")
    header, *rows = csv.reader(io.StringIO(printed(path, *call, "--labels", str(labels))))
    assert header == ["id", "title", "text", "labels", "label_names", "reviewed"]
    assert [(row[0], *row[3:5]) for row in rows] == [("d1", "http://x.org/bee|wasp", "Bees|wasp"), ("d2", "", "")]
    columns = "id=biblionumber,title=245$a,labels=uri,label_names=650$a"
    out = printed(path, *call, "--labels", str(labels), "--columns", columns)
    (copy := path.parent / "koha.csv").write_text(out, encoding="utf-8")
    assert out.splitlines()[0] == "biblionumber,245$a,text,uri,650$a,reviewed"
    assert [(each.id, each.labels) for each in read(copy)] == [("d1", ("Bees", "wasp")), ("d2", ())]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--format", "csv", "--columns", "venue=x"), 'the table of a review has no column "venue"; it has id, title'),
        (
            ("--columns", "id=x"),
            r"names \(--labels, --model\) are those of an export as csv, .* headers \(--columns\) as csv",
        ),
    ],
)
def test_columns_that_an_export_lacks(path: Path, options: tuple[str, ...], problem: str) -> None:
    result = CliRunner().invoke(app, ["reviews", str(path), "--export", *options])
    assert isinstance(result.exception, ConfigError)
    assert re.match(problem, str(result.exception))


@pytest.mark.parametrize("begins", ["=", "+", "-", "@", "\t=", "\n=", "\r=", "'=", "＝", "＋", "－", "＠"])
def test_no_cell_of_a_csv_is_a_formula(begins: str) -> None:
    cell = f"{begins}1+1"
    _, row = export_lines(decided(cell.strip(), cell, cell, [cell]), "csv")
    *cells, reviewed = next(csv.reader([row]))
    assert reviewed == ""
    for each in cells:
        assert each.startswith(("'", "["))  # a label with line ends is a list in JSON
    for output in ("uris", "tsv"):
        (line,) = export_lines(decided(cell.strip(), cell, cell, [cell.strip()]), output)
        assert all(each.startswith(("'", "<")) for each in line.split("\t"))


def test_ids_that_annif_cannot_read_are_refused() -> None:
    for label in ("honey bees", "a>b", "<a"):
        with pytest.raises(InputError, match="which Annif's TSV cannot hold; export jsonl or csv"):
            list(export_lines(decided("d", "Bees", "", [label]), "tsv"))


def test_statistics_by_hand(path: Path) -> None:
    statistics = json.loads(printed(path, "--json"))
    # Ann and Ben both judged bee (same) and tax (different): observed 1/2, expected 1/2 * 1 = 1/2.
    assert statistics["kappa"] == [
        {"reviewers": ["Ann", "Ben"], "kappa": 0.0},
        {"reviewers": ["Ann", "client"], "kappa": None},
        {"reviewers": ["Ben", "client"], "kappa": None},
    ]
    counts = [statistics[name] for name in ("all_documents", "documents", "done", "verdicts")]
    assert counts == [3, 2, 1, 6]
    assert statistics["differences"] == 1
    assert statistics["accepted_share"] == pytest.approx(5 / 6)
    text = printed(path)
    assert "3, 2 with verdicts, 1 finished" in text
    assert "83% of the suggestions with a verdict were accepted" in text
    assert "Cohen's kappa of Ann and Ben 0.00" in text


def test_the_estimated_recall_is_shown(path: Path) -> None:
    assert json.loads(printed(path, "--json"))["recall"] is None
    file = ReviewFile(path)
    for label, drawn_from in (("http://x.org/bee", None), ("tax", 4)):
        event = Decision(document="d2", reviewer="Ann", action="shown", label=label, rank=1, drawn_from=drawn_from)
        Decisions(file).add_all([event])
    Decisions(file).add_all(
        [Decision(document="d2", reviewer="Ann", action="accept", label="http://x.org/bee", rank=1)]
    )
    file.close()
    recall = json.loads(printed(path, "--json"))["recall"]
    assert (recall["value"], recall["high"], recall["drawn"]) == (1.0, 1.0, 1)
    _, _, _, right, estimated, alpha, kappa, *_ = printed(path).splitlines()
    assert right == "right labels    of the 1 right labels so far, 100% were suggested; 0 were added by hand"
    assert estimated.strip().startswith("of those among the first 100 candidates, 100% are suggested, between")
    assert ("Krippendorff" in alpha, "Cohen's kappa" in kappa) == (True, True)  # the figures of agreement are together


def test_reading_changes_nothing_and_goes_on_when_a_server_opens_it(path: Path) -> None:
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    assert '"d1"' in printed(path, "--export")
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before
    with closing(ReviewFile.open_existing(path)) as reading, closing(ReviewFile(path)) as served:
        Decisions(served).add_all([Decision(document="d3", reviewer="Zoe", action="accept", label="late")])
        assert Decisions(reading).labels()["d3"] == ["late"]


def test_a_plain_copy_of_a_served_file_is_whole(path: Path, tmp_path: Path) -> None:
    """Also while another process has it open, and of the file alone, without its journal."""
    with closing(ReviewFile(path)) as served, closing(ReviewFile(path)) as other:
        for number, file in enumerate((served, other, served)):
            Decisions(file).add_all([Decision(document=f"n{number}", reviewer="Zoe", action="accept", label="late")])
            shutil.copy(path, tmp_path / "copy")
            with closing(ReviewFile.open_existing(tmp_path / "copy")) as copied:
                assert [each.label for each in Decisions(copied).current(f"n{number}") if each.label] == ["late"]


def test_a_backup_holds_all_and_replaces_no_review(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    with closing(ReviewFile(path)) as served:
        Decisions(served).add_all([Decision(document="d2", reviewer="Zoe", action="accept", label="late")])
        secret = served.secret()
        printed(path, "--backup", str(copy))
    assert [each.name for each in tmp_path.glob("copy*")] == ["copy.sqlite"]
    assert printed(copy, "--export") == printed(path, "--export")
    with closing(ReviewFile(copy)) as file:
        assert file.secret() == secret
    again = CliRunner().invoke(app, ["reviews", str(path), "--backup", str(copy)])
    assert "is a database, such as a file of reviews" in str(again.exception)


def test_a_backup_replaces_no_file_of_the_user(path: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Mine\n")
    result = CliRunner().invoke(app, ["reviews", str(path), "--backup", str(notes)])
    assert "notes.txt: is a file of another kind, not replaced" in str(result.exception)
    assert notes.read_text() == "Mine\n"


def remove(path: Path, _copy: Path) -> None:
    path.unlink()


def move(path: Path, copy: Path) -> None:
    copy.replace(path)


def remove_log(path: Path, _copy: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


@pytest.mark.parametrize("displace", [remove, move, remove_log])
def test_nothing_is_written_to_a_file_that_is_not_in_its_place_any_more(
    path: Path, tmp_path: Path, displace: Callable[[Path, Path], None]
) -> None:
    """A decision that only a deleted file holds is lost, and one in pages of another file harms that."""
    decision = Decision(document="d2", reviewer="Zoe", action="accept", label="late")
    with closing(ReviewFile(path)) as served:
        served.copy_to(tmp_path / "copy.sqlite")
        Decisions(served).add_all([decision])
        displace(path, tmp_path / "copy.sqlite")
        before = path.read_bytes() if path.exists() else b""
        with pytest.raises(StorageError, match="was replaced or removed"):
            Decisions(served).add_all([decision])
        assert (path.read_bytes() if path.exists() else b"") == before


def test_annif_reads_text_and_uris(path: Path) -> None:
    first, second = printed(path, "--export", "--format", "tsv").splitlines()
    assert first == 'Bees, wasps They "fly". Far. Wings Four.\t<http://x.org/bee> <wasp>'
    assert second == "Taxes On income.\t"


def test_notes_are_exported_with_the_decisions(path: Path) -> None:
    file = ReviewFile(path)
    Decisions(file).add_all(
        Decision(document="d1", reviewer="Ann", action="note", note=note) for note in ("Draft", "A second edition")
    )
    file.close()
    lines = [json.loads(line) for line in printed(path, "--export", "--format", "decisions").splitlines()]
    notes = [(line["note"], line["document"], line["reviewer"]) for line in lines if "note" in line]
    assert notes == [("A second edition", "d1", "Ann")]  # the last one holds


@pytest.mark.parametrize(("tool", "answer"), [("label_studio", "predictions"), ("argilla", "suggestions")])
def test_accepted_labels_go_to_annotation_tools_by_name(tool: Any, answer: str, path: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("id,name\nhttp://x.org/bee,Bees\nwasp,Wasps\n")
    command = ["reviews", str(path), "--export", "--format", tool, "--labels", str(tmp_path / "labels.csv")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    first, *_ = json.loads(done.stdout)
    assert '"http://x.org/bee", "wasp"' in json.dumps(first[answer])
    if tool == "label_studio":
        assert [each["value"] for each in first["data"]["suggestions"]] == ["Bees", "Wasps"]
