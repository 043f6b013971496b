"""Check a stage before it is published: `check_stage` lists all problems.

For the tests of a package that registers a stage, see docs/new-package.md.
"""

import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tagwright.core.saved import read_state, write_state
from tagwright.data.texts import Texts, to_documents
from tagwright.data.vocabulary import Labels, Vocabulary
from tagwright.errors import TagwrightError, class_and_message
from tagwright.readers.labels.files import to_vocabulary
from tagwright.registry import saved_kind
from tagwright.tagger.zero_shot import TITLE_MATCH, WEIGHTS
from tagwright.types import Distribution, Document, Longs, Retriever, Run, Stage

_METHODS = ("read", "score", "trust", "background", "spans", "with_labels", "complete", "state", "from_state")
"What every stage has; `Stage` itself has trust, background, spans and complete."

_MOST = 50
"The labels and documents that are checked at most: all pairs of them are scored, several times."

_RELATIVE, _ABSOLUTE = 1e-3, 1e-4
"Tolerance of scores: encoders round differently in batches of another size."


def check_stage(stage: Stage, labels: Labels, documents: Texts) -> None:
    """Check whether a stage does what a tagger expects of it. Raises AssertionError with all problems, one a line.

    labels: the labels of the stage. documents: some for which it finds labels, or scores labels above 0. Checks that
    methods exist and accept their arguments; that documents are read once, and `find` and `score` agree; that evidence
    spans lie in the text; that results do not depend on the rest of the batch; that labels can be replaced; that a
    stage gives the same results after saving and loading; and that an installed package registers it. If a method is
    missing, the checks that need it are left out.

    >>> from tagwright.stages.names.exact_match import ExactMatch
    >>> check_stage(ExactMatch(labels := to_vocabulary(["Bees", "Taxes"])), labels, ["Bees fly.", "Income"])
    """
    problems = [*_interface(stage)]
    if not problems:
        vocabulary, some = to_vocabulary(labels), list(to_documents(documents))[:_MOST]
        for check in (_answers, _repeats, _batches, _evidence, _other_labels, _check_saved):
            problems += _problems(check, stage, vocabulary, some)
    problems += _check_registered(stage)
    if problems:
        listed = "".join(f"\n- {problem}" for problem in problems)
        raise AssertionError(f"{type(stage).__name__} cannot be used as a stage yet:{listed}")


def _interface(stage: Stage) -> Iterator[str]:
    """List what is missing."""
    known = get_args(Distribution)
    if getattr(stage, "distribution", None) not in known:
        yield f"distribution is {getattr(stage, 'distribution', None)!r}, expected one of {', '.join(known)}"
    for name in _METHODS:
        if not callable(getattr(stage, name, None)):
            yield f"has no method {name}; inherit from tagwright.Stage or tagwright.Retriever, and write it"


def _problems(
    check: Callable[[Any, Vocabulary, Sequence[Document]], Iterator[str]],
    stage: Stage,
    labels: Vocabulary,
    documents: Sequence[Document],
) -> list[str]:
    """Yield the problems that a check finds, and the error that it may end in."""
    found: list[str] = []
    try:
        found.extend(check(stage, labels, documents))
    except Exception as error:  # the stage of another author may fail in any way
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}, in {last.name}"
        found.append(f"{check.__name__[1:].replace('_', ' ')}: {class_and_message(error)} ({place})")
    return found


def _answers(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """Scores and candidates are what they should be, and agree."""
    size = len(labels)
    reading, none = stage.read(documents), stage.read([])
    pairs = _pairs(len(documents), np.arange(min(size, _MOST)))
    scores = stage.score(reading, pairs)
    yield from _bad_scores(scores, pairs)
    yield from _bad_scores(stage.score(none, _pairs(0, np.arange(0))), _pairs(0, np.arange(0)))
    trust = stage.trust(reading, 1.0)
    if trust is not None and not (np.shape(trust) == (len(documents),) and np.all((trust >= 0) & (trust <= 1))):
        yield "trust gives no number from 0 to 1 for each document"
    if not hasattr(stage, "find"):
        if not np.any(scores):
            yield "score gives only zeros; give documents for which it does not"
        return
    yield from _bad_run(stage.find(none), 0, size)
    run = stage.find(reading)
    if problems := [*_bad_run(run, len(documents), size)]:
        yield from problems
        return
    if not len(run.labels):
        yield "find finds no label; give documents for which it does"
    if not _is_alike(stage.score(reading, run), run.scores):
        yield "find and score give the same candidates different scores"


def _repeats(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """Answers stay the same."""
    yield from _check_same_answers(
        stage, stage, labels, documents, "when it is asked again; draw random numbers from a fixed seed"
    )


def _batches(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """Answers do not depend on the other documents of the batch."""
    alone = [_scores(stage, [document], labels) for document in documents]
    if not _is_alike(np.concatenate(alone), _scores(stage, documents, labels)):
        yield "score gives a document other scores when other documents are in the batch"
    if hasattr(stage, "find"):
        single = [own for document in documents for own in _find_candidates(stage, [document])]
        if single != _find_candidates(stage, documents):
            yield "find finds other labels for a document when other documents are in the batch"


def _evidence(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """Evidence spans lie in the text, the largest weight first."""
    scores = _scores(stage, documents, labels)
    for document, row in zip(documents, scores, strict=True):
        best = np.argsort(-row, kind="stable")[:10].tolist()
        spans = list(stage.spans(document, best))
        if len(spans) != len(best):
            yield f"spans gives {len(spans)} tuples for {len(best)} labels, expected one each, if only an empty one"
            return
        if spans != [span for label in best for span in stage.spans(document, [label])]:
            yield f"spans gives a label other evidence when it is asked for several (document {document.id})"
        for each in spans:
            if wrong := next((span for span in each if not 0 <= span.start < span.end <= len(document.text)), None):
                yield (
                    f"an evidence span is {wrong.start}-{wrong.end}, expected one in the {len(document.text)} "
                    f"characters of document.text (document {document.id})"
                )
            weights = [span.weight for span in each]
            if not np.isfinite(weights).all() or weights != sorted(weights, reverse=True):
                yield f"the weights of evidence spans are not sorted, largest first (document {document.id})"


def _other_labels(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """Labels are data: the same labels in another order get the same scores, and fewer are fine."""
    before = _scores(stage, documents, labels)
    turned = Vocabulary(list(labels)[::-1])
    moved = stage.with_labels(turned)
    if not isinstance(moved, type(stage)):
        yield f"with_labels gives a {type(moved).__name__}, expected a {type(stage).__name__}"
        return
    places = len(labels) - 1 - _places(labels)
    if not _is_alike(_scores(moved, documents, turned, places), before):
        yield "with_labels: a label has another score after the labels are put in another order"
    if not _is_alike(_scores(stage, documents, labels), before):
        yield "with_labels changes the stage itself, expected a new one"
    fewer = Vocabulary(list(labels)[:1])
    few: Any = stage.with_labels(fewer)
    _scores(few, documents, fewer)
    if hasattr(stage, "find"):
        yield from _bad_run(few.find(few.read(documents)), len(documents), 1)


def _check_saved(stage: Any, labels: Vocabulary, documents: Sequence[Document]) -> Iterator[str]:
    """A stage that was saved and loaded gives the same answers."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:  # Windows keeps mapped files
        stage.complete()
        write_state(folder := Path(name), "stage", stage.state())
        kind: Any = type(stage)
        again = kind.from_state(read_state(folder, "stage"), labels)
        if not isinstance(again, kind):
            yield f"from_state gives a {type(again).__name__}, expected a {kind.__name__}"
            return
        if again.distribution != stage.distribution:
            yield f"distribution is {again.distribution} after save and load, {stage.distribution} before"
        yield from _check_same_answers(stage, again, labels, documents, "after save and load")


def _check_same_answers(
    stage: Any, other: Any, labels: Vocabulary, documents: Sequence[Document], when: str
) -> Iterator[str]:
    if not _is_alike(_scores(other, documents, labels), _scores(stage, documents, labels)):
        yield f"score gives other scores {when}"
    if hasattr(stage, "find") and _find_candidates(other, documents) != _find_candidates(stage, documents):
        yield f"find finds other labels {when}"


def _check_registered(stage: Stage) -> Iterator[str]:
    """An installed package registers the class, under a name that is not one of ours."""
    try:
        saved = saved_kind(stage, "stages")
    except TagwrightError as error:
        yield str(error)
    else:
        if isinstance(saved, dict) and (name := saved["entry_point"]) in (*WEIGHTS, TITLE_MATCH):
            yield f"the entry point is called {name}, which always is Tagwright's own stage; choose another name"


def _pairs(documents: int, labels: NDArray[np.integer]) -> Run:
    """All labels as candidates of each document."""
    return Run.from_rows([dict.fromkeys(sorted(labels.tolist()), 0.0)] * documents)


def _is_alike(one: NDArray[np.floating], other: NDArray[np.floating]) -> bool:
    return np.allclose(one, other, rtol=_RELATIVE, atol=_ABSOLUTE)


def _places(labels: Vocabulary) -> Longs:
    return np.arange(min(len(labels), _MOST))


def _scores(
    stage: Stage, documents: Sequence[Document], labels: Vocabulary, places: Longs | None = None
) -> NDArray[np.floating]:
    """(documents, places) the scores of these labels, by default of the first."""
    places = _places(labels) if places is None else places
    scores = np.asarray(stage.score(stage.read(documents), _pairs(len(documents), places)))
    return scores.reshape(len(documents), len(places))[:, np.argsort(np.argsort(places))]


def _find_candidates(stage: Retriever, documents: Sequence[Document]) -> list[set[int]]:
    return [set(labels.tolist()) for labels, _ in stage.find(stage.read(documents))]


def _bad_scores(scores: object, candidates: Run) -> Iterator[str]:
    size = len(candidates.labels)
    if not isinstance(scores, np.ndarray) or scores.shape != (size,) or scores.dtype.kind != "f":
        got = f"{scores.shape} {scores.dtype}" if isinstance(scores, np.ndarray) else type(scores).__name__
        yield f"score gives {got} for {size} candidates, expected an array ({size},) float32"
    elif not np.isfinite(scores).all():
        yield "score gives scores that are not finite"


def _bad_run(found: object, documents: int, labels: int) -> Iterator[str]:
    if not isinstance(found, Run):
        yield f"find gives a {type(found).__name__}, expected a Run: see Run.from_rows"
    elif len(found) != documents:
        yield f"find gives {len(found)} rows for {documents} documents, expected one each, if only an empty one"
    elif len(found.labels) and not 0 <= found.labels.min() <= found.labels.max() < labels:
        yield f"find gives labels {found.labels.min()} to {found.labels.max()}, expected positions below {labels}"
    else:
        try:
            ranked = Run.of(found.indptr, found.labels, found.scores)
        except ValueError as error:
            yield f"find gives a damaged Run ({error})"
        else:
            if not np.array_equal(ranked.labels, found.labels):
                yield "find gives rows that are not sorted, best first, ties by label: see Run.of"
