"""Encoders of documents and of labels over one shared model, each with its own pooling and pooler."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal

from tagwright.encoders.architecture import prompts_of
from tagwright.encoders.device import best_device

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer


def encoder(model: SentenceTransformer) -> SentenceTransformer:
    """The shared encoder to train: a copy of a model's first module; a transformer gives [CLS, mean] as one vector.

    The model's prompts are kept.
    """
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, StaticEmbedding

    module: Any = copy.deepcopy(model[0])
    prompts, device = prompts_of(model).by_role, str(best_device())
    if isinstance(module, StaticEmbedding):
        return SentenceTransformer(modules=[module], prompts=prompts, device=device)
    pooling = Pooling(module.get_embedding_dimension(), ("cls", "mean"))
    return SentenceTransformer(modules=[module, pooling], prompts=prompts, device=device)


def width(model: SentenceTransformer) -> int:
    """Length of one vector of the encoder."""
    module: Any = model[0]
    return int(module.get_embedding_dimension())


def side(
    model: SentenceTransformer, pooler: torch.nn.Linear, pooling: Literal["cls", "mean"], *, unit: bool = True
) -> SentenceTransformer:
    """One side of the dual encoder: the shared encoder, its pooling, and the linear pooler (3.3).

    unit: scale vectors to length 1 before the pooler, which the paper does not mention: the encoders are made for
    cosines. The mean of a label's text (Eq. 2) counts the special tokens, as the encoders' own pooling does.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

    shared: Any = model[0]
    linear = Dense(pooler.in_features, pooler.out_features, activation_function=torch.nn.Identity())
    linear.linear.load_state_dict(pooler.state_dict())
    pool = [] if len(model) == 1 else [Pooling(pooler.in_features, pooling)]
    modules = [shared, *pool, *([Normalize()] if unit else []), linear]
    return SentenceTransformer(modules=modules, prompts=prompts_of(model).by_role, device=str(model.device)).eval()


def pooler_of(model: SentenceTransformer) -> torch.nn.Linear:
    """The linear pooler of one side."""
    last: Any = model[len(model) - 1]
    linear: torch.nn.Linear = last.linear
    return linear
