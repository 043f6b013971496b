"""Options of `zero_shot` and `train` for type checkers; `python -m tests.api.option_types` writes it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from tagwright.llm.options import LlmOptions
from tagwright.stages.linear.svm import SvmOptions
from tagwright.tagger.pipeline import Tagger
from tagwright.training.config import TrainingConfig
from tagwright.types import Run

# fmt: off
ZeroShotOptions = TypedDict("ZeroShotOptions", {  # noqa: UP013 - as a class it has a line for each option
    "candidates": int, "encoder": Any, "labels_per_document": float | None, "language": str,
    "llm": LlmOptions | Mapping[str, Any], "precision": Literal["auto", "float32", "bfloat16", "int8"],
    "prompts": Mapping[str, str], "stages": Sequence[str], "text_field": Literal["title_and_abstract", "text"],
    "title_match": float, "translation": bool, "trust": bool,
    "weights": Literal["fixed"] | Sequence[float] | Mapping[str, float] | None,
}, total=False)

TrainOptions = TypedDict("TrainOptions", {  # noqa: UP013 - as a class it has a line for each option
    "abstract_chance": float, "activation_token_budget": int | None,
    "aggregate": Literal["tree", "sections", "paragraphs", "best", "abstract", "first"], "apart": bool,
    "architecture": Literal["bi", "cross"], "batch": int | None, "beam": int, "best": int, "budget": int | None,
    "by_value": bool, "candidates": int | float, "candidates_each": int, "check": bool, "checkpoint_seconds": float,
    "clip": float | None, "clustering": bool, "clusters": int | None, "corpus": int | None, "cost": float,
    "count": int | None, "decay": float | None, "dropout": Literal["off", "same", "all"] | None, "encoder": Any,
    "encoder_pairs": bool, "epochs": float | None, "exclude_self": bool | None, "field": str, "found": int,
    "full_shuffle": bool, "fuse": bool, "fuse_with": Sequence[Tagger | Path | str], "groups": bool,
    "hard_negatives": int, "judged": Run | None, "keywords": int | Mapping[str, Sequence[str]] | Path | None,
    "label_pairs": bool, "label_pooling": Literal["cls", "mean"], "label_regularisation": bool,
    "label_text": Literal["name", "names", "text", "described", "both"], "labelled": int,
    "labels_per_document": float | None, "language": str, "leaf_labels": int, "learning_rate": float | None,
    "llm": LlmOptions | Mapping[str, Any],
    "loss": Literal["info_nce", "symmetric"] | Literal["hinge", "squared_hinge"] | Callable[..., Any] | None,
    "max_length": int | None, "max_words": int, "meta_path": str, "min_cosine": float, "min_papers": int,
    "min_words": int, "minutes": float, "model": Tagger | Path | str | None,
    "network": Literal["auto", "cross", "shared", "bi", "both", "none"], "order": Literal["example", "append"],
    "output": Path | str | None, "overwrite": bool,
    "pairs": Literal["mixed", "metadata", "values", "names", "rts"] | Callable[..., Any] | None,
    "pooling": Literal["cls", "mean"] | None, "precision": Literal["auto", "float32", "bfloat16", "int8"],
    "projection": int | None, "prompts": Mapping[str, str], "prune": float, "pseudo_labels": int,
    "rank": Literal["encoder", "fused"],
    "rankings": Sequence[Literal["abstract", "fulltext", "mentions", "all_mentions"]], "resume": bool,
    "retrievers": Sequence[Literal["exact_match", "dense"]], "reviews": Path | None, "sampled_labels": int | None,
    "seed": int, "segment_pairs": bool, "segmentation": Literal["random", "fixed", "natural"], "self_pairs": bool,
    "self_training": bool, "share_of_labels": float | None, "share_of_pairs": float | None, "shortest": int,
    "stages": Sequence[str], "steps": int | None, "suggestions": int, "svm": SvmOptions | Mapping[str, Any],
    "temperature": float, "text_field": Literal["title_and_abstract", "text"], "tfidf_pairs": bool,
    "title_match": float, "title_pairs": bool, "tokens": int,
    "trained": Sequence[Literal["combiner", "svm", "knn", "knn_dense", "depl_cls", "rts"]] | None,
    "trained_start": bool, "training": TrainingConfig | Mapping[str, Any], "translation": bool, "trees": int,
    "trust": bool, "unit_paragraphs": bool, "unit_vectors": bool, "unknown": Literal["warn", "error", "ignore"],
    "validation": float | None, "variant": Literal["depl", "depl_cls", "de_ret", "classifier"], "warmup": float | None,
    "warmup_steps": int | None, "weight_decay": float | None,
    "weights": Literal["fixed"] | Sequence[float] | Mapping[str, float] | None, "without_title": float, "workers": int,
}, total=False)
