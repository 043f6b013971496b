"""Stages that find labels by the vectors of an encoder."""

from tagwright.stages.dense.retriever import PAYS, Dense, DenseOptions, LabelText, TextEncoder, Texts

__all__ = ["PAYS", "Dense", "DenseOptions", "LabelText", "TextEncoder", "Texts"]
