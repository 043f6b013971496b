"""Stages that find labels by the vectors of an encoder."""

from tagwright.stages.dense.retriever import (
    BEGINNING,
    SENTENCES,
    SPANS,
    WORTH,
    Dense,
    DenseOptions,
    LabelText,
    TextEncoder,
    Texts,
)

__all__ = ["BEGINNING", "SENTENCES", "SPANS", "WORTH", "Dense", "DenseOptions", "LabelText", "TextEncoder", "Texts"]
