"""Stages that find labels by the vectors of an encoder."""

from tagwright.stages.dense.retriever import (
    BEGINNING,
    PAYS,
    SENTENCES,
    SPANS,
    Dense,
    DenseOptions,
    LabelText,
    TextEncoder,
    Texts,
)

__all__ = ["BEGINNING", "PAYS", "SENTENCES", "SPANS", "Dense", "DenseOptions", "LabelText", "TextEncoder", "Texts"]
