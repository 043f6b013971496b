"""A dictionary is learned from pairs of names."""

from itertools import product

import numpy as np
import pytest

from tagwright.translation.dictionary import Dictionary, Tongue, model_1

FIRST = {"steuer": "tax", "verkehrs": "traffic", "bildungs": "education", "umwelt": "environment", "kultur": "culture"}
SECOND = {"politik": "policy", "recht": "law", "statistik": "statistics", "geschichte": "history"}
PAIRS = [(f"{a.title()}{b}", f"{c} {d}".title()) for (a, c), (b, d) in product(FIRST.items(), SECOND.items())]
ALONE = [("Steuer", "Tax"), ("Recht", "Law"), ("Politik", "Policy"), ("Statistik", "Statistics"),
         ("Geschichte", "History"), ("Umwelt", "Environment"), ("Kultur", "Culture")]  # fmt: skip


def learned(pairs: list[tuple[str, str]], source: str = "de", target: str = "en") -> Dictionary:
    tongues = (Tongue(code, names) for code, names in zip((source, target), zip(*pairs, strict=True), strict=True))
    return Dictionary.learn(pairs, *tongues)


def test_a_compound_never_seen_is_translated_by_its_parts() -> None:
    pairs = [pair for pair in (*PAIRS, *ALONE) if pair[0] != "Umweltrecht"]
    assert learned(pairs).translate(["Umweltrecht"]) == [("environment law",)]


def test_into_a_language_that_joins_words_they_are_given_joined_as_well() -> None:
    back = [(two, one) for one, two in (*PAIRS, *ALONE) if one != "Umweltrecht"]
    assert learned(back, "en", "de").translate(["Environment law"])[0][:2] == ("umwelt recht", "umweltrecht")


def test_an_unknown_word_stays_and_a_name_of_unknown_words_has_no_translation() -> None:
    dictionary = learned([*PAIRS, *ALONE])
    assert dictionary.translate(["Recht der Xyzzy"])[0][0] == "law xyzzy"
    assert dictionary.translate(["Xyzzy", "", "der"]) == [(), (), ()]


def test_the_share_of_words_that_are_right() -> None:
    """Of "tax law" and "sun", two of three words are found."""
    dictionary = learned([*PAIRS, *ALONE])
    assert dictionary.share_right([("Steuerrecht", "Tax law"), ("Xyzzy", "Sun")]) == pytest.approx(2 / 3)
    assert dictionary.share_right([]) == 0


def test_one_round_of_model_1_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round one: every word of a name explains the other side in equal parts. House: 1 + 1/2 of 2 by "haus"."""
    monkeypatch.setattr("tagwright.translation.dictionary.ROUNDS", 1)
    cells = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [2, 0, 1], [2, 1, 1]])
    _, probability = model_1(cells[:, 0], cells[:, 1], cells[:, 2], 2)
    assert probability.tolist() == pytest.approx([0.75, 0.25, 0.5, 0.5])
