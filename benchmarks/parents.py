"""What suggesting parents brings: `python -m benchmarks parents [--draws 0 1 2] [--stages exact_match tfidf dense]`.

300 of the dev papers of epmc have labels (train papers have none), the others are scored; each draw splits them anew.
Two ways to suggest at most five labels, each with the same least confidence: those that reach it as they are ranked,
and `hierarchy="parents"`. Both answer the same share of the documents, those of which they are surest. Beside that,
labels alone with the least confidence at which they are as many as with parents, and at which they answer as many
documents. The calibration errors are those of the five surest parents of each document, and of those that take the
place of labels.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from benchmarks import corpora, figures
from benchmarks.curve import sampled

from tagwright import auto
from tagwright.evaluation.calibration import calibration_error
from tagwright.evaluation.metrics import AncestorOverlap, ancestors, with_ancestors
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import Arrangement, SuggestOptions
from tagwright.tagger.parents import parent_confidences
from tagwright.types import Document, Doubles, Mask, Run

LABELLED, UNLABELLED, K = 300, 700, 5

SHARES = (0.5, 0.7, 0.9)
"Of the documents that are answered; all that have a suggestion at all come beside them."

LEAST = (0.3, 0.5, 0.7)
"Least confidences; 0.5 holds where none is given."

LOWERED = np.round(np.arange(0.02, 0.98, 0.02), 2).tolist()
MODES: Sequence[Arrangement] = ("ranked", "parents")


def main(arguments: list[str]) -> None:
    parser = corpora.parser("parents", __doc__, ())
    parser.add_argument("--draws", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--stages", nargs="+", default=list(auto.Config().stages))
    options = parser.parse_args(arguments)
    corpora.require(("epmc",))
    vocabulary, draws = corpora.labels("epmc"), list[dict[str, dict[str, float]]]()
    if not any(label.broader for label in vocabulary):
        sys.exit("no label has a broader one, so there are no parents to suggest")
    for draw in options.draws:
        known, held = split(draw)
        tagger = auto.fit(known, vocabulary, auto.Config(stages=tuple(options.stages)))
        ranking = Run.concat([tagger.rank(tagger.candidates(held[at : at + 64])) for at in range(0, len(held), 64)])
        draws.append(measure(tagger, held, ranking))
        print(json.dumps(draws[-1]), flush=True)
    figures.write(
        options.output, {"stages": options.stages, "documents": len(held), "means": means(draws), "draws": draws}
    )


def split(draw: int) -> tuple[list[Document], list[Document]]:
    """Documents to train with, 300 of them labelled or three quarters of a small corpus, and others to score."""
    train, dev = (sampled([*corpora.documents("epmc", part)], None) for part in ("train", "dev"))
    order = np.random.default_rng(draw).permutation(len(dev)).tolist()
    labelled = min(LABELLED, len(dev) * 3 // 4)
    others = [replace(each, labels=()) for each in train[:UNLABELLED]]
    return [*(dev[each] for each in order[:labelled]), *others], [dev[each] for each in order[labelled:]]


def measure(tagger: Tagger, held: list[Document], ranking: Run) -> dict[str, dict[str, float]]:
    """Of each least confidence what both ways suggest and how good that is, and how wrong parents' confidences are."""
    vocabulary = tagger.vocabulary
    above, gold = ancestors(vocabulary.links), vocabulary.gold(held, unknown="ignore")

    def suggested(least: float, mode: Arrangement = "ranked") -> Run:
        return tagger.cut(held, ranking, SuggestOptions(k=K, min_confidence=least, hierarchy=mode))

    lowered, rows = [scores(suggested(least), gold, above) for least in LOWERED], dict[str, dict[str, float]]()
    for least in LEAST:
        row = dict[str, float]()
        for mode in MODES:
            found = suggested(least, mode)
            row |= {f"{mode} {name}": value for name, value in scores(found, gold, above).items()}
            row |= {f"{mode} hF, {share:.0%}": scores(surest(found, share), gold, above)["hF"] for share in SHARES}
        for measure in ("suggestions", "answered"):
            near = min(lowered, key=lambda each: abs(each[measure] - row[f"parents {measure}"]))
            row[f"labels with as many {measure} hF"] = near["hF"]
        rows[f"{least:g}"] = row | in_place(tagger, held, ranking, with_ancestors(gold, above), least)
    rows["surest"] = surest_parents(tagger, ranking, with_ancestors(gold, above))
    return rows


def scores(found: Run, gold: Run, above: Any) -> dict[str, float]:
    """What is answered and suggested, and hP@5, hR@5, hF@5."""
    each = AncestorOverlap.of(found, gold, above, K)
    shared, suggested, wanted = each.shared.sum(), each.suggested.sum(), each.gold.sum()
    return {
        "answered": float((np.diff(found.indptr) > 0).mean()),
        "suggestions": float(np.diff(found.indptr).mean()),
        "hP": float(shared / max(suggested, 1)),
        "hR": float(shared / wanted),
        "hF": float(2 * shared / (suggested + wanted)),
    }


def surest(found: Run, share: float) -> Run:
    """The suggestions of this share of all documents, those with the surest suggestion."""
    assert found.confidences is not None
    most = np.zeros(len(found))
    np.maximum.at(most, found.rows, found.confidences)
    kept = np.zeros(len(found), np.bool_)
    kept[np.argsort(-most, kind="stable")[: round(share * len(found))]] = True
    return found.keep(kept[found.rows])


def in_place(tagger: Tagger, held: list[Document], ranking: Run, right: Run, least: float) -> dict[str, float]:
    """The parents that take the place of labels: their number, how sure they are, how many are right, their ECE."""
    every = tagger.cut(held, ranking, SuggestOptions(k=1000, min_confidence=least, hierarchy="parents"))
    assert every.confidences is not None
    assert ranking.confidences is not None
    own = replace(ranking, scores=ranking.confidences).scores_of(every)
    parents = every.keep(own < least)
    assert parents.confidences is not None
    return _calibration(parents.confidences.astype(np.float64), parents.held_by(right))


def surest_parents(tagger: Tagger, ranking: Run, right: Run) -> dict[str, float]:
    """The same of the five surest parents of each document."""
    assert tagger.parents is not None
    rows = parent_confidences(ranking, tagger.parents, tagger.vocabulary.hierarchy)
    run = Run.from_rows(rows).top(K)
    return _calibration(run.scores.astype(np.float64), run.held_by(right))


def _calibration(sure: Doubles, true: Mask) -> dict[str, float]:
    if not len(sure):
        return dict.fromkeys(("parents", "confidence", "right", "ECE"), 0.0)
    error = calibration_error(sure, true)
    return {"parents": len(sure), "confidence": float(sure.mean()), "right": float(true.mean()), "ECE": error}


def means(draws: Sequence[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """The mean of each number over the draws."""
    return {
        least: {name: round(float(np.mean([draw[least][name] for draw in draws])), 4) for name in row}
        for least, row in draws[0].items()
    }
