"""Pack the texts of a chunk one after the other, without padding; attention keeps each text to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tagwright.types import Longs

if TYPE_CHECKING:
    import torch

NAME = "tagwright_packed"
"The attention, as transformers calls it."

FAMILIES = ("bert", "roberta", "xlm-roberta")
"""Transformers in which every token attends to all tokens of its text, and whose positions can be given. Others have
windows or biases that `attention` does not know."""


def can_pack(model: Any) -> bool:
    """Whether texts can be packed for this model; if so, transformers knows the attention for it by NAME."""
    if model.transformers_model.config.model_type not in FAMILIES or type(model[1]).__name__ != "Pooling":
        return False
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(NAME, attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    return True


def features(lengths: Longs, config: Any) -> dict[str, Any]:
    """The features that tell packed texts apart. lengths: (texts,) tokens. config: of the transformer."""
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)  # as the kernel wants it
    positions = np.arange(ends[-1]) - np.repeat(ends[:-1], lengths)
    first = 0 if config.model_type == "bert" else int(config.pad_token_id) + 1  # the position of a first token
    longest = int(lengths.max())
    return {
        "position_ids": positions[None] + first,
        "seq_idx": np.repeat(np.arange(len(lengths)), lengths)[None],
        "cu_seq_lens_q": ends,
        "cu_seq_lens_k": ends,
        "max_length_q": longest,
        "max_length_k": longest,
    }


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    dropout: float = 0.0,
    cu_seq_lens_q: torch.Tensor | None = None,
    max_length_q: int = 0,
    **options: Any,
) -> tuple[torch.Tensor, None]:
    """Attention within each text. query, key, value: (1, heads, tokens, dim); returns (1, tokens, heads, dim).

    Texts that are padded, not packed, are computed as usual. On a card this is the kernel that torch's own nested
    tensors and `varlen_attn` call: the former take a millisecond of Python for each layer, the latter has no dropout.
    """
    import torch
    from torch.nn.functional import scaled_dot_product_attention
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if cu_seq_lens_q is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout=dropout, **options)
    parts = [part[0].transpose(0, 1) for part in (query, key, value)]  # (tokens, heads, dim)
    if query.is_cuda:
        ends, longest = cu_seq_lens_q, max_length_q
        kernel = torch.ops.aten._flash_attention_forward
        return kernel(*parts, ends, ends, longest, longest, dropout, False, False)[0][None], None
    lengths = cu_seq_lens_q.diff().tolist()
    heads = [torch.split(part.transpose(0, 1), lengths, dim=1) for part in parts]
    attended = [scaled_dot_product_attention(q, k, v, dropout_p=dropout) for q, k, v in zip(*heads, strict=True)]
    return torch.cat(attended, dim=1).transpose(0, 1)[None], None
