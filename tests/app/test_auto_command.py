"""`tagwright train auto` from the command line: reviews, minutes, resuming."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.papers.topics import DOCUMENTS, LABELS
from typer.testing import CliRunner, Result

from tagwright.app.cli import app
from tagwright.errors import InputError, TagwrightError
from tagwright.review.current import Decision, Verdict
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.export import with_reviews
from tagwright.review.file import ReviewFile
from tagwright.tagger import Tagger
from tagwright.types import Document, Run

QUICK = ["--set", 'stages=["exact_match", "tfidf"]', "--language", "english"]


pytestmark = pytest.mark.usefixtures("quick_auto")


@pytest.fixture(scope="module", name="data")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("data")
    rows = ({"id": d.id, "title": d.title, "abstract": d.abstract, "labels": list(d.labels)} for d in DOCUMENTS[:12])
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    LABELS.write(folder / "labels.jsonl")
    return [str(folder / "docs.jsonl"), "--labels", str(folder / "labels.jsonl")]


@pytest.fixture(scope="module")
def trained(quick_auto: None, data: list[str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a tagger that was trained in at most five minutes, and what was said."""
    folder = tmp_path_factory.mktemp("trained") / "out"
    return folder, run("train", "auto", *data, "--output", str(folder), "--minutes", "5", *QUICK).stderr


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def reviewed(file: Path, *verdicts: tuple[str, str, str, Verdict]) -> Path:
    with closing(ReviewFile(file)) as opened:
        Decisions(opened).add_all(
            [Decision(document=d, label=label, reviewer=who, action=what, rank=1) for d, label, who, what in verdicts]
        )
    return file


def test_the_plan_is_printed_and_the_tagger_saved(trained: tuple[Path, str]) -> None:
    folder, said = trained
    assert "the data: 12 documents, 12 with labels; 30 labels, 0 described; language english" in said
    assert "without svm: from 30 labelled documents on (here 12)" in said
    assert "nDCG@5 in cross-validation on 12 labelled documents: zero_shot 100.0" in said
    record = Tagger.load(folder).training
    assert (record["method"], record["options"]["minutes"]) == ("auto", 5.0)
    assert record["auto"]["kept"] == "zero_shot"
    assert not folder.with_name("out.training").exists()


@pytest.mark.parametrize(
    "command", ["suggest --explain", "evaluate --skip-unlabelled", "describe --candidates --skip-unlabelled"]
)
def test_other_commands_take_the_tagger(data: list[str], trained: tuple[Path, str], command: str) -> None:
    assert run(*command.split(), data[0], "--model", str(trained[0])).exit_code == 0


def test_options_of_auto_belong_to_it(data: list[str], tmp_path: Path) -> None:
    with pytest.raises(TagwrightError, match="--minutes is accepted by auto, not by svm"):
        run("train", "svm", *data, "--output", str(tmp_path / "out"), "--minutes", "5")


def test_accepted_labels_are_gold_rejected_ones_are_not_and_others_are_unknown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    verdicts: list[tuple[str, str, str, Verdict]] = [
        ("d0", "wasp", "ann", "reject"),
        ("d0", "bank", "ann", "accept"),
        ("d1", "stone", "ann", "accept"),
        ("d1", "stone", "bob", "reject"),
        ("unknown", "bank", "ann", "accept"),
        ("d2", "unknown", "ann", "accept"),
    ]
    file = reviewed(tmp_path / "reviews.sqlite", *verdicts)
    wasp, bank, stone = (LABELS.index[name] for name in ("wasp", "bank", "stone"))
    found = with_reviews(Run.from_rows([[wasp], [bank], [stone]]), [*map(Document, ("d0", "d1", "d2"))], LABELS, file)
    assert caplog.messages == [
        'the review holds no texts of 3 documents, so their decisions are matched by id (first: "d0")',
        "1 of 4 decisions are left out: the vocabulary lacks the labels",
    ]
    assert [labels.tolist() for labels, _ in found.gold] == [[bank], [bank], [stone]]
    assert [sorted(labels.tolist()) for labels, _ in found.judged] == [sorted([wasp, bank]), [stone], []]


def test_decisions_belong_to_the_text_that_was_reviewed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    texts = [Document("d0", "Wasps"), Document("d1", "Banks"), Document("d2", "Stones")]
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "wasp", "ann", "accept"), ("d0", "bank", "ann", "reject"),
                    ("d1", "bank", "ann", "accept"))  # fmt: skip
    with closing(ReviewFile(file)) as opened:
        ReviewedDocuments(opened).add(texts)
    now = [Document("d0", "Taxes"), Document("d1", " Banks\n"), Document("d2", "Sand")]
    found = with_reviews(Run.from_rows([[bank], [], []]), now, LABELS, file)
    assert [labels.tolist() for labels, _ in found.gold] == [[bank], [bank], []]
    assert [labels.tolist() for labels, _ in found.judged] == [[], [bank], []]
    left_out = "decisions on 1 document are left out (2 labels): their texts are others than those that were reviewed"
    assert caplog.messages == [f'{left_out} (first: "d0")']
    with pytest.raises(InputError, match="has no decision on any of these documents and labels"):
        with_reviews(Run.from_rows([[], []]), [now[0], now[2]], LABELS, file)
    with closing(ReviewFile(file)) as opened:
        (taxes,) = ReviewedDocuments(opened).add(now[:1]).ids
    reviewed(file, (taxes, "wasp", "ann", "reject"))
    for documents in (now, [replace(now[0], id=taxes)]):  # as they are given, and as they are exported
        found = with_reviews(Run.from_rows([[] for _ in documents]), documents, LABELS, file)
        assert found.judged[0][0].tolist() == [wasp]
    found = with_reviews(Run.from_rows([[]]), texts[:1], LABELS, file)
    assert found.gold[0][0].tolist() == [wasp]  # the decisions on the first text are still there


def test_labels_that_were_found_by_search_are_gold_and_no_examples(tmp_path: Path) -> None:
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "wasp", "ann", "reject"))
    with closing(ReviewFile(file)) as opened:
        for document in ("d0", "d1"):
            Decisions(opened).add(Decision(document=document, label="bank", reviewer="ann", action="accept"))
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    found = with_reviews(Run.from_rows([[], []]), [Document("d0"), Document("d1")], LABELS, file)
    assert [labels.tolist() for labels, _ in found.gold] == [[bank], []]  # nothing else is known of d1
    assert [labels.tolist() for labels, _ in found.judged] == [[wasp], []]


def test_what_a_reviewer_saw_and_did_not_accept_is_wrong_once_the_document_is_finished(tmp_path: Path) -> None:
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "bank", "ann", "accept"), ("d1", "bank", "ann", "accept"))
    with closing(ReviewFile(file)) as opened:
        decisions = Decisions(opened)
        decisions.add_shown([
            Decision(document=document, label=label, reviewer="ann", action="shown")
            for document in ("d0", "d1") for label in ("bank", "wasp")
        ])  # fmt: skip
        decisions.add(Decision(document="d0", reviewer="ann", action="done"))
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    found = with_reviews(Run.from_rows([[], []]), [Document("d0"), Document("d1")], LABELS, file)
    assert [labels.tolist() for labels, _ in found.gold] == [[bank], [bank]]
    assert [sorted(labels.tolist()) for labels, _ in found.judged] == [sorted([wasp, bank]), [bank]]


def test_a_file_without_decisions_on_the_documents_is_refused(tmp_path: Path) -> None:
    gold = Run.from_rows([[0]])
    with pytest.raises(InputError, match="no such file"):
        with_reviews(gold, [Document("d0")], LABELS, tmp_path / "missing.sqlite")
    file = reviewed(tmp_path / "reviews.sqlite", ("other", "wasp", "ann", "accept"))
    with pytest.raises(InputError, match="no decision on any"):
        with_reviews(gold, [Document("d0")], LABELS, file)


def test_reviews_are_learned_from(data: list[str], tmp_path: Path) -> None:
    given: list[tuple[str, str, str, Verdict]] = [(f"d{row}", "wasp", "ann", "reject") for row in range(0, 12, 3)]
    given += [(f"d{row}", "10", "ann", "accept") for row in range(0, 12, 3)]
    file = reviewed(tmp_path / "reviews.sqlite", *given)
    result = run("train", "auto", *data, "--output", str(tmp_path / "out"), "--reviews", str(file), *QUICK)
    # of 12 documents 4 have another label now, which no stage finds: the sum is right about the other 8
    assert "12 with labels" in result.stderr
    assert "zero_shot 66.7" in result.stderr


def test_documents_to_label_are_printed_without_those_that_have_labels(tmp_path: Path) -> None:
    rows = [{"id": f"d{row}", "title": f"T{row}", "labels": ["wasp"] if row < 3 else []} for row in range(6)]
    (tmp_path / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = run("reviews", "--sample", str(tmp_path / "docs.jsonl"), "-n", "10").stdout.split()
    assert sorted(found) == ["d3", "d4", "d5"]
    lines = run(
        "reviews", "--sample", str(tmp_path / "docs.jsonl"), "-n", "1", "--by", "length", "--format", "jsonl"
    ).stdout
    assert json.loads(lines)["title"] in ("T3", "T4", "T5")


def test_a_tagger_without_confidence_cannot_say_what_it_is_unsure_about(data: list[str], tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "x", "title": "bees"}))
    run("train", "zero_shot", *data[1:], "--output", str(tmp_path / "out"), *QUICK)
    with pytest.raises(TagwrightError, match="sample at random"):
        run(
            "reviews", "--sample", str(tmp_path / "more.jsonl"), "--model", str(tmp_path / "out"), "--by", "uncertainty"
        )
