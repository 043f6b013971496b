"""Omikuji: Parabel's label trees with the default settings, on scikit-learn's TF-IDF."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer


class LabelTrees:
    """A model of omikuji, the vectorizer before it, and the labels by number."""

    def __init__(self, model: Any, vectorizer: Any, labels: list[str]) -> None:
        self.model = model
        self.vectorizer = vectorizer
        self.labels = labels

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """Document by document: omikuji has no other interface in Python."""
        for row in self.vectorizer.transform(documents.texts):
            features = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
            yield [(self.labels[label], score) for label, score in self.model.predict(features, top_k=k)]

    def save(self, folder: Path) -> None:
        """Trees, vectorizer and labels."""
        import joblib

        self.model.save(str(folder / "trees"))
        joblib.dump(self.vectorizer, folder / "vectorizer.joblib")
        (folder / "labels.json").write_text(json.dumps(self.labels), encoding="utf-8")


def fit(job: Job) -> LabelTrees:
    """Learn from the labelled documents, by way of the file that omikuji reads."""
    import omikuji
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts, rows = job.train.labelled
    vectorizer = TfidfVectorizer(sublinear_tf=True)
    features = vectorizer.fit_transform(texts)
    labels = sorted({label for row in rows for label in row})
    number = {label: place for place, label in enumerate(labels)}
    job.folder.mkdir(parents=True, exist_ok=True)
    path = job.folder.with_suffix(".train.txt")
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{features.shape[0]} {features.shape[1]} {len(labels)}\n")
        for row, features_of_row in zip(rows, features, strict=True):
            pairs = zip(features_of_row.indices.tolist(), features_of_row.data.tolist(), strict=True)
            values = " ".join(f"{place}:{value:.6g}" for place, value in sorted(pairs))
            file.write(f"{','.join(str(number[label]) for label in row)} {values}\n")
    return LabelTrees(omikuji.Model.train_on_data(str(path)), vectorizer, labels)


def load(job: Job) -> LabelTrees:
    """The saved model."""
    import joblib
    import omikuji

    labels = json.loads((job.folder / "labels.json").read_text(encoding="utf-8"))
    return LabelTrees(
        omikuji.Model.load(str(job.folder / "trees")), joblib.load(job.folder / "vectorizer.joblib"), labels
    )


if __name__ == "__main__":
    answer(fit, load)
