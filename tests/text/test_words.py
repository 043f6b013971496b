"""Words of every script, and their places in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.stages.lexical import Lexical, LexicalOptions
from tagwright.stages.names.exact_match import ExactMatch, ExactMatchOptions
from tagwright.text.words import clean, fold, is_unusual, plain_spans, raw_words, word_spans, words
from tagwright.translation.dictionary import Tongue
from tagwright.types import Document, Label

WRITTEN = {
    "soft hyphen": ("Bees and polli\u00adnation", "Pollination", "polli\u00adnation"),
    "zero-width space": ("Bees and polli\u200bnation", "Pollination", "polli\u200bnation"),
    "line end": ("Bees and polli-\nnation in Mai", "Pollination", "polli-\nnation"),
    "line end of other systems": ("Bees and polli-\r\n  nation", "Pollination", "polli-\r\n  nation"),
    "soft hyphen at a line end": ("Bees and polli\u00ad\nnation", "Pollination", "polli\u00ad\nnation"),
    "two line ends": ("pol-\nlina-\ntion", "Pollination", "pol-\nlina-\ntion"),
    "name of two words": ("the apple or-\nchards", "Apple orchards", "apple or-\nchards"),
    "subscript": ("Emissions of CO₂ rise", "CO2", "CO₂"),
    "superscript": ("Emissions of CO² rise", "CO2", "CO²"),
    "full width": ("All of ＡＩ now", "AI", "ＡＩ"),
    "ligature": ("The ﬁnite ﬁelds", "Finite fields", "ﬁnite ﬁelds"),
    "combining accent": ("Un cafe\u0301 noir", "Café noir", "cafe\u0301 noir"),
    "Thai": ("ที่ห้องสมุดแห่งชาติ", "ห้องสมุด", "ห้องสมุด"),
    "Lao": ("ຢູ່ຫ້ອງສະໝຸດແຫ່ງຊາດ", "ຫ້ອງສະໝຸດ", "ຫ້ອງສະໝຸດ"),
    "Burmese": ("အမျိုးသားစာကြည့်တိုက်သို့", "စာကြည့်တိုက်", "စာကြည့်တိုက်"),
    "Khmer": ("នៅបណ្ណាល័យជាតិ", "បណ្ណាល័យ", "បណ្ណាល័យ"),
    "Hindi": ("पुस्तकालय में हिन्दी भाषा", "हिन्दी", "हिन्दी"),
    "Korean topic": ("인공지능은 무엇인가", "인공지능", "인공지능은"),
    "Korean, two particles": ("인공지능에서의 역사", "인공지능", "인공지능에서의"),
    "Korean, after a vowel": ("사과나무로 만든", "사과나무", "사과나무로"),
    "Arabic vowel signs": ("نَحْل في البستان", "نحل", "نَحْل"),
    "Arabic tatweel": ("نحـــل في البستان", "نحل", "نحـــل"),
    "Arabic alef": ("أشجار الفاكهة", "اشجار", "أشجار"),
    "Arabic, and the": ("الزهور والنحل", "نحل", "والنحل"),
    "Arabic, for the": ("أزهار للنحل", "نحل", "للنحل"),
    "Persian ending": ("کتاب\u200cها و نحل", "کتاب", "کتاب"),
    "Persian letters": ("علمي", "علمی", "علمي"),
    "Hebrew vowel signs": ("דְּבוֹרִים במטע", "דבורים", "דְּבוֹרִים"),
    "Hebrew, the": ("הדבורים במטע", "דבורים", "הדבורים"),
    "Hebrew, and the": ("פרחים והדבורים", "דבורים", "והדבורים"),
}
"How a name is written in a text: the text, the name, and its place."


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("stage", [ExactMatch, Lexical])
def test_a_name_is_found_however_it_is_written(stage: type[ExactMatch | Lexical], kind: str) -> None:
    text, name, place = WRITTEN[kind]
    made = stage([Label("0", ("Tax law",)), Label("1", (name,))])
    document = Document("d", abstract=text)
    assert made([document]).labels.tolist() == [1]
    found = sorted((span.start, span.end) for span in made.spans(document, [1])[0])
    assert text[found[0][0] : found[-1][1]] == place


SPELLED = [
    ("tr", "Işıklar", "ışıklar ve evler", "ışıklar"),
    ("tr", "İzmir", "izmir'de", "izmir"),
    ("tr", "Ilgaz", "Kastamonu, ILGAZ", "ILGAZ"),
    ("tr+en", "Isparta", "ısparta", "ısparta"),
    ("tr+en", "Industry", "INDUSTRY", "INDUSTRY"),
    ("az", "İqtisadiyyat", "iqtisadiyyat", "iqtisadiyyat"),
    ("en", "İznik tiles", "Iznik tiles", "Iznik tiles"),
    ("lt", "Rūgštis", "RŪGŠTIS", "RŪGŠTIS"),
    ("lt", "Ìlgas", "i\u0307\u0300lgas", "i\u0307\u0300lgas"),
    ("el", "Αθήνα", "ΣΤΗΝ ΑΘΗΝΑ", "ΑΘΗΝΑ"),
    ("none", "Μάιος", "ΜΑΪΟΣ", "ΜΑΪΟΣ"),
    ("none", "ὄνομα", "όνομα", "όνομα"),
    ("uk", "П'ятниця", "пʼятниця", "пʼятниця"),
    ("none", "Oʻzbekiston", "O‘zbekiston", "O‘zbekiston"),
    ("none", "Hawaiʻi", "Hawai'i", "Hawai'i"),
    ("none", "Yucat\ua78cek", "Yucat'ek", "Yucat'ek"),
    ("he", "צ׳כיה", "צ'כיה", "צ'כיה"),
    ("hy", "Ա՚բ", "Ա'բ", "Ա'բ"),
    ("en", "Alzheimer disease", "Alzheimerʼs disease", "Alzheimerʼs disease"),
    ("en", "Cl- transport", "Cl⁻ transport", "Cl⁻ transport"),
    ("en", "K+ channel", "K⁺ channel", "K⁺ channel"),
    ("en", "Ca＋＋ signal", "Ca++ signal", "Ca++ signal"),
    ("en", "C# language", "Ｃ＃ language", "Ｃ＃ language"),
    ("en", "1/2 inch pipes", "½ inch pipes", "½ inch pipes"),
    ("en", "kg units", "㎏ units", "㎏ units"),
    ("en", "No 7 cream", "№ 7 cream", "№ 7 cream"),
    ("en", "Java", "Java™", "Java"),
    ("ca", "Col·legi", "coŀlegi", "coŀlegi"),
    ("ja", "バス", "ﾊﾞｽ", "ﾊﾞｽ"),
    ("ja", "ジョン・スミス", "ジョン スミス", "ジョン スミス"),
    ("fr", "Œufs", "les oeufs", "oeufs"),
    ("fr", "Sœur", "MA SOEUR", "SOEUR"),
    ("en", "Encyclopædia", "an encyclopaedia", "encyclopaedia"),
    ("da", "Ære", "aere", "aere"),
    ("da", "Aarhus", "i Århus", "Århus"),
    ("da", "Ærø", "paa Aeroe", "Aeroe"),
    ("no", "Ålesund", "AALESUND", "AALESUND"),
    ("ru", "Пчела", "пчела\u0301 летит", "пчела\u0301"),
    ("uk", "Бджола\u0301", "бджола", "бджола"),
    ("de", "Straßen", "STRASSEN", "STRASSEN"),
    ("nl", "Ĳs", "ijs", "ijs"),
    ("en", "U.K.", "in the UK", "UK"),
    ("en", "NASA", "at N.A.S.A. in", "N.A.S.A"),
    ("en", "M.Sc. courses", "MSc courses", "MSc courses"),
    ("en", "PhD students", "Ph.D. students", "Ph.D. students"),
    ("en", "J. K. Rowling", "by J.K. Rowling", "J.K. Rowling"),
    ("en", "J.K. Rowling", "by J. K. Rowling", "J. K. Rowling"),
    ("es", "EE.UU.", "los EEUU", "EEUU"),
    ("ru", "США", "в С.Ш.А. и", "С.Ш.А"),
    ("fa", "سال ۱۴۰۰", "سال 1400", "سال 1400"),
    ("ar", "٢٠٣٠", "2030", "2030"),
    ("hi", "२०३०", "2030", "2030"),
    ("yi", "ייִדיש", "יידיש", "יידיש"),
]
"Language, name, text, and what of the text is the name."


@pytest.mark.parametrize("stage", [ExactMatch, Lexical])
@pytest.mark.parametrize(("language", "name", "text", "place"), SPELLED)
def test_a_name_is_found_in_other_spellings_of_its_language(
    stage: type[ExactMatch | Lexical], language: str, name: str, text: str, place: str
) -> None:
    options = ExactMatchOptions if stage is ExactMatch else LexicalOptions
    made = stage([Label("0", ("Zzz",)), Label("1", (name,))], options(stem=language))  # type: ignore[arg-type]
    document = Document("d", abstract=text)
    assert made([document]).labels.tolist() == [1]
    spans = sorted((span.start, span.end) for span in made.spans(document, [1])[0])
    if stage is ExactMatch:
        assert text[spans[0][0] : spans[-1][1]] == place


@pytest.mark.parametrize(
    ("language", "name", "text", "place"), [each for each in SPELLED if len(each[0]) < 5 and "Rowling" not in each[1]]
)
def test_names_are_translated_by_the_same_words_however_they_are_spelled(
    language: str, name: str, text: str, place: str
) -> None:
    tongue = Tongue(language, ())
    assert place in text
    assert list(map(tongue.stem, tongue.words(name))) == list(map(tongue.stem, tongue.words(place)))


@pytest.mark.parametrize(
    ("language", "name", "text"),
    [
        ("tr", "Sinir", "sınır"),
        ("en", "J Lee", "JLee"),
        ("en", "SmithJ", "Smith.J"),
        ("en", "Bees", "Be.Es"),
    ],
)
def test_other_words_stay_other_words(language: str, name: str, text: str) -> None:
    made = ExactMatch([Label("0", (name,))], ExactMatchOptions(stem=language))
    assert not made([Document("d", abstract=text)]).labels.tolist()


OTHERS = {
    "a stop between two lines": ("Bees and polli.\nNation", "Pollination"),
    "a capital behind the line end": ("of the Bee-\nGees", "Beegees"),
    "a conjunction behind the line end": ("Vor-\nund Nachteile", "Vorund"),
    "a range of numbers": ("in 1990-\n2000", "19902000"),
    "one syllable before a particle": ("나이는 많다", "나"),
    "a particle that cannot stand there": ("사과나무을", "사과나무"),
    "two letters behind the article": ("اليد", "يد"),
    "a short word that begins like and": ("وقت", "قت"),
    "a short Hebrew word that begins like in": ("בצלים", "לים"),
    "a part of a word": ("polli\u00adnation", "Nation"),
    "no vowel sign but a letter": ("हिन्द", "हिन्दी"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_another_word_is_not_found(kind: str) -> None:
    text, name = OTHERS[kind]
    assert not ExactMatch([Label("0", (name,))])([Document("d", abstract=text)]).labels.tolist()


@pytest.mark.parametrize("stage", [ExactMatch, Lexical])
def test_a_compound_at_a_line_end_stays_two_words_where_both_are_names_and_the_whole_is_not(
    stage: type[ExactMatch | Lexical],
) -> None:
    text = Document("d", abstract="The life-\ntime of bees")
    assert stage([Label("0", ("Life",)), Label("1", ("Time",))])([text]).labels.tolist() == [0, 1]
    known = [Label("0", ("Life",)), Label("1", ("Time",)), Label("2", ("Lifetime",))]
    assert stage(known)([text]).labels.tolist() == [2]


def test_a_whole_word_is_taken_before_what_it_may_be_made_of() -> None:
    """The doctor is 의사; 의 would be a particle behind 사."""
    made = ExactMatch([Label("0", ("바나나",)), Label("1", ("바나나의",))])
    assert made([Document("d", abstract="바나나의")]).labels.tolist() == [1]


@given(st.text(st.sampled_from("ab C'+-\n\r\u00ad\u200b\u0301₂Ａﬁهنحوالא다의은ห้ཀ本क्\u200c ")))
def test_every_word_has_its_place(text: str) -> None:
    assert [raw_words(text[start:end]) for start, end in word_spans(text)] == [[word] for word in raw_words(text)]
    assert words(text) == list(map(fold, raw_words(text)))
    for start, end in plain_spans(text):
        assert text[start:end].strip() == text[start:end] != ""


@given(st.text("aB.Sc '’ʼʻıİIœﬁŀ½㎏№⁺+٣・-\n\u00ad\u0307\u0301ﾊﾞ"))
def test_every_word_has_its_place_in_a_text_with_other_spellings(text: str) -> None:
    """Places are in order, and each holds the word, or, of a sign such as ½, is that of several words."""
    spans, found = word_spans(text), raw_words(text)
    assert len(spans) == len(found)
    assert spans == sorted(spans)
    for (start, end), word in zip(spans, found, strict=True):
        assert 0 <= start < end <= len(text)
        assert word in raw_words(text[start:end])
    for language in ("tr", "tr+en", "de"):
        made = Lexical([Label("0", (text + " bee",))], LexicalOptions(stem=language, weighting="tfidf", ngrams=1.0))
        for span in made.spans(Document("d", abstract=text), [0])[0]:
            assert any(start <= span.start < span.end <= end for start, end in spans)


@given(st.text("abcäß'’.+-C (\n") | st.text(st.characters(max_codepoint=0x2FF)))
def test_usual_texts_have_the_same_words_beside_unusual_ones(text: str) -> None:
    if not is_unusual(text):
        assert words(f"{text} H₂O")[:-1] == words(text)


def test_more_marks_on_a_letter_than_any_has_are_separated_and_dashes_are_not() -> None:
    """Marks are put in order within runs of 30: the time does not grow with the square of their number."""
    assert (
        clean("a" + "\u0301\u0327" * 20) == "á" + "\u0327" * 15 + "\u0301" * 14 + "\u034f" + "\u0327" * 5 + "\u0301" * 5
    )
    assert len(clean("a" + "\u0301\u0327" * 200_000)) > 400_000
    assert clean("e\u0301 " + "—" * 100) == "é " + "—" * 100
