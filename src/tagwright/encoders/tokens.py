"""Read tokenizers, tokenise batches of texts into one array, and measure how well a tokenizer knows their language."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tagwright.errors import ModelError
from tagwright.text.batch import Numbered, WordCache
from tagwright.types import Floats, Longs

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LARGEST_GROWTH = 100
"How many times as long as before a tokenizer may make a text, which it cuts to the model's length only then."


Fertility: TypeAlias = Callable[[Numbered], Floats]
"See `fertility_of`."


@dataclass(frozen=True, eq=False)
class Tokens:
    """Token ids of several texts in one array: those of text i are ids[starts[i] : starts[i] + lengths[i]].

    ids: (tokens,); starts, lengths: (texts,); all int64.
    """

    ids: Longs
    starts: Longs
    lengths: Longs

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]]) -> Tokens:
        """Build from the list of token ids of each text.

        >>> Tokens.of([[5, 6], [], [7]]).take(np.array([2, 0])).ids.tolist()
        [7, 5, 6]
        """
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return cls(np.fromiter(chain.from_iterable(texts), np.int64, int(lengths.sum())), _starts(lengths), lengths)

    def __len__(self) -> int:
        return len(self.lengths)

    def lists(self) -> list[list[int]]:
        """Return the ids of each text."""
        ids, starts = self.ids.tolist(), self.starts.tolist()
        return [ids[start : start + length] for start, length in zip(starts, self.lengths.tolist(), strict=True)]

    def take(self, rows: Longs) -> Tokens:
        """Return the texts of these rows, in this order, next to each other. A row may be given more than once."""
        lengths = self.lengths[rows]
        starts = _starts(lengths)
        # the position in self.ids of each token: its position here, moved by where its text began
        source = np.arange(int(lengths.sum())) + np.repeat(self.starts[rows] - starts, lengths)
        return Tokens(self.ids[source], starts, lengths)


def tokenizer_of(tokenizer: Tokenizer) -> Callable[[Sequence[str]], Tokens]:
    """Return a function that tokenises texts without special tokens, by cached words if that gives the same ids.

    Threads may share it.
    """
    if not tokenizes_words_independently(tokenizer):
        return lambda texts: Tokens.of(_encode(tokenizer, texts))
    longest = tokenizer.truncation["max_length"] if tokenizer.truncation else None
    cached = WordCache(partial(_encode, without_limits(tokenizer) if longest else tokenizer))

    def tokenize(texts: Sequence[str]) -> Tokens:
        split = [text.split(" ") for text in texts]
        words = Tokens.of(cached(list(chain.from_iterable(split))))
        # the words of a text are next to each other
        ends = np.append(words.starts, len(words.ids))[np.cumsum([0, *map(len, split)])]
        if longest is None:
            return Tokens(words.ids, ends[:-1], np.diff(ends))
        return Tokens(words.ids, ends[:-1], np.minimum(np.diff(ends), longest)).take(np.arange(len(texts)))

    return tokenize


def tokenizes_words_independently(tokenizer: Tokenizer) -> bool:
    """Whether tokenising each word between spaces by itself gives the tokens of the whole text, as in BERT.

    A text that is too long may be cut after its first tokens.
    """
    normalizer, pre_tokenizer = (type(part).__name__ for part in (tokenizer.normalizer, tokenizer.pre_tokenizer))
    added = (token.content for token in tokenizer.get_added_tokens_decoder().values())
    return (
        pre_tokenizer in {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"}
        and normalizer in {"BertNormalizer", "Lowercase", "NFC", "NFKC", "NoneType"}
        and not any(text.split() != [text] for text in added)
        and (tokenizer.truncation or {"direction": "right"})["direction"] == "right"
    )


def fertility_of(tokenizer: Tokenizer) -> Fertility:
    """Return a function that measures fertility: how well a tokenizer, and so its encoder, knows the language of texts.

    It gives (texts,) letters per token in the longer words of each text; 0 if all are unknown, NaN if there are none.

    A tokenizer keeps frequent words of its training languages whole and splits those of others into small pieces. A
    word with an unknown piece counts with its tokens, but without letters. With MiniLM's tokenizer, English titles and
    abstracts have 5.6 to 6.5, German 3.7, Finnish 2.5, Russian 1.1; names of labels are one or two below texts of their
    language. Words that have been seen are remembered. tokenizer: without padding, not changed later.
    """
    unknown = getattr(tokenizer.model, "unk_token", None)
    missing = None if unknown is None else tokenizer.token_to_id(unknown)

    def count(words: Sequence[str]) -> list[tuple[int, int]]:
        """The known letters and the tokens of each word; none of a shorter one."""
        letters = list(map(_letters, words))
        long = [word for word, length in zip(words, letters, strict=True) if length]
        with no_panic():
            encodings = iter(tokenizer.encode_batch_fast(long, add_special_tokens=False))
        counts = []
        for length in letters:
            encoding = next(encodings) if length else None
            parts = [encoding, *encoding.overflowing] if encoding else []  # what is cut off of a word overflows
            ids = [token for part in parts for token in part.ids]
            counts.append((length * (missing not in ids), len(ids)))
        return counts

    counts = WordCache(count)

    def measured(texts: Numbered) -> Floats:
        of_words = np.array(counts(texts.words), np.int64).reshape(-1, 2)[texts.numbers]
        sums = np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(of_words, axis=0)])[[0, *texts.ends]]
        letters, tokens = np.diff(sums, axis=0).T
        return np.array(np.divide(letters, tokens, out=np.full(len(tokens), np.nan), where=tokens > 0), np.float32)

    return measured


def _letters(word: str) -> int:
    """The letters of a word; 0 if it has a digit or a sign, or is one of fewer than 5 letters: many languages have it.

    A Chinese character, a kana or a syllable of Hangul counts as three letters, and is long enough alone.
    """
    dense = 0 if word.isascii() else len(_DENSE.findall(word))
    return len(word) + 2 * dense if word.isalpha() and (dense or len(word) >= 5) else 0


_DENSE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def read_tokenizer(file: Path) -> Tokenizer:
    """Read a tokenizer.json, to be used without padding. Raises ModelError when it is damaged."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library has no error class for it
        raise ModelError(f"{file}: damaged ({error}); get the model again") from error
    check_growth(tokenizer, file)
    tokenizer.no_padding()
    return tokenizer


def check_growth(tokenizer: Any, place: Path) -> None:
    """Raise ModelError for a tokenizer that may make a text more than LARGEST_GROWTH times as long.

    tokenizer: of the tokenizers library, or one around it; others have no such rules. place: for the message.
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    rules = (getattr(backend, "normalizer", None), getattr(backend, "post_processor", None))
    growth = math.prod(_growth(json.loads(rule.__getstate__())) for rule in rules if rule is not None)
    if growth > LARGEST_GROWTH:
        raise ModelError(
            f"{place}: its tokenizer may make a text {growth:.3g} times as long, expected at most {LARGEST_GROWTH} "
            "times; take another model"
        )


def _growth(rule: Mapping[str, Any]) -> float:
    """How many times as long as before a text may be after a rule of a tokenizer, Unicode's own forms left out."""
    if rule["type"] == "Sequence":
        return math.prod(map(_growth, rule.get("normalizers") or rule.get("processors") or ()))
    if rule["type"] == "TemplateProcessing":  # of one text or two, with special tokens; normally each text once
        return max(1.0, sum("Sequence" in part for part in rule["single"] + rule["pair"]) / 3)
    if rule["type"] == "Replace":
        length, replaced = len(rule["content"]), rule["pattern"].get("String")
        return max(1.0, length / len(replaced)) if replaced else 1.0 + length  # a pattern may match nothing, everywhere
    if rule["type"] == "Precompiled":  # the size of a search tree, the tree, and what it replaces characters by
        table = base64.b64decode(rule["precompiled_charsmap"])
        replacements = table[4 + int.from_bytes(table[:4], "little") :].decode(errors="replace").split("\0")
        return max(1.0, max(map(len, replacements)) / 18)  # as many as Unicode's own make of one: U+FDFA in NFKC
    return 1.0 + len(rule.get("prepend", ""))


def without_limits(tokenizer: Tokenizer) -> Tokenizer:
    """A copy that neither pads nor truncates."""
    copy: Tokenizer = tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


@contextmanager
def no_panic() -> Iterator[None]:
    """Raise ModelError where the tokenizers library panics, as in a regular expression that does not come to an end."""
    try:
        yield
    except BaseException as error:  # what a panic becomes is no Exception, and cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        raise ModelError(f"the encoder's tokenizer is damaged ({error}); get the model again") from None


def _encode(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    with no_panic():
        return [each.ids for each in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def _starts(lengths: Longs) -> Longs:
    """Return where each text starts if the texts lie next to each other."""
    return np.cumsum(lengths) - lengths
