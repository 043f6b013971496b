"""Decisions of reviewers as gold labels of a training."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.papers.topics import LABELS
from tests.reviewed import reviewed

from tagwright.errors import InputError
from tagwright.review.applied import apply_reviews
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision, Verdict
from tagwright.review.file import ReviewFile
from tagwright.types import Document, Run


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
    right, judged = apply_reviews(
        Run.from_rows([[wasp], [bank], [stone]]), [Document(f"d{n}") for n in range(3)], LABELS, file
    )
    assert caplog.messages == [
        'the review holds no texts of 3 documents, so their decisions are matched by id (first: "d0")',
        '1 of 4 decisions are left out: the vocabulary lacks the labels (first: "unknown"); `tagwright reviews` '
        "lists accepted ones with this vocabulary, and what replaces them",
    ]
    assert [labels.tolist() for labels, _ in right] == [[bank], [bank], [stone]]
    assert [sorted(labels.tolist()) for labels, _ in judged] == [sorted([wasp, bank]), [stone], []]


def test_decisions_belong_to_the_text_that_was_reviewed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    texts = [Document("d0", "Wasps"), Document("d1", "Banks"), Document("d2", "Stones")]
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "wasp", "ann", "accept"), ("d0", "bank", "ann", "reject"),
                    ("d1", "bank", "ann", "accept"))  # fmt: skip
    with closing(ReviewFile(file)) as opened:
        ReviewedDocuments(opened).add(texts)
    now = [Document("d0", "Taxes"), Document("d1", " Banks\n"), Document("d2", "Sand")]
    right, judged = apply_reviews(Run.from_rows([[bank], [], []]), now, LABELS, file)
    assert [labels.tolist() for labels, _ in right] == [[bank], [bank], []]
    assert [labels.tolist() for labels, _ in judged] == [[], [bank], []]
    left_out = "decisions on 1 document are left out (2 labels): their texts are others than those that were reviewed"
    assert caplog.messages == [f'{left_out}, which an export of {file} has: "d0"']
    with pytest.raises(InputError, match="has no decision on any of these documents and labels"):
        apply_reviews(Run.from_rows([[], []]), [now[0], now[2]], LABELS, file)
    with closing(ReviewFile(file)) as opened:
        (taxes,), *_ = ReviewedDocuments(opened).add(now[:1])
    reviewed(file, (taxes, "wasp", "ann", "reject"))
    for documents in (now, [replace(now[0], id=taxes)]):  # as they are given, and as they are exported
        right, judged = apply_reviews(Run.from_rows([[] for _ in documents]), documents, LABELS, file)
        assert judged[0][0].tolist() == [wasp]
    right, judged = apply_reviews(Run.from_rows([[]]), texts[:1], LABELS, file)
    assert right[0][0].tolist() == [wasp]  # the decisions on the first text are still there


def test_labels_that_were_found_by_search_are_gold_and_no_examples(tmp_path: Path) -> None:
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "wasp", "ann", "reject"))
    with closing(ReviewFile(file)) as opened:
        for document in ("d0", "d1"):
            Decisions(opened).add_all([Decision(document=document, label="bank", reviewer="ann", action="accept")])
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    right, judged = apply_reviews(Run.from_rows([[], []]), [Document("d0"), Document("d1")], LABELS, file)
    assert [labels.tolist() for labels, _ in right] == [[bank], []]  # nothing else is known of d1
    assert [labels.tolist() for labels, _ in judged] == [[wasp], []]


def test_what_a_reviewer_saw_and_did_not_accept_is_wrong_once_the_document_is_finished(tmp_path: Path) -> None:
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "bank", "ann", "accept"), ("d1", "bank", "ann", "accept"))
    with closing(ReviewFile(file)) as opened:
        decisions = Decisions(opened)
        decisions.add_shown([
            Decision(document=document, label=label, reviewer="ann", action="shown")
            for document in ("d0", "d1") for label in ("bank", "wasp")
        ])  # fmt: skip
        decisions.add_all([Decision(document="d0", reviewer="ann", action="done")])
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    right, judged = apply_reviews(Run.from_rows([[], []]), [Document("d0"), Document("d1")], LABELS, file)
    assert [labels.tolist() for labels, _ in right] == [[bank], [bank]]
    assert [sorted(labels.tolist()) for labels, _ in judged] == [sorted([wasp, bank]), [bank]]


def test_a_file_without_decisions_on_the_documents_is_refused(tmp_path: Path) -> None:
    gold = Run.from_rows([[0]])
    with pytest.raises(InputError, match="no such file"):
        apply_reviews(gold, [Document("d0")], LABELS, tmp_path / "missing.sqlite")
    file = reviewed(tmp_path / "reviews.sqlite", ("other", "wasp", "ann", "accept"))
    with pytest.raises(InputError, match="no decision on any"):
        apply_reviews(gold, [Document("d0")], LABELS, file)


def test_documents_that_were_reviewed_blind_teach_nothing(tmp_path: Path) -> None:
    wasp, bank = (LABELS.index[name] for name in ("wasp", "bank"))
    file = reviewed(tmp_path / "reviews.sqlite", ("d0", "wasp", "ann", "accept"))
    with closing(ReviewFile(file)) as opened:
        event: dict[str, Any] = {"document": "d1", "reviewer": "ann"}
        Decisions(opened).add_all([
            Decision(action="accept", label="bank", **event), Decision(action="blind", **event),
            Decision(action="shown", label="stone", rank=1, **event), Decision(action="done", **event),
        ])  # fmt: skip
    right, judged = apply_reviews(Run.from_rows([[], [bank]]), [Document("d0"), Document("d1")], LABELS, file)
    assert [labels.tolist() for labels, _ in right] == [[wasp], []]
    assert [labels.tolist() for labels, _ in judged] == [[wasp], []]
