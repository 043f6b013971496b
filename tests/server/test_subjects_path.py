"""The path of a librarian by machine: records with subjects, reviewed on the server with Enter alone, and written back.

Not one subject of others changes, none of ours is invented, and no column is lost.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pymarc
from starlette.testclient import TestClient
from tests.readers.documents.catalogue_records import Values, marc_record, utf8
from tests.server.review.test_page import csrf, enter

from tagwright.data.vocabulary import Vocabulary
from tagwright.review.export import export_lines
from tagwright.review.file import ReviewFile
from tagwright.server.application import application
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import zero_shot
from tagwright.types import Label

YSO = "http://www.yso.fi/onto/yso/"
TOPICS = [
    ("kirjastot", "Libraries"),
    ("hoitaminen", "Nursing"),
    ("mehiläiset", "Bees"),
    ("sota", "War"),
    ("vero", "Tax"),
]
LABELS = Vocabulary(
    Label(f"{YSO}p{number}", (finnish,), languages=(("fi", finnish), ("en", english)))
    for number, (finnish, english) in enumerate(TOPICS, 100)
)
RECORDS = 30


@contextmanager
def reviewed_with_enter(folder: Path, name: str, content: bytes) -> Iterator[tuple[Review, TestClient]]:
    """A review of an uploaded file in which somebody has finished every document without a verdict."""
    made = zero_shot.fit(LABELS, zero_shot.Config(stages=("exact_match",), language="fi"))
    with closing(ReviewFile(folder / "reviews.sqlite")) as file:
        review = Review(ServedModel("yso", made, "YSO"), file)
        with TestClient(application([review.model], pages=ReviewPages(review))) as client:
            enter(client)
            form = {"csrf": csrf(client)}
            answer = client.post("/review/upload", data=form, files={"files": (name, content)})
            assert f"Documents added: {RECORDS}" in answer.text
            for number in range(1, RECORDS + 1):
                client.get(f"/review/documents/{number}")
                client.post(f"/review/documents/{number}", data={**form, "action": "done"})
            assert review.progress() == {"done": RECORDS, "documents": RECORDS}
            yield review, client


def written(client: TestClient, name: str, content: bytes) -> bytes:
    """The file with the accepted subjects."""
    form = {"csrf": csrf(client), "agency": "FI-NL"}
    answer = client.post("/review/enrich", data=form, files={"records": (name, content)})
    assert answer.headers["content-disposition"] == f'attachment; filename="enriched{Path(name).suffix}"'
    return answer.content


def labels_of(review: Review) -> list[tuple[str, ...]]:
    """The labels of each document in the export to train on, as numbers."""
    lines = map(json.loads, export_lines(review.file, "jsonl", LABELS))
    return [tuple(label.removeprefix(f"{YSO}p") for label in line["labels"]) for line in lines]


def subjects(number: int) -> Sequence[tuple[str, Values]]:
    """The subjects of a record: of other vocabularies, without a vocabulary, and of YSO in every third."""
    finnish, english = TOPICS[number % len(TOPICS)]
    own = (
        [("650", (" 7", f"a{finnish}", "2yso/fin", f"0{YSO}p{100 + number % len(TOPICS)}"))] if number % 3 == 0 else []
    )
    return [
        ("650", (" 0", f"a{english}")),
        ("650", (" 0", f"a{english}", "xReference services")),
        ("650", (" 4", f"a{english}", "zAlabama")),
        ("650", (" 7", f"a{finnish}", "2ysa")),
        ("653", ("  ", f"a{finnish}")),
        *own,
    ]


def test_marc_records_come_back_byte_for_byte(tmp_path: Path) -> None:
    content = utf8(
        *(marc_record([("001", f"m{number}"), ("245", ("00", f"aPart {number} of the kirjastot")), *subjects(number)])
          for number in range(RECORDS))
    )  # fmt: skip
    with reviewed_with_enter(tmp_path, "in.mrc", content) as (review, client):
        assert written(client, "in.mrc", content) == content
        own = [(str(100 + number % len(TOPICS)),) if number % 3 == 0 else () for number in range(RECORDS)]
        assert labels_of(review) == own
        shown = " ".join(client.get("/review/documents/1").text.split())
        assert "Already assigned, and kept unless you reject them: Libraries (yso/fin)" in shown
        assert "Assigned from other vocabularies: Libraries (lcsh); Libraries--Reference services (lcsh);" in shown
        client.post("/review/documents/2", data={"csrf": csrf(client), "action": "accept", "label": f"{YSO}p104"})
        (second,) = list(pymarc.MARCReader(written(client, "in.mrc", content)))[1:2]
        assert second is not None
        assert [each["a"] for each in second.get_fields("650") if each.get("2") == "yso/fin"] == ["vero"]
        assert [each["a"] for each in second.get_fields("650")][:4] == ["Nursing", "Nursing", "Nursing", "hoitaminen"]


def test_rows_of_a_dspace_export_come_back_with_every_column(tmp_path: Path) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    header = ["id", "collection", "dc.title", "dc.subject", "dc.subject.lcsh[en]", "dc.subject.yso[fi]", "dc.date"]
    writer.writerow(header)
    for number in range(RECORDS):
        finnish, english = TOPICS[number % len(TOPICS)]
        own = finnish if number % 3 == 0 else ""
        lcsh = f"{english}||{english}--History"
        writer.writerow([f"r{number}", "123/4", f"Part {number}, or so", "vapaa sana||oma", lcsh, own, "1999"])
    content = stream.getvalue().encode()
    with reviewed_with_enter(tmp_path, "in.csv", content) as (review, client):
        assert written(client, "in.csv", content) == content
        assert labels_of(review) == [
            (str(100 + number % len(TOPICS)),) if number % 3 == 0 else () for number in range(RECORDS)
        ]
        table = list(csv.DictReader(client.get("/review/export?format=csv").text.splitlines()))
        assert [row["subject"].split("|")[:2] for row in table] == [["vapaa sana", "oma"]] * RECORDS
        assert {row["collection"] for row in table} == {"123/4"}
        client.post("/review/documents/2", data={"csrf": csrf(client), "action": "accept", "label": f"{YSO}p104"})
        rows = list(csv.reader(written(client, "in.csv", content).decode().splitlines()))
        before = list(csv.reader(content.decode().splitlines()))
        assert rows[2] == [*before[2][:5], "vero", "1999"]
        assert [row for row in rows if row != rows[2]] == [row for row in before if row != before[2]]
