"""Numbering words once: the same words as each text has, alone or together; what is known of a word is asked once."""

from hypothesis import given
from hypothesis import strategies as st

from tagwright.text.batch import Batch, Numbered, WordCache
from tagwright.text.words import raw_words
from tagwright.types import Document


@given(st.lists(st.text("ab C'+s-\n\0é. ", max_size=12), max_size=6))
def test_each_text_has_its_own_words_in_order(texts: list[str]) -> None:
    every = Numbered.of(texts)
    parts = (every.between(place, place + 1) for place in range(len(texts)))
    assert [[every.words[number] for number in part.numbers] for part in parts] == [raw_words(text) for text in texts]
    assert len(set(every.words)) == len(every.words)


def test_a_part_begins_with_its_first_text_and_ends_with_the_last() -> None:
    part = Numbered.of(["one two", "", "three", "four"]).between(1, 9)
    assert [part.words[number] for number in part.numbers] == ["three", "four"]
    assert part.ends.tolist() == [0, 1, 2]
    assert Numbered.of(["one"]).between(1, 2).ends.tolist() == []


def test_stages_that_read_the_same_texts_share_their_words() -> None:
    batch = Batch([Document("1", "Bees"), Document("2", "Wasps")])
    assert Batch.of(batch) is batch
    assert batch.words([each.title for each in batch]) is batch.words([each.text for each in batch])
    assert list(batch.words(["Ants"]).words) == ["Ants"]


def test_a_function_is_asked_once_for_a_word_until_there_are_too_many() -> None:
    asked = list[list[str]]()

    def upper(words: object) -> list[str]:
        assert isinstance(words, list)
        asked.append(words)
        return [str(word).upper() for word in words]

    cache = WordCache(upper, size=3)
    assert cache(["a", "b"]) == ["A", "B"]
    assert cache(["b", "c"]) == ["B", "C"]
    assert cache(["d", "a"]) == ["D", "A"]  # four words would be too many: those before are forgotten
    assert cache(["a", "b"]) == ["A", "B"]
    assert asked == [["a", "b"], ["c"], ["d", "a"], ["b"]]
