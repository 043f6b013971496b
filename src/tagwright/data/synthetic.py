"""Documents that a language model wrote: trainings may learn from them, and nothing is measured on them."""

from tagwright.types import Document

SYNTHETIC = "tagwright_synthetic"
"The metadata field that marks them. Its values say by which model, by which instructions, and when."


def is_synthetic(document: Document) -> bool:
    """Whether a language model wrote the document."""
    return SYNTHETIC in document.metadata
