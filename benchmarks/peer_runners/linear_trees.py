"""PECOS XR-Linear with its own TF-IDF, all by its defaults; on one thread, as every peer here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer


class LinearTrees:
    """A model of XR-Linear, the preprocessor before it, and the labels by number."""

    def __init__(self, model: Any, preprocessor: Any, labels: list[str]) -> None:
        self.model = model
        self.preprocessor = preprocessor
        self.labels = labels

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """With the beam of its defaults."""
        found = self.model.predict(self.preprocessor.predict(lines(documents.texts), threads=1), only_topk=k, threads=1)
        for row in found:
            yield [(self.labels[label], score) for label, score in zip(row.indices, row.data.tolist(), strict=True)]

    def save(self, folder: Path) -> None:
        """Model, preprocessor and labels."""
        self.model.save(str(folder / "model"))
        self.preprocessor.save(str(folder / "preprocessor"))
        (folder / "labels.json").write_text(json.dumps(self.labels), encoding="utf-8")


def fit(job: Job) -> LinearTrees:
    """Its quick start: TF-IDF, PIFA label embeddings, hierarchical k-means, XR-Linear."""
    import numpy as np
    from pecos.utils.featurization.text.preprocess import Preprocessor
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel
    from scipy.sparse import csc_matrix

    texts, rows = job.train.labelled
    preprocessor = Preprocessor.train(lines(texts), {"type": "tfidf", "kwargs": {}})
    features = preprocessor.predict(lines(texts), threads=1)
    labels = sorted({label for row in rows for label in row})
    number = {label: place for place, label in enumerate(labels)}
    places = [(document, number[label]) for document, row in enumerate(rows) for label in row]
    documents, columns = np.array(places).T
    shape = (len(rows), len(labels))
    targets = csc_matrix((np.ones(len(places), np.float32), (documents, columns)), shape=shape, dtype=np.float32)
    embeddings = LabelEmbeddingFactory.create(targets, features, method="pifa", threads=1)
    clusters = Indexer.gen(embeddings, indexer_type="hierarchicalkmeans", threads=1)
    return LinearTrees(XLinearModel.train(features, targets, C=clusters, threads=1), preprocessor, labels)


def lines(texts: list[str]) -> list[str]:
    """PECOS takes a text for a line."""
    return [" ".join(each.split()) for each in texts]


def load(job: Job) -> LinearTrees:
    """The saved model, for prediction only."""
    from pecos.utils.featurization.text.preprocess import Preprocessor
    from pecos.xmc.xlinear.model import XLinearModel

    model = XLinearModel.load(str(job.folder / "model"), is_predict_only=True)
    labels = json.loads((job.folder / "labels.json").read_text(encoding="utf-8"))
    return LinearTrees(model, Preprocessor.load(str(job.folder / "preprocessor")), labels)


if __name__ == "__main__":
    answer(fit, load)
