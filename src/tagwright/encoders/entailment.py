"""Use a model for natural language inference as a cross-encoder: how surely a text entails another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sentence_transformers

ENTAILMENT, CONTRADICTION = "entailment", ("contradiction", "not_entailment")


def as_one_score(model: sentence_transformers.CrossEncoder) -> sentence_transformers.CrossEncoder:
    """The model with the difference of its logits of entailment and contradiction as its only score.

    That ranks as the probability of entailment between the two does (0SHOT-TC, FuTex 4.1). The last layer is changed
    in place, so that the model is an ordinary cross-encoder from here on. One whose classes are others stays as it is.
    """
    import torch

    inner: Any = model.transformers_model
    classes = {str(name).lower(): number for number, name in inner.config.id2label.items()}
    other = next((classes[name] for name in CONTRADICTION if name in classes), None)
    if ENTAILMENT not in classes or other is None:
        return model
    linear = [module for module in inner.modules() if isinstance(module, torch.nn.Linear)]
    last = next(module for module in reversed(linear) if module.out_features == len(classes))
    with torch.no_grad():
        for name, weight in dict(last.named_parameters()).items():
            difference = weight[classes[ENTAILMENT]] - weight[other]
            setattr(last, name, torch.nn.Parameter(difference[None].clone()))
    last.out_features = inner.num_labels = inner.config.num_labels = 1
    return model
