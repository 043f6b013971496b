"""What evaluations read from files: gold labels, labels that do not count, and runs."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from tagwright.core.display import list_first
from tagwright.data.corpus import Corpus
from tagwright.data.vocabulary import Unknown, Vocabulary
from tagwright.evaluation.dataset import DEPTH, EvaluationSet, evaluation_set
from tagwright.readers import run_files
from tagwright.readers.documents.columns import hint_at_labels
from tagwright.readers.published import read_label_filter
from tagwright.readers.trec import read_qrels
from tagwright.tagger.acceptance import Arrangement
from tagwright.types import Run

_log = logging.getLogger(__name__)


class EvaluationRules(TypedDict, total=False):
    """Keyword arguments of `evaluation_set` that say what is scored."""

    exclude_self: bool
    skip_unlabelled: bool
    unknown: Unknown
    only: Sequence[str]
    without: Sequence[str]
    hierarchy: Arrangement
    per_branch: int | None
    propensity: str


def read_evaluation_set(
    corpus: Corpus,
    vocabulary: Vocabulary,
    train: Corpus | None = None,
    *,
    qrels: Path | None = None,
    label_filter: Path | None = None,
    **rules: Unpack[EvaluationRules],
) -> EvaluationSet:
    """Return the evaluation set of documents, see `evaluation_set`.

    qrels: a TREC file with the gold labels, in place of those of the documents. label_filter: a file of positions of
    documents and of labels that do not count for them, see `read_label_filter`.
    """
    given = None if qrels is None else read_qrels(qrels, corpus.ids, vocabulary.index)
    if given is None:
        hint_at_labels(corpus, vocabulary)
    not_counted = None if label_filter is None else read_label_filter(label_filter, len(corpus), len(vocabulary))
    return evaluation_set(corpus, vocabulary, train, given=given, label_filter=not_counted, **rules)


def read_run(path: Path, data: EvaluationSet, depth: int = DEPTH) -> Run:
    """Read the rows of the scored documents from a run file, which may hold other documents of the corpus.

    depth: the labels of a document that are scored, at most; a warning says where there are fewer. Raises InputError
    as `run_files.read_run` does.
    """
    digests = dict[str, str]()
    run = run_files.read_run(path, data.corpus.ids, data.vocabulary.index, digests)
    texts = (document for document in data.corpus if digests and document.text.strip())  # a table of ids has no texts
    if told := [each.id for each in texts if digests.get(each.id, "") not in ("", run_files.run_digest(each))]:
        problem = "%s: %s of %s documents have other texts here than those that were tagged: %s"
        _log.warning(problem, path, f"{len(told):,}", f"{len(data.corpus):,}", list_first(told))
    held = int(run.ranks.max(initial=0))
    if held < min(depth, len(data.vocabulary) - 1):  # one label may be left out as the document itself
        _log.warning(
            "%s holds at most %d labels per document: measures beyond @%d count the rest as missed; suggest -k %d "
            "writes enough", path, held, held, depth,
        )  # fmt: skip
    return data.align(run)
