"""Quality of the zero-shot method: `python -m benchmarks zeroshot [--corpora ...] [--output FILE]`.

Every stage alone and the default, on the dev documents, with intervals and paired tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import corpora, figures
from benchmarks.machine import timed

from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.evaluation.metrics import label_counts
from tagwright.evaluation.scores import evaluate
from tagwright.evaluation.significance import compare
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.tagger import batches, zero_shot
from tagwright.types import Document, Retriever, Run

DEPTH = 100
MEASURES = ("P@1", "P@3", "P@5", "nDCG@3", "nDCG@5", "nDCG@10", "R@10", "R@100")


def main(arguments: list[str]) -> None:
    parser = corpora.parser("zeroshot", __doc__)
    parser.add_argument("--documents", type=int, help="only so many of each corpus, drawn with seed 0")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    result: dict[str, Any] = {}
    for name in options.corpora:
        result[name] = table(name, options.documents)
        figures.write(options.output, result)


def all_stages(vocabulary: Vocabulary) -> dict[str, Retriever]:
    """Every candidate stage that the choice is between."""
    encoder = BiEncoder.load()
    stages: dict[str, Retriever] = {"exact_match": ExactMatch(vocabulary, ExactMatchOptions(k=500))}
    for weighting in ("bm25", "tfidf"):
        for text_field in ("title_and_abstract", "text"):
            lexical = LexicalOptions(weighting=weighting, text_field=text_field, k=500)
            stages[f"{weighting} {text_field}"] = Lexical(vocabulary, lexical)
    for text in ("name", "text", "both"):
        stages[f"dense {text}"] = Dense(vocabulary, encoder, DenseOptions(label_text=text, k=500))
    return stages


def table(name: str, most: int | None) -> dict[str, Any]:
    """Every stage alone and the default configuration on the dev documents, the default tested against each stage."""
    dev = corpora.scored(name, most)
    vocabulary, gold = dev.labels, dev.gold
    train = vocabulary.gold((d for d in corpora.documents(name, "train") if d.labels), unknown="ignore")
    stages = all_stages(vocabulary)
    runs = {key: dev.without_self(tag_with(stage, dev.documents), DEPTH) for key, stage in stages.items()}
    seconds, _, run = timed(lambda: zero_shot.fit(vocabulary).tag(dev.documents, DEPTH + 1))
    runs["zeroshot"] = dev.without_self(run, DEPTH)
    found: dict[str, Any] = {"documents": len(dev.documents), "labels": len(vocabulary), "seconds": round(seconds, 1)}
    for key, run in runs.items():
        scores = evaluate(run, gold, train=train, measures=(*MEASURES, "PSP@1", "PSP@5"))
        found[key] = scores.to_json()["measures"]
        print(f"{name:6} {key:12}", *(f"{m} {100 * scores.measures[m].value:5.1f}" for m in MEASURES))
    found["zeroshot against"] = {
        key: compare(runs["zeroshot"], run, gold, measures=("P@1", "nDCG@5", "R@100")).to_json()["measures"]
        for key, run in runs.items()
        if key != "zeroshot"
    }
    found["tail labels"] = int((label_counts(train, len(vocabulary)) < 10).sum())
    return found


def tag_with(stage: Retriever, documents: Sequence[Document]) -> Run:
    return Run.concat([stage(batch).top(DEPTH + 1) for batch in batches(documents)])
