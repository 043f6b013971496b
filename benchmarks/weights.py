"""The zero-shot method with and without evidence of titles and trust: `python -m benchmarks weights [--output FILE]`.

before: English endings, every stage with its full weight, titles without a say of their own. languages: the language
of names and texts recognised. trust: dense weighs by how well its encoder knows the language of each document. titles:
what titles name exactly too, which is the default. Each is tested against `before` by paired randomisation.

The constants of stages/dense/retriever.py and stages/names/exact_match.py were chosen by the same program on train
documents of mdn, tib and kirja. With the dev documents, which are measured here, nothing was chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks import corpora, figures

from tagwright.evaluation.significance import compare
from tagwright.tagger import zero_shot
from tagwright.tagger.zero_shot import Config
from tagwright.types import Run

MEASURES = ("nDCG@5", "P@1", "P@5")
DEPTH = 10

AFTER = Config()
CONFIGURATIONS = {
    "before": replace(AFTER, language="english", trust=False, title_match=0.0),
    "languages": replace(AFTER, trust=False, title_match=0.0),
    "trust": replace(AFTER, title_match=0.0),
    "titles": AFTER,
    "exact_match, tfidf": replace(AFTER, stages=("exact_match", "tfidf")),
}


def main(arguments: list[str]) -> None:
    parser = corpora.parser("weights", __doc__, corpora.ALL)
    parser.add_argument("--documents", type=int, help="only so many of each corpus, drawn with seed 0")
    options = parser.parse_args(arguments)
    corpora.require(tuple(options.corpora))
    result: dict[str, Any] = {}
    for name in options.corpora:
        result[name] = measure(name, options.documents)
        figures.write(options.output, result)


def measure(name: str, most: int | None) -> dict[str, Any]:
    """Each configuration on a corpus, and its differences from the first."""
    dev = corpora.scored(name, most)
    runs: dict[str, Run] = {}
    found: dict[str, Any] = {"documents": len(dev.documents), "labels": len(dev.labels)}
    for title, config in CONFIGURATIONS.items():
        run = zero_shot.fit(dev.labels, config, dev.documents).tag(dev.documents, DEPTH + 1)
        runs[title] = dev.without_self(run, DEPTH)
        compared = compare(runs[title], runs["before"], dev.gold, measures=MEASURES)
        found[title] = compared.to_json()["measures"]
        rows = ((key, each.a, each.difference.value, each.p) for key, each in compared.measures.items())
        print(f"{name:6} {title:14}", *(f"{key} {100 * a:5.1f} ({100 * d:+5.2f}, p {p:.4f})" for key, a, d, p in rows))
    return found
