"""Paraphrase texts by translating them to another language and back, with two local models (UDA)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tagwright.encoders.kernels import best_device
from tagwright.encoders.model_folder import find
from tagwright.errors import ModelError

BATCH = 32
"Sentences that are translated together."


class Translator:
    """A sequence-to-sequence model by name: a folder, or a Hugging Face id: see `model_folder.find`.

    Decoding is greedy, so that a text has one translation. Raises ModelError when there is no such model, or its
    weights are not safetensors.
    """

    def __init__(self, name: str) -> None:
        from safetensors import SafetensorError
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer
        from transformers.utils import logging

        folder = find(name)
        options = {"local_files_only": True, "trust_remote_code": False}
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
            model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, use_safetensors=True, **options)
        except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"{folder}: cannot be loaded as a translation model ({error})") from error
        self.model = model.eval().to(best_device())

    def __call__(self, sentences: Sequence[str]) -> list[str]:
        """Each sentence translated, in batches of similar length; overlong sentences are truncated."""
        import torch

        found, order = [""] * len(sentences), sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        most = min(int(self.tokenizer.model_max_length), 512)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            tokens = self.tokenizer(
                [sentences[i] for i in batch], padding=True, truncation=True, max_length=most, return_tensors="pt"
            )
            inputs = {name: tokens[name].to(self.model.device) for name in ("input_ids", "attention_mask")}
            with torch.inference_mode():
                translated = self.model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=most)
            for i, text in zip(batch, self.tokenizer.batch_decode(translated, skip_special_tokens=True), strict=True):
                found[i] = text.strip()
        return found
