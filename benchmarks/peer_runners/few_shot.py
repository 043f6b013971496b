"""SetFit with MiniLM: contrastive fine-tuning, then one logistic regression for each label, all by its defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.peer_runners.nearest import minilm
from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer


class FewShot:
    """A model of SetFit, and its labels by number."""

    def __init__(self, model: Any, labels: list[str]) -> None:
        self.model = model
        self.labels = labels

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """The labels with the highest probabilities."""
        import numpy as np

        chances = self.model.predict_proba(documents.texts, as_numpy=True)
        for row, places in zip(chances, np.argsort(-chances, axis=1)[:, :k], strict=True):
            yield [(self.labels[place], float(row[place])) for place in places.tolist()]

    def save(self, folder: Path) -> None:
        """Model and labels."""
        self.model.save_pretrained(str(folder / "model"))
        (folder / "labels.json").write_text(json.dumps(self.labels), encoding="utf-8")


def fit(job: Job) -> FewShot:
    """Learn from the labelled documents."""
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    texts, rows = job.train.labelled
    labels = sorted({label for row in rows for label in row})
    targets = [[int(label in row) for label in labels] for row in rows]
    model = SetFitModel.from_pretrained(minilm(), multi_target_strategy="one-vs-rest", device="cpu")
    arguments = TrainingArguments(output_dir=str(job.folder) + ".steps", save_strategy="no", report_to="none")
    Trainer(model=model, args=arguments, train_dataset=Dataset.from_dict({"text": texts, "label": targets})).train()
    return FewShot(model, labels)


def load(job: Job) -> FewShot:
    """The saved model."""
    from setfit import SetFitModel

    labels = json.loads((job.folder / "labels.json").read_text(encoding="utf-8"))
    return FewShot(SetFitModel.from_pretrained(str(job.folder / "model"), device="cpu"), labels)


if __name__ == "__main__":
    answer(fit, load)
