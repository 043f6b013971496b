"""Tagwright tags any document with any vocabulary, with few labelled documents or none.

    import tagwright as tw

    tagger = tw.zero_shot(["Bees", "Orchards", "Tax law"])
    tagger.suggest("Honey bees visit apple orchards.", k=3)

Everything here is imported on first use: the import itself loads no numpy and no torch.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagwright.version import __version__ as __version__

if TYPE_CHECKING:
    from tagwright import auto, sklearn
    from tagwright.api import compare, evaluate, load, report, train, zero_shot
    from tagwright.data.corpus import Corpus
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.errors import ConfigError, InputError, ModelError, TagwrightError
    from tagwright.evaluation.resampling import Score
    from tagwright.evaluation.scores import Scores
    from tagwright.evaluation.significance import Comparisons
    from tagwright.papers import depl, futex, maclr, micol, rts, svm
    from tagwright.readers.documents.jsonl import write_jsonl
    from tagwright.readers.run_files import read_run, write_run
    from tagwright.readers.trec import read_qrels, write_qrels
    from tagwright.tagger import Evidence, Reason, Suggestion, Suggestions, Tagger
    from tagwright.types import Document, EvidenceSpan, Label, Pair, Retriever, Run, Section, Stage

logging.getLogger(__name__).addHandler(logging.NullHandler())  # a library prints nothing: programs set up a log

# fmt: off
__all__ = [  # noqa: RUF022  # the functions first, then what they take and give
    "zero_shot", "train", "load", "evaluate", "compare", "report",
    "Tagger", "Suggestion", "Suggestions", "Evidence", "Reason", "Scores", "Score", "Comparisons", "Run",
    "Document", "Section", "Corpus", "Label", "Vocabulary",
    "read_run", "write_run", "read_qrels", "write_qrels", "write_jsonl",
    "Stage", "Retriever", "EvidenceSpan", "Pair",
    "TagwrightError", "InputError", "ConfigError", "ModelError",
    "auto", "rts", "maclr", "micol", "futex", "svm", "depl", "sklearn",
]
# fmt: on

_PLACES = {
    "tagwright.api": ("zero_shot", "train", "load", "evaluate", "compare", "report"),
    "tagwright.tagger.pipeline": ("Tagger", "Suggestion", "Suggestions"),
    "tagwright.tagger.suggestions": ("Evidence", "Reason"),
    "tagwright.evaluation.scores": ("Scores",),
    "tagwright.evaluation.resampling": ("Score",),
    "tagwright.evaluation.significance": ("Comparisons",),
    "tagwright.types": ("Run", "Document", "Section", "Label", "Stage", "Retriever", "EvidenceSpan", "Pair"),
    "tagwright.data.corpus": ("Corpus",),
    "tagwright.data.vocabulary": ("Vocabulary",),
    "tagwright.readers.run_files": ("read_run", "write_run"),
    "tagwright.readers.trec": ("read_qrels", "write_qrels"),
    "tagwright.readers.documents.jsonl": ("write_jsonl",),
    "tagwright.errors": ("TagwrightError", "InputError", "ConfigError", "ModelError"),
}
"Module -> what of it is here."

if not TYPE_CHECKING:  # a type checker knows all names from above, and says where one is wrong

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'tagwright' has no attribute {name!r}")
        place = next((module for module, names in _PLACES.items() if name in names), None)
        if place:
            member = getattr(import_module(place), name)
        else:  # a module of the same name
            from tagwright.registry import METHODS

            member = import_module(METHODS[name].module if name in METHODS else f"tagwright.{name}")
        globals()[name] = member  # the next access finds it at once
        return member


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
