"""Cut a ranking to the labels to suggest: allowed ones, as narrow or broad as asked for, from as many branches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tagwright.data.hierarchy import Hierarchy
from tagwright.data.vocabulary import Vocabulary
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.types import Longs, Mask, Run


class _Entry(NamedTuple):
    label: int
    score: np.float32
    confidence: float


def cut_ranking(
    vocabulary: Vocabulary,
    ranking: Run,
    options: SuggestOptions,
    own: Longs | None = None,
    served: SuggestOptions | None = None,
) -> Run:
    """Return the labels to suggest from a ranking.

    own: (documents,) the label that each document is itself, which is left out, -1 for none; None: all -1. served:
    options whose conditions hold too. Conditions and broader labels come before the cut, so that it is filled. Raises
    ConfigError for a condition that no label fulfils.
    """
    allowed, hierarchy = allowed_by(vocabulary, options), vocabulary.hierarchy
    own = np.full(len(ranking), -1) if own is None else own
    if served is not None:
        allowed = allowed & allowed_by(vocabulary, served)
    if (own >= 0).any():
        ranking = ranking.without(own)
    others = ranking if allowed.all() else ranking.keep(allowed[ranking.labels])
    if options.hierarchy != "ranked" or options.per_branch:
        others = _arrange_labels(others.keep(options.reaches(others)), options, hierarchy, allowed, own.tolist())
    return others.keep(options.accepts(others))


def allowed_by(vocabulary: Vocabulary, options: SuggestOptions) -> Mask:
    """(labels,) true for labels that fulfil the conditions. Raises ConfigError for one that no label fulfils."""
    return vocabulary.conditions.allowed(tuple(options.only), tuple(options.without))


def _arrange_labels(
    ranking: Run, options: SuggestOptions, hierarchy: Hierarchy, allowed: Mask, own: Sequence[int]
) -> Run:
    """At most k labels of each document, which fit together as the options ask."""
    rows = []
    known = np.zeros(len(ranking.labels)) if ranking.confidences is None else ranking.confidences
    entries = list(map(_Entry, ranking.labels.tolist(), ranking.scores, known.tolist()))
    for itself, (start, end) in zip(own, pairwise(ranking.indptr.tolist()), strict=True):
        ranked: Iterable[_Entry] = entries[start:end]
        if options.hierarchy == "all":
            ranked = _with_broader(entries[start:end], hierarchy, allowed, itself)
        rows.append(_choose_labels(ranked, options, hierarchy))
    chosen = [entry for row in rows for entry in row]
    cut = Run.of_distinct(
        np.cumsum([0, *map(len, rows)]),
        np.array([entry.label for entry in chosen], np.int32),
        np.array([entry.score for entry in chosen], np.float32),
        None if ranking.confidences is None else np.array([entry.confidence for entry in chosen], np.float32),
    )
    return replace(cut, none=ranking.none)


def _with_broader(entries: Sequence[_Entry], hierarchy: Hierarchy, allowed: Mask, itself: int) -> Iterator[_Entry]:
    """Yield each label after its broader labels, which get slightly higher scores and no lower confidence."""
    sure, seen = {each.label: each.confidence for each in entries}, set[int]()
    for entry in entries:
        if entry.label in seen:
            continue
        group, score, above = [entry], entry.score, hierarchy.above(entry.label, seen)
        for label in reversed(above):
            if label == itself or not allowed[label]:
                continue
            score = np.nextafter(score, np.float32(np.inf))
            group.append(_Entry(label, score, max(entry.confidence, sure.get(label, 0.0))))
        seen.update(above, (entry.label,))
        yield from reversed(group)


def _choose_labels(entries: Iterable[_Entry], options: SuggestOptions, hierarchy: Hierarchy) -> list[_Entry]:
    """The first k labels that may stand together.

    narrowest: a label takes the place of those above it, and one above a chosen label is passed over. per_branch: a
    label is passed over where a label at the top has that many below it.
    """
    chosen, covered, held = dict[int, _Entry](), set[int](), Counter[int]()
    for entry in entries:
        if len(chosen) == options.k:
            break
        if entry.label in covered:
            continue
        above = hierarchy.above(entry.label) if options.hierarchy == "narrowest" else ()
        replaced = [label for label in above if label in chosen]
        freed = Counter(top for label in replaced for top in hierarchy.tops(label))
        tops = hierarchy.tops(entry.label) if options.per_branch else ()
        if options.per_branch and any(held[top] - freed[top] >= options.per_branch for top in tops):
            continue
        for label in replaced:
            del chosen[label]
        held.subtract(freed)
        held.update(tops)
        covered.update(above)
        chosen[entry.label] = entry
    return list(chosen.values())
