"""scikit-learn, as its users' guide has it: TF-IDF and a LinearSVC for each label, with the default settings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer

BATCH = 256
"Documents whose scores, one for each label, are in memory at once."


class OneVsRest:
    """A pipeline of scikit-learn and the labels that it knows."""

    def __init__(self, pipeline: Any, labels: Any) -> None:
        self.pipeline = pipeline
        self.labels = labels

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """The labels with the highest margins."""
        import numpy as np

        texts = documents.texts
        for start in range(0, len(texts), BATCH):
            margins = self.pipeline.decision_function(texts[start : start + BATCH])
            best = np.argsort(-margins, axis=1)[:, :k]
            for row, places in zip(margins, best, strict=True):
                yield list(zip(self.labels[places].tolist(), row[places].tolist(), strict=True))

    def save(self, folder: Path) -> None:
        """With joblib, as scikit-learn recommends."""
        import joblib

        joblib.dump((self.pipeline, self.labels), folder / "model.joblib")


def fit(job: Job) -> OneVsRest:
    """Learn from the labelled documents."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MultiLabelBinarizer
    from sklearn.svm import LinearSVC

    texts, labels = job.train.labelled
    binarizer = MultiLabelBinarizer(sparse_output=True)
    targets = binarizer.fit_transform(labels)
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), OneVsRestClassifier(LinearSVC()))
    return OneVsRest(pipeline.fit(texts, targets), binarizer.classes_)


def load(job: Job) -> OneVsRest:
    """The saved pipeline."""
    import joblib

    return OneVsRest(*joblib.load(job.folder / "model.joblib"))


if __name__ == "__main__":
    answer(fit, load)
