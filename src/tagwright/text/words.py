"""Split text into words and sentences: the only definition of a word, for name matching and BM25 alike."""

from __future__ import annotations

import re
import unicodedata

# A word is a run of letters and digits of any script. Three exceptions, for names that would otherwise be lost: "C++"
# and "C#" keep their signs; the s of "Alzheimer's" is not a word; scripts written without spaces (Chinese characters,
# kana) give one word per character, so that a longer name is found inside a running text.
_CHARACTER = "぀-ヿ㐀-䶿一-鿿"
_WORD = re.compile(rf"(?![sS]\b(?<=\w['’].))[^\W_{_CHARACTER}]+(?:[+#]+(?!\w))?|[{_CHARACTER}]")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-zß-öø-ÿ])|(?<=[。！？])|\n+")


def clean(text: str) -> str:
    r"""Normalise text: compose characters (NFC), and replace control characters with spaces.

    >>> clean("cafe\u0301\x00noir")
    'café noir'
    """
    if not text.isprintable():
        text = text.translate(_CONTROL)
    if unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", _MANY_MARKS.sub(_separated, text))


def _separated(signs: re.Match[str]) -> str:
    return f"{signs[0]}\u034f" if unicodedata.combining(signs[0][-1]) else signs[0]


_MANY_MARKS = re.compile(r"[^\w\s\x00-\x7f]{30}")
"No letter has as many marks; to put them in order takes the square of their number: they are separated (UAX 15)."

_CONTROL: dict[int, str] = {
    **dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {*map(ord, "\t\n\r")}, " "),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # lone surrogates, which no file can hold
}


def fold(word: str) -> str:
    """Fold case and compatibility forms of one word.

    >>> fold("Straße"), fold("ﬁnite")
    ('strasse', 'finite')
    """
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def words(text: str) -> list[str]:
    """Return the folded words of a text, in order.

    >>> words("Alzheimer's disease: C++ and time-series (2020)")
    ['alzheimer', 'disease', 'c++', 'and', 'time', 'series', '2020']
    """
    return list(map(fold, raw_words(text)))


def raw_words(text: str) -> list[str]:
    """Return the words of a text as they are written.

    >>> raw_words("Alzheimer's disease")
    ['Alzheimer', 'disease']
    """
    found: list[str] = _WORD.findall(text)
    return found


def word_spans(text: str) -> list[tuple[int, int]]:
    """Return the character span of each word of `words(text)`.

    >>> word_spans("Big data")
    [(0, 3), (4, 8)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    r"""Return the character spans of the sentences, without surrounding spaces. A line break ends a sentence.

    >>> text = "It works. See Fig. 2 for e.g. more!\nNext line"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['It works.', 'See Fig.', '2 for e.g. more!', 'Next line']
    """
    ends = [*(match.span() for match in _SENTENCE_END.finditer(text)), (len(text), len(text))]
    starts = [0, *(end for _, end in ends)]
    spans = ((start, end) for start, (end, _) in zip(starts, ends, strict=False))
    return [(start, end) for start, end in spans if text[start:end].strip()]
