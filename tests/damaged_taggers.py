"""Small saved taggers of every kind of stage, and what a bad disk, a bad copy or a bad editor makes of their files."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.tiny import DIM, tiny_encoder

from tagwright.combining.weighted_sum import WeightedSum
from tagwright.data.bags import BagOfWords, BagOptions
from tagwright.data.vocabulary import Vocabulary
from tagwright.encoders.bi_encoder import BiEncoder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.errors import TagwrightError
from tagwright.papers.descriptions import ClassifierWeights, DescriptionRetriever
from tagwright.papers.full_text import FullText
from tagwright.papers.label_trees import Trees, fit_trees
from tagwright.stages.dense import Dense, DenseOptions
from tagwright.stages.dense.index import Index, Search, Vectors
from tagwright.stages.lexical import Lexical
from tagwright.stages.linear.stage import Linear
from tagwright.stages.linear.svm import SvmOptions, fit_svm
from tagwright.stages.names.exact_match import ExactMatch
from tagwright.stages.reranker import CrossEncoderReranker
from tagwright.tagger import Tagger
from tagwright.types import Document, Label

LABELS = Vocabulary(Label(name, (name,), about) for name, about in (("bee", "honey"), ("bank", "money"), ("rain", "")))
DOCUMENTS = [
    Document(f"{name}{i}", f"{name} {words}", labels=(name,))
    for name, words in (("bee", "honey hive"), ("bank", "money stock"), ("rain", "water river"))
    for i in range(3)
]
VALUES: tuple[Any, ...] = (-5, 0, 10**12, 4294967295000, 1e308, None, True, "x", "../x", [], {}, [[]], {"a": 1})


def taggers(folder: Path) -> list[Path]:
    """Saved taggers, small enough to be loaded again and again."""
    encoder = BiEncoder.load(str(tiny_encoder(folder / "tiny")), cached=False)
    cross = CrossEncoder.load(str(folder / "tiny"))
    bag = BagOfWords.of((document.text for document in DOCUMENTS), BagOptions(min_documents=1))
    features, gold = bag.transform(document.text for document in DOCUMENTS), LABELS.gold(DOCUMENTS)
    vectors = np.random.default_rng(0).standard_normal((2, DIM), np.float32)
    free = ClassifierWeights(np.array([0, 2], np.int32), Vectors.of(vectors, "float16"))
    dense = Dense(LABELS, encoder, DenseOptions())
    search = Search(dense.vectors, "auto", Index.build(dense.vectors, 1))
    indexed = Dense(LABELS, encoder, dense.options, search)
    svm = Linear(LABELS, bag, *fit_svm(features, gold, len(LABELS), SvmOptions(workers=1)))
    trees = Trees(LABELS, bag, fit_trees(features, gold, len(LABELS), leaf=2, workers=1))
    made = {
        "words": Tagger(
            LABELS,
            {"exact_match": ExactMatch(LABELS), "lexical": Lexical(LABELS)},
            steps=(WeightedSum(weights={"exact_match": 0.5}),),
        ),
        "linear": Tagger(LABELS, {"svm": svm, "trees": trees}),
        "dense": Tagger(LABELS, {"dense": indexed, "full": FullText(dense)}),
        "cross": Tagger(LABELS, {"exact_match": ExactMatch(LABELS)}, {"cross": CrossEncoderReranker(LABELS, cross)}),
        "dual": Tagger(LABELS, {"dual": DescriptionRetriever(LABELS, encoder, encoder, free, {"bee": ("hive",)})}),
    }
    for name, tagger in made.items():
        tagger.save(folder / name)
    return [folder / name for name in made]


def damage(tagger: Path, seed: int) -> str:
    """Damage one file of a saved tagger in one way; says what was done."""
    rng = random.Random(seed)
    files = sorted(file for file in tagger.rglob("*") if file.is_file())
    ways: dict[str, Callable[[Path], object]] = {
        "information_content": lambda file: _flip(file, rng),
        "cut": lambda file: file.write_bytes(file.read_bytes()[: rng.randrange(file.stat().st_size + 1)]),
        "swap": lambda file: file.write_bytes(rng.choice(files).read_bytes()),
        "delete": Path.unlink,
        "value": lambda file: _revalue(file, rng),
        "number": lambda file: _renumber(file, rng),
    }
    way = rng.choice([*ways, "value", "value"])
    fitting = {"value": ".json", "number": ".npy"}.get(way, "")
    file = rng.choice([file for file in files if file.name.endswith(fitting)] or files)
    ways[way](file)
    return f"{way} {file.relative_to(tagger).as_posix()}"


def use(tagger: Path) -> str:
    """Load and suggest: "result", or the error in one line. Anything else is a finding."""
    try:
        loaded = Tagger.load(tagger)
        run = loaded.tag(DOCUMENTS[:2], 2)
        if len(run.labels):
            loaded.evidence(DOCUMENTS[0], [int(run.labels[0])])
    except TagwrightError as error:
        return str(error)
    return "result"


def _flip(file: Path, rng: random.Random) -> None:
    content = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 1, 8)) if content else 0):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


def _revalue(file: Path, rng: random.Random) -> None:
    """Put something else in the place of one value of a JSON file."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return
    place = content
    while isinstance(place, dict | list) and place:
        key = rng.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not isinstance(place[key], dict | list) or not place[key] or rng.random() < 0.3:
            place[key] = rng.choice(VALUES)
            break
        place = place[key]
    file.write_text(json.dumps(content), encoding="utf-8")


def _renumber(file: Path, rng: random.Random) -> None:
    """Put something else in the place of one number of an array."""
    if file.suffix != ".npy":
        return
    array = np.array(np.load(file))
    if array.size:
        values = [np.inf, np.nan, 1e30] if array.dtype.kind == "f" else [-2, -1, np.iinfo(array.dtype).max, 0]
        with np.errstate(all="ignore"):
            array.reshape(-1)[rng.randrange(array.size)] = np.array(rng.choice(values)).astype(array.dtype)
    np.save(file, array)
