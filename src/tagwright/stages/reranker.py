"""Re-rank candidates with a cross-encoder, which reads document and label together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

import numpy as np

from tagwright.core.checked import AtLeastOne, Checked
from tagwright.core.saved import saved_folder
from tagwright.encoders.cross_encoder import CrossEncoder
from tagwright.encoders.device import model_settings
from tagwright.stages.evidence import text_of
from tagwright.types import Distribution, Document, Floats, Label, Run, Stage

PairedText: TypeAlias = Literal["name", "names", "text", "described"]


@dataclass(frozen=True, kw_only=True)
class RerankerOptions(Checked):
    """Which texts of a label and a document to read. Raises ConfigError for a value that cannot work."""

    label_text: PairedText = "text"
    """"name", the preferred one; "names", all; "text", all and the description; or "described", the preferred one
    and the description (MICoL 3.2)."""

    document_tokens: AtLeastOne | None = 256
    "The most tokens of a document (MICoL A.3.2); None: as many as fit beside the label."


class CrossEncoderReranker(Stage):
    """Ranks candidates by reading each document and label together (MICoL Eq. 6). A re-ranker: all labels are too many.

    Of a document it reads title and abstract, or all text from the start if there is no abstract.
    """

    distribution: Distribution = "normal"
    meaning = "text and label read together"

    def __init__(
        self, labels: Sequence[Label], encoder: CrossEncoder, options: RerankerOptions = RerankerOptions()
    ) -> None:
        self.labels, self.encoder, self.options = labels, encoder, options

    def read(self, documents: Sequence[Document]) -> list[str]:
        """The text of each document."""
        return [document.read_as("title_and_abstract") for document in documents]

    def score(self, reading: list[str], candidates: Run) -> Floats:
        """(suggestions,) the cross-encoder's score of each document and its candidates, of any size."""
        used, columns = np.unique(candidates.labels, return_inverse=True)
        labels = [text_of(self.labels[label], self.options.label_text) for label in used.tolist()]
        tokens = self.options.document_tokens
        return self.encoder.score(reading, labels, candidates.rows, columns, first_tokens=tokens, progress="re-ranking")

    def with_labels(self, labels: Sequence[Label]) -> "CrossEncoderReranker":
        """Return a copy for other labels; nothing is computed."""
        return CrossEncoderReranker(labels, self.encoder, self.options)

    def state(self) -> dict[str, Any]:
        """Return what a saved stage is made of: the options and the encoder."""
        return {"options": self.options, "encoder": self.encoder}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], labels: Sequence[Label]) -> Self:
        """Make the stage of a saved state."""
        with model_settings(offline=True):  # it lies in the folder, or is missing
            encoder = CrossEncoder.load(str(saved_folder(state, "encoder")))
        return cls(labels, encoder, RerankerOptions(**state["options"]))
