"""`tagwright enrich`: copies of catalogue records with suggested subjects."""

from __future__ import annotations

import io
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pymarc
import pytest
from tests.app.conftest import RIGHT, Command, write
from tests.readers.documents.catalogue_records import marc_record, utf8

from tagwright.data.corpus import Corpus
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile

WORDS = ("--set", 'stages=["exact_match", "tfidf"]', "--set", "weights=[0.5, 1.0]", "--quiet")
RECORDS = utf8(
    marc_record([("001", "1"), ("245", ("00", "aHoney of the bees /"))]),
    marc_record([("001", "2"), ("245", ("00", "aMoney in the bank"))]),
    marc_record([("001", "3"), ("245", ("00", "aRain"))]),
)


@pytest.fixture(autouse=True)
def records(desk: Path) -> Path:
    (path := desk / "in.mrc").write_bytes(RECORDS)
    return path


def subjects(path: str) -> list[list[str]]:
    """The subjects of each record: name, $0, source, confidence, agency."""
    found = []
    for record in pymarc.MARCReader(io.BytesIO(Path(path).read_bytes())):
        assert record
        linked = {each["8"]: each for each in record.get_fields("883")}
        assert all(len(linked[each["8"]]["d"]) == 8 for each in record.get_fields("650"))
        found.append(
            [
                "|".join([each["a"], each["0"], each["2"], linked[each["8"]].get("q", "")])
                for each in record.get_fields("650")
            ]
        )
    return found


def test_suggested_subjects_are_added_to_a_copy(run: Command) -> None:
    outcome = run(
        "enrich", "in.mrc", "--labels", "labels.jsonl", "--output", "out.mrc", "--source", "zoo", "-k", "1", *WORDS
    )
    assert (outcome.code, outcome.out, outcome.err) == (0, "3 subjects added to 3 records: out.mrc\n", "")
    assert subjects("out.mrc") == [["Bees|(zoo)bee|zoo|"], ["Banks|(zoo)bank|zoo|"], ["Rain|(zoo)rain|zoo|"]]
    assert Path("in.mrc").read_bytes() == RECORDS


def test_the_suggestions_of_a_run(run: Command) -> None:
    outcome = run(
        "enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--output", "out.mrc",
        "--source", "zoo", "--agency", "DE-101", "--min-score", "1.5",
    )  # fmt: skip
    assert (outcome.code, outcome.out) == (0, "3 subjects added to 3 records: out.mrc\n")
    assert subjects("out.mrc") == [
        ["Bees|(zoo)bee|zoo|DE-101"], ["Banks|(zoo)bank|zoo|DE-101"], ["Rain|(zoo)rain|zoo|DE-101"]
    ]  # fmt: skip


def test_conditions_hold_for_the_suggestions_of_a_run_too(run: Command) -> None:
    call = ("enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--output", "out.mrc")
    outcome = run(*call, "--source", "zoo", "--min-score", "1.5", "--without", "bee")
    assert outcome.out == "2 subjects added to 2 records: out.mrc\n"


def test_confidences_come_with_the_subjects(run: Command) -> None:
    sure = [{"id": each["id"], "suggestions": [{"label": "bee", "score": 1.0, "confidence": 0.25}]} for each in RIGHT]
    write("sure.jsonl", sure)
    call = (
        "enrich",
        "in.mrc",
        "--labels",
        "labels.jsonl",
        "--run",
        "sure.jsonl",
        "--output",
        "out.mrc",
        "--source",
        "zoo",
    )
    assert run(*call).code == 0
    assert b"\x1fc0.25\x1f" in Path("out.mrc").read_bytes()
    assert run(*call, "--min-confidence", "0.5").out == "0 subjects added to 0 records: out.mrc\n"
    assert Path("out.mrc").read_bytes() == RECORDS


def test_what_cannot_be(run: Command) -> None:
    call = ("enrich", "in.mrc", "--labels", "labels.jsonl", "--run", "right.jsonl", "--source", "zoo", "--output")
    outcome = run(*call, "in.mrc")
    assert (outcome.code, outcome.err) == (
        2,
        "tagwright: --output in.mrc: is read or written here already (in.mrc); choose another name\n",
    )
    assert Path("in.mrc").read_bytes() == RECORDS
    said = "expected MARC's code of the vocabulary, of letters and digits, such as gnd, or local for one that has none"
    assert run(*call, "out.mrc", "--source", "my zoo").err == f"tagwright: --source is 'my zoo', {said}\n"
    assert run(*call[:-3], "--output", "out.mrc").err == f"tagwright: --source is '', {said}\n"
    outcome = run(*call, "out.mrc", "--agency", "DE 101")
    assert outcome.err == (
        "tagwright: --agency is 'DE 101', expected MARC's code of the library, of letters and digits, such as DE-101\n"
    )


def test_subjects_of_a_saved_tagger_have_names_in_the_language_asked_for(run: Command, desk: Path) -> None:
    labels = [{"id": "bee", "names": {"en": ["Bees"], "sv": ["Bin"]}}, {"id": "rain", "names": {"en": ["Rain"]}}]
    write("two.jsonl", labels)
    assert run("train", "zero-shot", "--labels", "two.jsonl", "--output", "M", "--language", "en", *WORDS).code == 0
    given = ("--model", "M", "--names-in", "sv", "--output", "out.mrc", "--source", "zoo", "-k", "1", "--quiet")
    assert run("enrich", "in.mrc", *given).code == 0
    assert subjects("out.mrc") == [["Bin|(zoo)bee|zoo|"], [], ["Rain|(zoo)rain|zoo|"]]


def decide(*decisions: tuple[str, str, str]) -> None:
    """Decisions of Ann in reviews.sqlite, of the records in in.mrc: document, what she did, and the label.

    Accepted with "!" are labels that nobody suggested.
    """
    file = ReviewFile(Path("reviews.sqlite"))
    ReviewedDocuments(file).add(Corpus.read("in.mrc"))
    for document, action, label in decisions:
        rank = None if label.endswith("!") else 1
        event: dict[str, Any] = {"label": label.rstrip("!"), "rank": rank} if label else {}
        Decisions(file).add_all([Decision(document=document, reviewer="Ann", action=action, **event)])  # type: ignore[arg-type]
    file.close()


REVIEWED = ("enrich", "in.mrc", "--labels", "labels.jsonl", "--reviews", "reviews.sqlite", "--source", "zoo")


def written_by(path: str) -> list[list[str]]:
    """The subjects of each record with who assigned them: the first indicator of 883."""
    found = []
    for record in pymarc.MARCReader(Path(path).read_bytes()):
        assert record
        linked = {each["8"]: each.indicators[0] for each in record.get_fields("883")}
        found.append([f"{each['a']} {linked[each['8']]}" for each in record.get_fields("650")])
    return found


def test_accepted_subjects_are_written_and_rejected_ones_never(run: Command) -> None:
    decide(("1", "accept", "bee"), ("1", "reject", "rain"), ("1", "accept", "bank!"), ("2", "reject", "bank"))
    outcome = run(*REVIEWED, "--output", "out.mrc")
    assert (outcome.code, outcome.out, outcome.err) == (0, "2 subjects added to 1 record: out.mrc\n", "")
    assert written_by("out.mrc") == [["Bees 1", "Banks 2"], [], []]
    # right.jsonl suggests bee and rain, bank, rain and bee: rain and bank have verdicts in 1 and 2, 3 has none
    outcome = run(*REVIEWED, "--run", "right.jsonl", "--open", "--output", "out.mrc")
    assert outcome.out == "4 subjects added to 2 records: out.mrc\n"
    assert written_by("out.mrc") == [["Bees 1", "Banks 2"], [], ["Rain 0", "Bees 0"]]
    assert run(*REVIEWED, *WORDS, "--open", "-k", "1", "--output", "out.mrc").code == 0
    assert written_by("out.mrc") == [["Bees 1", "Banks 2"], [], ["Rain 0"]]


def test_what_a_reviewer_saw_and_left_is_not_open(run: Command) -> None:
    decide(("1", "shown", "bee"), ("1", "shown", "rain"), ("1", "accept", "bee"), ("1", "done", ""))
    assert run(*REVIEWED, "--run", "right.jsonl", "--open", "--output", "out.mrc").code == 0
    assert written_by("out.mrc") == [["Bees 1"], ["Banks 0"], ["Rain 0", "Bees 0"]]


def test_twice_gives_the_same_file_and_what_was_rejected_since_is_gone(run: Command) -> None:
    decide(("1", "accept", "bee"), ("1", "accept", "rain"), ("2", "accept", "bank"))
    assert run(*REVIEWED, "--output", "first.mrc").code == 0
    again = ("enrich", "first.mrc", *REVIEWED[2:])
    outcome = run(*again, "--output", "second.mrc")
    assert outcome.out == "3 subjects added to 2 records, 3 of an earlier copy taken out: second.mrc\n"
    assert Path("second.mrc").read_bytes() == Path("first.mrc").read_bytes() != RECORDS
    decide(("1", "reject", "rain"), ("2", "reject", "bank"))
    outcome = run(*again, "--output", "third.mrc")
    assert outcome.out == "1 subject added to 1 record, 3 of an earlier copy taken out: third.mrc\n"
    assert written_by("third.mrc") == [["Bees 1"], [], []]
    decide(("1", "reject", "bee"))
    assert run(*again, "--output", "fourth.mrc").code == 0
    assert Path("fourth.mrc").read_bytes() == RECORDS


def test_records_without_a_review_keep_the_subjects_of_an_earlier_copy(run: Command) -> None:
    decide(("1", "reject", "bee"))
    call = ("enrich", "in.mrc", *REVIEWED[2:4], "--run", "right.jsonl", "--source", "zoo", "--output", "first.mrc")
    assert run(*call).code == 0
    assert run("enrich", "first.mrc", *REVIEWED[2:], "--output", "second.mrc").code == 0
    assert written_by("second.mrc") == [[], ["Banks 0"], ["Rain 0", "Bees 0"]]


def test_accepted_labels_that_the_vocabulary_lacks_are_told(run: Command, caplog: pytest.LogCaptureFixture) -> None:
    decide(("1", "accept", "bee"), ("1", "accept", "wasp"))
    assert run(*REVIEWED, "--output", "out.mrc").code == 3
    count, wasp = caplog.messages
    assert count.startswith(
        "1 accepted label of 1 document left out, which the vocabulary lacks; --replace-gone writes"
    )
    assert wasp == "1: wasp is gone, and nothing is said to replace it"
    assert written_by("out.mrc") == [["Bees 1"], [], []]


EDITION = [
    {"id": "bee", "names": ["Bees"], "replaces": ["apis"]},
    {"id": "hymenoptera", "names": ["Hymenoptera"], "replaces": ["insect"]},
    {"id": "beetle", "names": ["Beetles"], "replaces": ["insect"]},
    {"id": "bank", "names": ["Banks"]},
]
"A new edition: apis became bee, insect became two concepts, rain has no successor."


def test_what_a_new_edition_of_the_vocabulary_has_replaced_is_listed_and_offered(
    run: Command, caplog: pytest.LogCaptureFixture
) -> None:
    write("edition.jsonl", EDITION)
    decide(("1", "accept", "apis"), ("1", "accept", "insect"), ("1", "accept", "bank!"), ("3", "accept", "rain"))
    insect = 'insect is gone, replaced by "Hymenoptera" (hymenoptera) or "Beetles" (beetle)'
    of_1 = f'1: apis is gone, replaced by "Bees" (bee); {insect}'
    of_3 = "3: rain is gone, and nothing is said to replace it"
    listed = run("reviews", "reviews.sqlite", "--labels", "edition.jsonl")
    assert (listed.code, [line.strip() for line in listed.out.splitlines()[-3:]]) == (
        0, ["gone            3 accepted labels of 2 documents are gone from the vocabulary", of_1, of_3],
    )  # fmt: skip
    as_json = json.loads(run("reviews", "reviews.sqlite", "--labels", "edition.jsonl", "--json").out)
    assert as_json["gone"] == {"1": {"apis": ["bee"], "insect": ["hymenoptera", "beetle"]}, "3": {"rain": []}}

    call = ("enrich", "in.mrc", "--labels", "edition.jsonl", *REVIEWED[4:], "--output")
    assert run(*call, "out.mrc").code == 3
    assert caplog.messages[1:] == [of_1, of_3]
    assert written_by("out.mrc") == [["Banks 2"], [], []]
    caplog.clear()
    assert run(*call, "out.mrc", "--replace-gone").code == 3  # what is unclear is still told
    assert caplog.messages[1:] == [f"1: {insect}", of_3]
    assert written_by("out.mrc") == [["Banks 2", "Bees 1"], [], []]

    decide(("1", "accept", "beetle!"), ("3", "reject", "rain"), ("1", "accept", "bee"))  # settles all of it
    caplog.clear()
    assert run(*call, "out.mrc").code == 0
    assert caplog.messages == []
    assert written_by("out.mrc") == [["Banks 2", "Beetles 2", "Bees 1"], [], []]


@pytest.mark.parametrize("form", ["csv", "annif", "label_studio", "argilla"])
def test_an_export_with_names_has_no_label_that_is_gone_among_them(
    run: Command, form: str, caplog: pytest.LogCaptureFixture
) -> None:
    write("edition.jsonl", EDITION)
    decide(("1", "accept", "apis"), ("1", "accept", "insect"), ("1", "accept", "bank!"), ("2", "accept", "bank"))
    call = ("reviews", "reviews.sqlite", "--export", "--labels", "edition.jsonl", "--format", form)
    plain = run(*call)
    assert (plain.code, len(caplog.messages)) == (3, 2)
    replaced = run(*call, "--replace-gone")
    assert replaced.code == 3
    if form == "csv":
        assert plain.out.splitlines() == [
            "id,title,text,labels,label_names,gone,replaced_by,reviewed",
            "1,Honey of the bees,,bank,Banks,apis|insect,bee|hymenoptera beetle,",
            "2,Money in the bank,,bank,Banks,,,",
        ]
        assert replaced.out.splitlines()[1] == "1,Honey of the bees,,bank|bee,Banks|Bees,insect,hymenoptera beetle,"
    else:
        assert "apis" not in plain.out + replaced.out
        bees = '"bee"' if form == "argilla" else "Bees"
        assert (bees in plain.out, bees in replaced.out) == (False, True)


def test_one_option_says_that_decisions_hold_where_the_text_has_changed(
    run: Command, caplog: pytest.LogCaptureFixture
) -> None:
    decide(("1", "accept", "bee"), ("1", "reject", "rain"), ("2", "accept", "bank"), ("3", "accept", "rain"))
    changed = [("1", "aHoney, of the bees"), ("2", "aMoney, in the bank"), ("3", "aRain")]
    Path("in.mrc").write_bytes(utf8(*(marc_record([("001", id_), ("245", ("00", title))]) for id_, title in changed)))
    assert run(*REVIEWED, "--output", "out.mrc").code == 3
    count, *documents = caplog.messages
    assert count.startswith("decisions on 2 documents are left out (3 labels): their texts are others than those")
    assert count.endswith("if the decisions hold, say so by --changed-texts")
    assert documents == ["1: 2 labels", "2: 1 label"]
    assert written_by("out.mrc") == [[], [], ["Rain 1"]]
    caplog.clear()
    assert run(*REVIEWED, "--changed-texts", "--output", "out.mrc").code == 0
    assert caplog.messages == []
    assert written_by("out.mrc") == [["Bees 1"], ["Banks 1"], ["Rain 1"]]
    with closing(ReviewFile(Path("reviews.sqlite"))) as file:  # the new text is shown to reviewers, undecided so far
        ReviewedDocuments(file).add(Corpus.read("in.mrc"))
    assert run(*REVIEWED, "--changed-texts", "--output", "out.mrc").code == 0
    assert written_by("out.mrc")[0] == ["Bees 1"]
    Path("in.mrc").write_bytes(utf8(marc_record([("001", "1"), ("245", ("00", "aHoney; of the bees"))])))
    problem = "reviews.sqlite: has decisions on other texts of these documents alone (1); if they hold, say so by"
    assert problem in run(*REVIEWED, "--output", "out.mrc").err
    assert run("enrich", "in.mrc", *REVIEWED[2:4], "--changed-texts", "--output", "out.mrc").code == 2


def test_reviews_that_cannot_be_used(run: Command) -> None:
    decide(("elsewhere", "accept", "bee"))
    for more, problem in (
        (REVIEWED[4:], "reviews.sqlite: has no decision on any of these documents"),
        (("--reviews", "none.sqlite", "--source", "zoo"), "none.sqlite: no such file"),
        (("--open", "--source", "zoo"), "--open says what becomes of the suggestions beside --reviews"),
        ((*REVIEWED[4:], "--run", "right.jsonl"), "--reviews writes accepted subjects only; --open adds the others"),
    ):
        outcome = run("enrich", "in.mrc", "--labels", "labels.jsonl", *more, "--output", "out.mrc")
        assert (outcome.code, outcome.err.startswith(f"tagwright: {problem}")) == (2, True), outcome.err
        assert not Path("out.mrc").exists()


def test_the_vocabulary_is_recognised_by_its_ids(run: Command) -> None:
    """And named by the language of its names, where codes differ by it."""
    for begin, subject in (
        ("http://d-nb.info/gnd/", "=650  \\7$81\\p$aBienen$0(DE-588)1$2gnd"),
        ("http://www.yso.fi/onto/yso/", "=650  \\7$81\\p$aBienen$0http://www.yso.fi/onto/yso/1$2yso/swe"),
        ("https://id.nlm.nih.gov/mesh/", "=650  \\2$81\\p$aBienen$0https://id.nlm.nih.gov/mesh/1"),
    ):
        write("own.jsonl", [{"id": f"{begin}1", "names": {"sv": ["Bienen"]}}])
        write("run.jsonl", [{"id": str(row), "suggestions": []} for row in (2, 3)])
        with Path("run.jsonl").open("a") as file:
            file.write(f'{{"id": "1", "suggestions": [{{"label": "{begin}1", "score": 1}}]}}\n')
        call = ("enrich", "in.mrc", "--labels", "own.jsonl", "--run", "run.jsonl", "--output", "out.mrc")
        outcome = run(*call)
        address, code = begin.partition("//")[2], begin.rstrip("/").rpartition("/")[2]
        told = f"the labels are recognised as {code}, by ids of {address}; --source names another"
        assert outcome.err == f"tagwright: {told}\n"
        record = next(pymarc.MARCReader(Path("out.mrc").read_bytes()))
        assert record
        assert str(record["650"]) == subject
        assert run(*call, "--source", "zoo", "--quiet").err == ""


def test_a_record_that_cannot_be_read_is_spoken_of_once(run: Command, caplog: pytest.LogCaptureFixture) -> None:
    Path("odd.mrc").write_bytes(RECORDS + RECORDS[:12] + b"xxxxx" + RECORDS[17 : RECORDS.index(b"\x1d") + 1])
    run("enrich", "odd.mrc", "--labels", "labels.jsonl", "--source", "zoo", *WORDS, "--output", "out.mrc")
    (said,) = [line for line in caplog.messages if "odd.mrc" in line]
    assert said.startswith("odd.mrc:4: is copied without suggestions: it is a damaged MARC record")


OVERLAPPING = RECORDS + utf8(marc_record([("001", "1"), ("245", ("00", "aRain again"))]))


@pytest.mark.parametrize(
    "command",
    [
        ("read",),
        ("suggest", "--labels", "labels.jsonl", "--format", "jsonl", *WORDS),
        ("batch", "--model", "M", "--output", "out", "--processes", "1"),
        ("enrich", "--labels", "labels.jsonl", "--source", "zoo", "--output", "out.mrc", "-k", "1", *WORDS),
    ],
)
def test_a_repeated_number_is_told_apart_in_every_command(
    run: Command, command: tuple[str, ...], records: Path, caplog: pytest.LogCaptureFixture
) -> None:
    records.write_bytes(OVERLAPPING)
    if command[0] == "batch":
        assert run("train", "zero-shot", "--labels", "labels.jsonl", "--output", "M", *WORDS).code == 0
    outcome = run(command[0], "in.mrc", *command[1:])
    assert outcome.code == 0
    assert 'in.mrc:4: the id "1" is also that of an earlier document; here it is "1#4"' in caplog.messages
    if command[0] == "enrich":
        assert outcome.out == "4 subjects added to 4 records: out.mrc\n"
        assert subjects("out.mrc")[3] == ["Rain|(zoo)rain|zoo|"]
    else:
        text = Path("out/shard-000000.jsonl").read_text() if command[0] == "batch" else outcome.out
        assert text.count('"id": "1#4"') == text.count('"id": "1"') == 1


TWO = (
    marc_record([("001", "1"), ("003", "A"), ("245", ("00", "aHoney of the bees"))]),
    marc_record([("001", "1"), ("003", "B"), ("245", ("00", "aRain"))]),
)


@pytest.mark.parametrize("output", ["jsonl", "trec"])
def test_records_that_share_a_number_do_not_swap_their_subjects(
    run: Command, output: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A run of the records in one order, and the records in the other; a run without digests of texts tells nothing."""
    Path("ab.mrc").write_bytes(utf8(*TWO))
    Path("ba.mrc").write_bytes(utf8(*reversed(TWO)))
    found = run("suggest", "ab.mrc", "--labels", "labels.jsonl", "--format", output, "-k", "1", *WORDS)
    Path("run.x").write_text(found.out)
    call = ("--run", "run.x", "--labels", "labels.jsonl", "--source", "zoo", "--output", "out.mrc")
    outcome = run("enrich", "ba.mrc", *call)
    assert subjects("out.mrc") == [[], []]
    assert (outcome.code, outcome.out) == (3, "0 subjects added to 0 records: out.mrc\n")
    assert (
        "run.x: the suggestions for 2 documents are left out, as others may have been tagged under these ids: 1, 1#2"
        in caplog.messages
    )
    same = run("enrich", "ab.mrc", *call).out
    assert same.startswith("2 subjects added to 2 records" if output == "jsonl" else "0 subjects")


RADIO = {"id": "http://www.yso.fi/onto/yso/p1", "names": {"en": ["radio"], "fi": ["radio"]}}
HONEY = {"id": "http://www.yso.fi/onto/yso/p2", "names": {"en": ["honey"]}}


def test_a_name_that_is_equal_in_two_languages_is_in_the_one_asked_for(run: Command) -> None:
    write("yso.jsonl", [RADIO, HONEY])
    Path("one.mrc").write_bytes(utf8(marc_record([("001", "1"), ("245", ("00", "aOn radio and honey"))])))
    call = ("enrich", "one.mrc", "--labels", "yso.jsonl", *WORDS, "--names-in", "fi", "--output", "out.mrc")
    assert run(*call).code == 0
    (record,) = pymarc.MARCReader(Path("out.mrc").read_bytes())
    assert record
    assert {each["a"]: each["2"] for each in record.get_fields("650")} == {"radio": "yso/fin", "honey": "yso/eng"}


def test_an_export_has_names_in_the_language_of_the_documents_or_the_one_asked_for(run: Command) -> None:
    labels = [{"id": "bee", "names": {"en": ["Bees"], "fi": ["mehiläiset"]}}]
    write("two.jsonl", labels)
    finnish = "Mehiläiset lentävät kukasta kukkaan ja keräävät mettä pesään koko pitkän kesän ajan"
    Path("in.mrc").write_bytes(utf8(marc_record([("001", "1"), ("245", ("00", f"a{finnish}"))])))
    decide(("1", "accept", "bee"), ("1", "done", ""))
    call = ("reviews", "reviews.sqlite", "--export", "--format", "csv", "--labels", "two.jsonl")
    assert run(*call).out.splitlines()[1].split(",")[3:5] == ["bee", "mehiläiset"]
    assert run(*call, "--names-in", "en").out.splitlines()[1].split(",")[3:5] == ["bee", "Bees"]
