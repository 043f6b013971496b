"""Speed of name matching on one core: `python -m benchmarks names [--output FILE]`, on epmc.

Compared with the plain way, a look-up of every n-gram of a document in a dictionary of names, and with a million
names made up of the vocabulary's own words.
"""

from __future__ import annotations

import json
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable, Sequence

import Stemmer
from benchmarks import corpora, figures
from benchmarks.machine import timed

from tagwright.stages.names.exact_match import ExactMatch
from tagwright.text.words import ANALYSIS, words
from tagwright.types import Document, Label, Run

RUNS = 3


def main(arguments: list[str]) -> None:
    parser = corpora.parser("names", __doc__, ())
    parser.add_argument("--made-up", type=int, default=1_000_000, help="names that are made up, at most")
    options = parser.parse_args(arguments)
    corpora.require(("epmc",))
    labels, documents = corpora.labels("epmc"), corpora.documents("epmc", "dev")
    million = made_up(labels, options.made_up)
    report = {
        "cores used": 1,
        "load": os.getloadavg()[0],
        "names": sum(len(label.names) for label in labels),
        "words per document": round(statistics.mean(len(words(document.text, ANALYSIS)) for document in documents)),
        "ExactMatch": measure(lambda: ExactMatch(labels), documents),
        "dictionary of n-grams": measure(lambda: n_grams(labels), documents[: max(1, len(documents) // 50)]),
        "made up": {"names": len(million), **measure(lambda: ExactMatch(million), documents)},
    }
    print(json.dumps(report, indent=1))
    figures.write(options.output, report)


def measure(
    build: Callable[[], Callable[[Sequence[Document]], object]], documents: Sequence[Document]
) -> dict[str, float]:
    """Seconds to build; UTF-8 megabytes per second of the first run, with cold caches, and the median of the rest.

    Seconds are those of the processor, which other work on the machine changes less.
    """
    _, seconds, stage = timed(build)
    megabytes = sum(len(document.text.encode()) for document in documents) / 1e6
    first, *rest = (megabytes / timed(lambda: stage(documents))[1] for _ in range(1 + RUNS))
    return {"build s": round(seconds, 2), "first MB/s": round(first, 1), "MB/s": round(statistics.median(rest), 1)}


def n_grams(labels: Sequence[Label]) -> Callable[[Sequence[Document]], Run]:
    """The plain way: stem every word, look up every n-gram, count."""
    stem = Stemmer.Stemmer("english").stemWord
    owners: dict[str, list[int]] = {}
    for index, label in enumerate(labels):
        for name in label.names:
            owners.setdefault(" ".join(map(stem, words(name, ANALYSIS))), []).append(index)
    longest = max(form.count(" ") for form in owners) + 1

    def count(document: Document) -> Counter[int]:
        text = [stem(word) for word in words(document.text, ANALYSIS)]
        found: Counter[int] = Counter()
        for start in range(len(text)):
            for length in range(1, longest + 1):
                found.update(owners.get(" ".join(text[start : start + length]), ()))
        return found

    return lambda documents: Run.from_rows(map(count, documents))


def made_up(labels: Sequence[Label], most: int) -> list[Label]:
    """Different names of one to four words, drawn with seed 0 from the vocabulary's as often as they occur there.

    Fewer than `most` where a small vocabulary has too few words.
    """
    rng = random.Random(0)
    known = [word for label in labels for name in label.names for word in words(name, ANALYSIS)]
    names: dict[str, None] = {}
    for _ in range(10 * most):
        names[" ".join(rng.choices(known, k=rng.randint(1, 4)))] = None
        if len(names) == most:
            break
    return [Label(str(index), (name,)) for index, name in enumerate(names)]
