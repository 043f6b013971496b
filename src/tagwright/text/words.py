"""Split text into words and sentences: the only definition of a word, for name matching and BM25 alike."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TypeAlias

Known: TypeAlias = Callable[[str], bool]
"Whether a word is one of the vocabulary."

# A word is a run of letters and digits of any script. Three exceptions, for names that would otherwise be lost: "C++"
# and "C#" keep their signs; the s of "Alzheimer's" is not a word; scripts written without spaces give one word per
# character (Chinese, kana) or per letter with its marks (Thai, Lao, Burmese, Khmer), so that a longer name is found
# inside a running text.
_CHARACTER = "぀-ヿ㐀-䶿一-鿿"
_S = r"(?![sS]\b(?<=\w['’].))"
_SIGNS = r"(?:[+#]+(?!\w))?"
_WORD = re.compile(rf"{_S}[^\W_{_CHARACTER}]+{_SIGNS}|[{_CHARACTER}]")
_LETTERED = "\u0e00-\u0e4f\u0e80-\u0ecf\u1000-\u103f\u104c-\u109f\u1780-\u17df\uaa60-\uaa7f"

# "U.S.A.", "Ph.D." and "M.Sc." are one word each. Not "J.Li": what follows a dot without a space is often another word.
_LETTER = rf"[^\W\d_{_CHARACTER}{_LETTERED}]"
_AFTER_DOT = rf"(?:{_LETTER}|Sc|Phil|Ed|Eng|Litt|Th)(?!\w)"
_ABBREVIATION = (
    rf"(?<![\w.])(?:(?:{_LETTER}\.)+{_AFTER_DOT}|[A-Z]{_LETTER}\.(?:{_LETTER}\.)*{_LETTER}(?!\w)|EE\.UU(?!\w))"
)
_WORD_OR_ABBREVIATION = re.compile(rf"{_ABBREVIATION}|{_WORD.pattern}")
_DOTTED = re.compile(rf"\.(?<={_LETTER}\.)(?:{_AFTER_DOT}|UU)")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-zß-öø-ÿ])|(?<=[。！？])|\n+")

# Soft hyphen, joiners, marks of direction and of variants: nothing that is read. Between Arabic letters U+200C is where
# a Persian ending begins, so it ends a word there.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
_HIDDEN = rf"(?:(?!(?<=[\u0600-\u06ff])\u200c)[{_INVISIBLE}])"
_HYPHENS = "-\u2010\u00ad"
_BREAK = re.compile(rf"(?<=[^\W\d_])[{_HYPHENS}]\r?\n[ \t]*(?=[^\W\d_])")
_UNWRITTEN = re.compile(rf"[{_HYPHENS}.\s{_INVISIBLE}]+")
_UNUSUAL = re.compile(
    f"[\u00bc-\u00be\u013f\u0140\u0149\u02b0-\u036f\u0483-\u0489\u0590-\u1dff{_INVISIBLE}\u2070-\u209f\u20a8\u2100-\u218f\u2460-\u24ff\u2e80-\U0010ffff]"
)


def clean(text: str) -> str:
    r"""Normalise text: compose characters (NFC), and replace control characters with spaces.

    >>> clean("cafe\u0301\x00noir")
    'café noir'
    """
    if not text.isprintable():
        text = text.translate(_CONTROL)
    if unicodedata.is_normalized("NFC", text):
        return text
    # no letter has 30 marks; to put them in order takes the square of their number: they are separated (UAX 15)
    return unicodedata.normalize("NFC", re.sub(r"[^\w\s\x00-\x7f]{30}", _separate_signs, text))


def _separate_signs(signs: re.Match[str]) -> str:
    return f"{signs[0]}\u034f" if unicodedata.combining(signs[0][-1]) else signs[0]


_CONTROL: dict[int, str] = {
    **dict.fromkeys({*range(0x20), *range(0x7F, 0xA0)} - {*map(ord, "\t\n\r")}, " "),
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # lone surrogates, which no file can hold
}


def fold(word: str) -> str:
    """Fold case and compatibility forms of one word, ligatures and digits of other scripts.

    Without the accents that Greek capitals lack, and what Arabic and Hebrew may leave out or write otherwise.

    >>> fold("Straße"), fold("ﬁnite"), fold("Œuvre"), fold("ΑΘΗΝΑ") == fold("Αθήνα")
    ('strasse', 'finite', 'oeuvre', True)
    >>> fold("نَحْل") == fold("نحل"), fold("٢٠٢٦")
    (True, '2026')
    """
    if word.isascii():
        return word.lower()
    folded = _STRESS.sub("", unicodedata.normalize("NFKC", word).casefold().translate(_spellings()))
    if _ACCENTED.search(folded):
        apart = unicodedata.normalize("NFD", folded)
        folded = "".join(sign for sign in apart if not unicodedata.combining(sign))
    # a dot that is left after composing is that of a small "i": of İ, and in Lithuanian below an accent
    return unicodedata.normalize("NFKC", folded.replace("\u0307", "")) if "\u0307" in folded else folded


def words(text: str) -> list[str]:
    """Return the folded words of a text, in order.

    >>> words("Alzheimer's disease: C++ and time-series (2020)")
    ['alzheimer', 'disease', 'c++', 'and', 'time', 'series', '2020']
    """
    return [word.lower() if word.isascii() else fold(word) for word in raw_words(text)]


def plain_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of words without regard to unusual spellings, which is enough to count words.

    >>> plain_spans("Big H₂O")
    [(0, 3), (4, 7)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def raw_words(text: str, known: Known | None = None, *, plain: bool = False) -> list[str]:
    r"""Return the words of a text as they are written, without invisible characters, in plain digits and letters.

    A word that is hyphenated at the end of a line is one word. known: then it is two, if both are known and it is not.
    plain: as `plain_spans` divides the text.

    >>> raw_words("Alzheimer's disease and CO₂"), raw_words("polli-\nnation in or\u00adchards")
    (['Alzheimer', 'disease', 'and', 'CO2'], ['pollination', 'in', 'orchards'])
    """
    if plain or not is_unusual(text):
        found: list[str] = _WORD.findall(text)
        return found
    text = text if text.isascii() else text.translate(_plain_characters())
    if not is_broken(text):
        if text.isascii():
            return [word.replace(".", "") for word in _WORD_OR_ABBREVIATION.findall(text)]
        return list(map(_write_word, _word().findall(text)))
    return [_write_word(text[start:end]) for start, end in _spans(text, known)]


def word_spans(text: str, known: Known | None = None) -> list[tuple[int, int]]:
    """Return the character span of each word of `raw_words(text)`.

    >>> word_spans("Big data")
    [(0, 3), (4, 8)]
    """
    if not is_unusual(text):
        return plain_spans(text)
    table = _plain_characters()
    plain = text.translate(table)
    if plain == text:
        return list(_spans(text, known))
    places = array("l")  # of each character, where what it is written for stands in the text
    for place, sign in enumerate(text):
        places.extend([place] * len(table.get(ord(sign), sign)))
    return [(places[start], places[end - 1] + 1) for start, end in _spans(plain, known)]


def is_unusual(text: str) -> bool:
    r"""Whether a text may have words that are written in unusual ways.

    >>> is_unusual("Bees – und Blüten"), is_unusual("H₂O"), is_unusual("polli-\nnation")
    (False, True, True)
    """
    if is_broken(text) or _DOTTED.search(text):
        return True
    if text.isascii():
        return False
    try:
        text.encode("latin-1")  # much faster than to search
    except UnicodeEncodeError:
        return _UNUSUAL.search(text) is not None
    return any(sign in text for sign in "\u00ad\u00aa\u00b2\u00b3\u00b9\u00ba\u00bc\u00bd\u00be")


def is_broken(text: str) -> bool:
    """Whether a line ends with a hyphen behind a letter."""
    if "-\n" in text or ("\r" in text and "-\r" in text) or "\u00ad" in text or "\u2010" in text:
        return _BREAK.search(text) is not None
    return False


def is_hyphenated(before: str, following: str) -> bool:
    """Whether a hyphen at the end of a line breaks a word, by what stands before the line end and behind it.

    Not before a capital or a conjunction; the pieces of "X-ray" are not joined either.

    >>> is_hyphenated("polli-", "nation"), is_hyphenated("Bee-", "Gees"), is_hyphenated("Vor-", "und Nachteile")
    (True, False, False)
    """
    if before[-1:] not in (*_HYPHENS,) or not before[-2:-1].isalpha():
        return False
    # before these a hyphen at the end of a line stands for the rest of a word, as in "pre- and postwar"
    conjunctions = ("and", "or", "und", "oder", "bzw.", "et", "ou", "och", "eller", "ja", "tai")
    return following[:1].islower() and following.split()[0] not in conjunctions


def known_form(word: str, known: Known) -> str:
    """A folded word; if only that is known, without the Korean particles or the Arabic or Hebrew "the" joined to it.

    >>> known_form("인공지능의", {"인공지능"}.__contains__), known_form("بقرة", {"قرة"}.__contains__)
    ('인공지능', 'بقرة')
    """
    if word < "\u0590" or known(word):
        return word
    return next(filter(known, _strip_affixes(word)), word)


def _strip_affixes(word: str) -> Iterator[str]:
    """Yield a folded word without the affixes that are joined to it, longest first.

    >>> list(_strip_affixes("인공지능에서는")), list(_strip_affixes("والنحل"))
    (['인공지능에서', '인공지능'], ['النحل', 'نحل'])
    """
    yield from (word[len(head) :] for head, least in _JOINED.items() if word.startswith(head) and len(word) >= least)
    while (shorter := _without_particle(word)) is not None:
        yield (word := shorter)


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


def _spans(text: str, known: Known | None) -> Iterator[tuple[int, int]]:
    for match in _word().finditer(text):
        start, end = match.span()
        for gap in _BREAK.finditer(text, start, end) if "\n" in match[0] else ():
            rest = _BREAK.search(text, gap.end(), end)
            before = text[max(start, gap.start() - 100) : gap.start() + 1]  # a longer word is no word
            if not _is_one(before, text[gap.end() : rest.start() if rest else end], known):
                yield start, gap.start()
                start = gap.end()
        yield start, end


def _is_one(before: str, after: str, known: Known | None) -> bool:
    """Whether pieces at both sides of a line end are one word."""
    if not is_hyphenated(before, after):
        return False
    if known is None:
        return True
    whole, *parts = map(_write_word, (before + after, before, after))
    return known(whole) or not all(map(known, parts))


def _write_word(word: str) -> str:
    return word if word.isascii() and word.isalnum() else unicodedata.normalize("NFKC", _UNWRITTEN.sub("", word))


@lru_cache
def _word() -> re.Pattern[str]:
    """Abbreviations, and words with marks and invisible characters inside, and with hyphens at line ends."""
    marks = "".join(letter for letter in map(chr, range(0x300, 0x10000)) if unicodedata.category(letter)[0] == "M")
    inside, letters = rf"(?:[{marks}]|{_HIDDEN})", rf"[^\W_{_CHARACTER}{_LETTERED}]+"
    one, below = rf"(?=[{_LETTERED}])[^\W\d_]", "\u1039\u17d2"  # behind these signs a letter is written below
    stacked = rf"(?:(?<=[{below}])[^\W\d_]{inside}*)*"
    return re.compile(
        rf"{_ABBREVIATION}|{_S}{letters}(?:(?:{inside}+|{_BREAK.pattern}){letters})*"
        rf"[{marks}]*{_SIGNS}|[{_CHARACTER}][{marks}]*|{one}{inside}*{stacked}"
    )


_ACCENTED = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")
"Greek letters: capitals are written without accents."

_STRESS = re.compile("(?<=[\u0400-\u04ff])[\u0300\u0301]")
"Where Cyrillic words are stressed, as dictionaries and encyclopaedias show."

_APOSTROPHES = "\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u02ee\u055a\u05f3\u07f4\u07f5\ua78b\ua78c"
_KEPT = "™℠"
"What stands behind a word and is no part of it."


@lru_cache
def _plain_characters() -> Mapping[int, str]:
    """Map characters whose NFKC forms would make other words to the way they are written.

    Letters that are apostrophes in some languages are taken for apostrophes in all.
    """
    quotes = dict.fromkeys(map(ord, _APOSTROPHES), "’")
    with_form = (0xA0, 0x3400), (0xF900, 0x10000), (0x1D400, 0x1D800), (0x1EE00, 0x1F300)
    signs = map(chr, chain(quotes, *(range(*bounds) for bounds in with_form)))
    forms = {sign: unicodedata.normalize("NFKC", sign).translate(quotes) for sign in signs}
    table = {ord(sign): form for sign, form in forms.items() if form != sign and form[:1] != " " and sign not in _KEPT}
    return {**table, **dict.fromkeys(map(ord, "゠・"), " ")}


@lru_cache
def _spellings() -> Mapping[int, str | int | None]:
    """How letters are written that are the same to readers.

    Vowel signs of Arabic and Hebrew and the tatweel fall away; forms of alef, yeh and kaf are one letter each;
    ligatures are two letters, and digits of all scripts are the same.
    """
    marks = [code for code in range(0x591, 0x6EE) if unicodedata.category(chr(code)) == "Mn"]
    same = {"ا": "آأإٱ", "ي": "ىی", "ك": "ک"}
    digits = {code: str(unicodedata.decimal(chr(code))) for code in range(0x660, 0x1FBFA) if chr(code).isdecimal()}
    ligatures = {"œ": "oe", "æ": "ae", "װ": "וו", "ױ": "וי", "ײ": "יי"}
    return {
        **dict.fromkeys([*marks, 0x640], None),
        **{ord(each): ord(one) for one in same for each in same[one]},
        **digits,
        **{ord(one): two for one, two in ligatures.items()},
    }


_JOINED: dict[str, int] = {
    "و": 4,
    **dict.fromkeys(("ف", "ب", "ك", "ل"), 5),
    **dict.fromkeys(("ال", "لل"), 5),
    **dict.fromkeys(("وال", "فال", "بال", "كال", "ولل"), 6),
    **dict.fromkeys(("ה", "ו"), 4),
    **dict.fromkeys(("ב", "ל", "מ", "ש", "כ", "וה", "שה"), 5),
    **dict.fromkeys(("וב", "ול", "ומ", "וש", "וכ", "כש"), 6),
}
"""What is joined to Arabic and Hebrew words ("and", "the", "in", "to", "from", "that", "as"), and the fewest letters of
a word that may begin with it: three or four remain."""

_PARTICLES: dict[str, bool | None] = {
    **dict.fromkeys("으로 이나 이며 이란 은 이 을 과".split(), True),  # noqa: SIM905
    **dict.fromkeys("는 가 를 와 로".split(), False),  # noqa: SIM905
    **dict.fromkeys("에서 에게 까지 부터 보다 처럼 들 의 에 도 만".split(), None),  # noqa: SIM905
}
"Korean particles, and whether the syllable before must end with a consonant, with a vowel, or with either."


def _without_particle(word: str) -> str | None:
    """The word without its last particle; two syllables must remain. None where there is none."""
    for length in (2, 1):
        rest, particle = word[:-length], word[-length:]
        if len(rest) < 2 or not "가" <= rest[-1] <= "힣" or particle not in _PARTICLES:
            continue
        wanted, final = _PARTICLES[particle], (ord(rest[-1]) - ord("가")) % 28
        if wanted is None or wanted == bool(final) or (particle == "로" and final == 8):
            return rest
    return None
