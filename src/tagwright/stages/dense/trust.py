"""Decide how far to trust an encoder with each document: how well its tokenizer knows the language of the text."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tagwright.encoders.model_folder import PACKAGED
from tagwright.errors import setting
from tagwright.text import language
from tagwright.types import Floats

_log = logging.getLogger(__name__)

UNKNOWN, FLUENT = 2.0, 4.5
"""Letters per token in a language unknown to the encoder, and from which on a language counts as known. With MiniLM's
tokenizer: Russian 1.1, Finnish 2.5, German 3.7, nearly all English texts more than 4.5."""

MULTILINGUAL = "intfloat/multilingual-e5-small"
"An encoder of the Hugging Face Hub that reads a hundred languages, and is of MiniLM's size."

LEAST = 0.01
"The trust that remains for an unknown language, so that labels without other evidence have an order."

TELLING = 5
"The fewest words of a text whose language is named: the language of shorter ones is often misrecognised."

FEW = 0.3
"Below this mean trust in a batch of documents, a warning is logged."

_warned = set[str]()
"Encoders that were warned of already: every batch has another mean, and perhaps other languages."


def trust(fertility: ArrayLike) -> Floats:
    """(n,) from nearly 0, the language is not known, to 1: it is. fertility: letters per token (`tokens.Fertility`).

    A text without a known fertility (NaN) is trusted. 3.25 is half way from 2 to 4.5.

    >>> [round(share, 2) for share in trust([1.0, 3.25, 6.0, float("nan")]).tolist()]
    [0.01, 0.5, 1.0, 1.0]
    """
    share = (np.asarray(fertility, np.float32) - UNKNOWN) / (FLUENT - UNKNOWN)
    trusted: Floats = np.nan_to_num(np.clip(share, LEAST, 1.0), nan=1.0).astype(np.float32)
    return trusted


def report(encoder: str, texts: Sequence[str], trusted: Floats, weight: float) -> None:
    """Warn once for each encoder that the encoder does not know the language of a batch."""
    if encoder in _warned or not len(texts) or (mean := float(trusted.mean())) >= FEW:
        return
    _warned.add(encoder)
    long = [text for text in texts[:100] if len(text.split()) >= TELLING]
    languages = " and ".join(str(each) for each in language.main_languages(language.recognise(long))) if long else ""
    _warn(encoder, languages, f"{weight * mean:.2g}", f"{weight:.2g}")


def _warn(encoder: str, languages: str, weight: str, usual: str) -> None:
    problem = f"does not know the language of these texts{languages and f' ({languages})'}"
    remedy = f"{setting('encoder', 'FOLDER')} names another"
    if encoder == PACKAGED:
        problem = f"reads English; these texts are {languages or 'in another language'}"
        remedy = f"{setting('encoder', MULTILINGUAL)} would read them"
    _log.warning("the encoder %s %s: its weight is %s, not %s; %s", encoder, problem, weight, usual, remedy)
