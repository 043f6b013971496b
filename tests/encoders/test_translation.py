from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.tiny import VOCABULARY, tiny_encoder

from tagwright.encoders.translation import Translator
from tagwright.errors import ModelError

SENTENCES = ["bees", "honey bees fly over a river of money", "rain", "", "a wasp in the bank"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model that says something else of every sentence."""
    import torch
    from transformers import BartConfig, BartForConditionalGeneration, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("model")
    tokenizer: Any = PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_file=str(tiny_encoder(path / "tiny") / "tokenizer.json"),
        pad_token="[PAD]", unk_token="[UNK]", bos_token="[CLS]", eos_token="[SEP]", model_max_length=16,
    )  # fmt: skip
    config = BartConfig(
        vocab_size=len(VOCABULARY), d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=32, init_std=1.0,
        pad_token_id=0, bos_token_id=2, eos_token_id=3, decoder_start_token_id=2, forced_eos_token_id=None,
    )  # fmt: skip
    torch.manual_seed(0)
    BartForConditionalGeneration(config).save_pretrained(path / "model")
    tokenizer.save_pretrained(path / "model")
    return path / "model"


def test_sentences_are_translated_in_their_order_whatever_their_length(folder: Path) -> None:
    translate = Translator(str(folder))
    together = translate(SENTENCES)
    assert together == [translate([sentence])[0] for sentence in SENTENCES]
    assert len(set(together)) > 2
    assert translate([]) == []


def test_what_is_no_translation_model_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded as a translation model"):
        Translator(str(tiny_encoder(tmp_path / "tiny")))
