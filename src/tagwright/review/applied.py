"""Apply the decisions of a review to documents elsewhere: as gold labels to train on, as subjects of their records.

Documents are found by id and text, labels by id. What cannot be applied is listed, and never dropped unseen: labels
that are gone from the vocabulary (`gone_labels`), and decisions on another text.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from tagwright.core.checked import show
from tagwright.core.display import plural
from tagwright.core.progress import note
from tagwright.data.corpus import ids_of, take_documents
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError, note_left_out, option
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.types import Document, Run

_log = logging.getLogger(__name__)

Gone: TypeAlias = Mapping[str, Mapping[str, Sequence[str]]]
"Id of a document -> accepted label that the vocabulary lacks -> the labels that replace it, none if that is unknown."


def gone_labels(decisions: Decisions, vocabulary: Vocabulary, of: Sequence[str] | None = None) -> Gone:
    """Return the accepted labels that the vocabulary lacks, by document. of: ids of documents; None: all.

    Who decides on a label that replaces one has settled what becomes of that.
    """
    found = dict[str, Mapping[str, Sequence[str]]]()
    states = decisions.states()
    for document, state in states.items() if of is None else ((id_, states[id_]) for id_ in of if id_ in states):
        lacking = [label for label in state.labels if label not in vocabulary.index]
        if lacking:
            decided = {event.label for event in decisions.current(document)}
            gone = {label: vocabulary.replacements.get(label, ()) for label in lacking}
            if left := {label: new for label, new in gone.items() if decided.isdisjoint(new)}:
                found[document] = left
    return found


def without_replaced(gone: Gone) -> Gone:
    """Return what is left once each label that one other replaces is written as that."""
    left = {id_: {old: new for old, new in labels.items() if len(new) != 1} for id_, labels in gone.items()}
    return {id_: labels for id_, labels in left.items() if labels}


def in_vocabulary(
    labels: Iterable[str], vocabulary: Vocabulary, gone: Mapping[str, Sequence[str]], *, replace_gone: bool
) -> dict[str, str]:
    """Return label -> the one to write for it, of those that the vocabulary has.

    gone: of their document. replace_gone: write the label that replaces another, where there is just one.
    """
    written = {label: label for label in labels if label in vocabulary.index}
    if replace_gone:
        written |= {old: new[0] for old, new in gone.items() if len(new) == 1 and new[0] not in written.values()}
    return written


def describe_gone(gone: Gone, vocabulary: Vocabulary) -> list[str]:
    """Return a line for each document with labels that are gone, and what replaces them."""
    return [
        f"{document}: {'; '.join(_describe(old, new, vocabulary) for old, new in labels.items())}"
        for document, labels in gone.items()
    ]


def _describe(old: str, new: Sequence[str], vocabulary: Vocabulary) -> str:
    names = " or ".join(f"{show(vocabulary[label].name)} ({label})" for label in new)
    return f"{old} is gone, {f'replaced by {names}' if new else 'and nothing is said to replace it'}"


class LeftOut(NamedTuple):
    """Parts of a review not written. gone: see there. changed: id -> number of labels decided on another text."""

    gone: Gone
    changed: Mapping[str, int]

    def log(self, vocabulary: Vocabulary) -> None:
        """Say it in a line for each document, below one that counts; the command ends with the exit code 3 then."""
        said = list[str]()
        if self.gone:
            count = plural(sum(map(len, self.gone.values())), "accepted label")
            remedy = option("replace_gone", python="replace_gone=True")
            said.append(
                f"{count} of {plural(len(self.gone), 'document')} left out, which the vocabulary lacks; {remedy} "
                "writes the label that replaces one, where there is just one"
            )
            said += describe_gone(self.gone, vocabulary)
        if self.changed:
            count, labels = plural(len(self.changed), "document"), plural(sum(self.changed.values()), "label")
            remedy = option("changed_texts", python="changed_texts=True")
            said.append(
                f"decisions on {count} are left out ({labels}): their texts are others than those that were reviewed; "
                f"if the decisions hold, say so by {remedy}"
            )
            said += [f"{document}: {plural(number, 'label')}" for document, number in self.changed.items()]
        for line in said:
            _log.warning("%s", line)
        note_left_out(InputError(line) for line in said)


def apply_reviews(gold: Run, documents: Sequence[Document], labels: Vocabulary, file: Path) -> tuple[Run, Run]:
    """Apply the decisions in a file of `tagwright serve` to gold labels; return gold labels, and labels to learn from.

    gold: a row for each of the documents, as in both runs that are returned. Accepted labels are added; rejected
    labels, and labels that reviewers disagree about, are removed. The second run has the labels that are known to be
    right or wrong, see `Decisions.judged`; a row without any is learned from as if it had not been reviewed.

    Left out are decisions on other documents, on documents with nothing but labels added by search, on other texts of
    these documents, and on labels that the vocabulary lacks; the log tells of all but the second. Nothing is learned
    from documents that were reviewed blind: they measure a tagger. Raises InputError if no decision is left.
    """
    with closing(ReviewFile.open_existing(file)) as review:
        decisions = Decisions(review)
        verdicts, examples, blind = decisions.verdicts(), decisions.judged(), decisions.blind()
        decided = {**dict.fromkeys(examples, 0), **Counter(document for document, _ in verdicts)}
        rows, changed = _rows_of_reviewed(documents, decided, ReviewedDocuments(review))
    if changed:
        _log.warning(
            "decisions on %s are left out (%s): their texts are others than those that were reviewed, which an export "
            "of %s has: %s",
            plural(len(changed), "document"),
            plural(sum(changed.values()), "label"),
            file,
            ", ".join(map(show, changed)),
        )
    right, judged = [set(positions.tolist()) for positions, _ in gold], [set[int]() for _ in documents]
    for document in blind.keys() & rows.keys():
        right[rows.pop(document)].clear()
    for document, row in rows.items():
        judged[row] |= {labels.index[id_] for id_ in examples.get(document, ()) if id_ in labels.index}
    known = [each for each in verdicts if each[0] in rows and each[0] in examples and each[1] in labels.index]
    for document, label in known:
        if set(verdicts[document, label].values()) == {"accept"}:
            right[rows[document]].add(labels.index[label])
        else:
            right[rows[document]].discard(labels.index[label])
    decided_here = [label for document, label in verdicts if document in rows]
    if lacking := [label for label in decided_here if label not in labels.index]:
        _log.warning(
            "%d of %d decisions are left out: the vocabulary lacks the labels (first: %s); `tagwright reviews` lists "
            "accepted ones with this vocabulary, and what replaces them", len(lacking), len(decided_here),
            show(lacking[0]),
        )  # fmt: skip
    if not known and not any(judged):
        raise InputError("has no decision on any of these documents and labels", file)
    return Run.from_rows(right), Run.from_rows(judged)


class Outcome(NamedTuple):
    """The decisions on a document, for its record in a catalogue.

    accepted: label of the vocabulary that more reviewers accept than reject -> whether it was shown, and when it was
    accepted last, as YYYYMMDD. settled: labels with a verdict, and those that a reviewer saw and left in a document
    that is finished. unpressed: accepted ones that were stored with the end of the document alone, as those that it
    came with are.
    """

    accepted: dict[str, tuple[bool, str]]
    settled: set[str]
    unpressed: set[str]


def outcomes(
    documents: Sequence[Document], file: Path, labels: Vocabulary, *, replace_gone: bool, changed_texts: bool
) -> tuple[dict[int, Outcome], LeftOut]:
    """Return row -> outcome, for the documents that somebody has begun to review, and what is left out of them.

    Documents are found by id and text. changed_texts: the decisions hold where a text has changed since. replace_gone:
    see `in_vocabulary`. Raises InputError if there is no such file, and if it has no decision on these documents.
    """
    with closing(ReviewFile.open_existing(file)) as review:
        decisions = Decisions(review)
        states, judged = decisions.states(), decisions.judged()
        decided = {
            document: len({event.label for event in decisions.current(document) if event.label is not None})
            for document in states
        }
        rows, changed = _rows_of_reviewed(documents, decided, ReviewedDocuments(review), changed_texts=changed_texts)
        gone = {document: new for document, new in gone_labels(decisions, labels).items() if document in rows}
        by_row = dict[int, Outcome]()
        for document, row in rows.items():
            if document in states:
                written = in_vocabulary(
                    states[document].labels, labels, gone.get(document, {}), replace_gone=replace_gone
                )
                events, seen = decisions.current(document), judged.get(document, set())
                by_row[row] = _outcome(written, events, seen)
    if not by_row:
        if changed:
            remedy = option("changed_texts", python="changed_texts=True")
            problem = f"has decisions on other texts of these documents alone ({', '.join(changed)})"
            raise InputError(f"{problem}; if they hold, say so by {remedy}", file)
        raise InputError("has no decision on any of these documents", file)
    return by_row, LeftOut(without_replaced(gone) if replace_gone else gone, changed)


def _outcome(written: Mapping[str, str], events: Sequence[Decision], judged: set[str]) -> Outcome:
    accepted, unpressed = dict[str, tuple[bool, str]](), set[str]()
    finished = {(event.reviewer, event.time) for event in events if event.action in ("blind", "done")}
    for label, new in written.items():
        accepts = [event for event in events if event.label == label and event.action == "accept"]
        date = max(event.time for event in accepts)[:10].replace("-", "")
        accepted[new] = any(event.rank is not None for event in accepts), date
        if all((event.reviewer, event.time) in finished for event in accepts):
            unpressed.add(new)
    settled = judged | {event.label for event in events if event.label is not None} | accepted.keys()
    return Outcome(accepted, settled, unpressed)


def _rows_of_reviewed(
    documents: Sequence[Document],
    decided: Mapping[str, int],
    reviewed: ReviewedDocuments,
    *,
    changed_texts: bool = False,
) -> tuple[dict[str, int], dict[str, int]]:
    """Return id in the review -> row in `documents`, for those that the review has with the same text.

    Beside them: id -> number of labels decided on, of documents whose decisions are on other texts. changed_texts:
    these count, where they are on one other text. decided: id in the review -> number of labels decided on. Documents
    of which the review has no text are matched by their ids alone; the log says so, and counts decisions on others.
    """
    stored, ids = {entry.id for entry in reviewed.entries()}, ids_of(documents)
    # of a large corpus on disk, only documents that may have been reviewed are read
    candidates = np.array([row for row, id_ in enumerate(ids) if id_ in stored or id_ in decided], np.int64)
    rows, changed, unknown, known = dict[str, int](), dict[str, int](), list[str](), set[str]()
    for row, document in zip(candidates.tolist(), take_documents(documents, candidates), strict=True):
        if document.id not in stored:
            unknown.append(document.id)
            rows[document.id] = row
            continue
        if (stored_id := reviewed.find(document)) is not None:
            rows[stored_id] = row
        others = [id_ for id_ in reviewed.ids_of(document.id) if id_ in decided and id_ != stored_id]
        known.update(others)
        if changed_texts and len(others) == 1 and stored_id not in decided:
            rows[others[0]] = row
        elif others:
            changed[document.id] = sum(decided[id_] for id_ in others)
    if unknown:
        _log.warning(
            "the review holds no texts of %s, so their decisions are matched by id (first: %s)",
            plural(len(unknown), "document"), show(unknown[0]),
        )  # fmt: skip
    absent = [id_ for id_ in decided if id_ not in rows and id_ not in known]
    if absent and len(absent) < len(decided):
        note(
            f"the review has decisions on {plural(len(absent), 'document')} more, not given (first: {show(absent[0])})"
        )
    return rows, changed
