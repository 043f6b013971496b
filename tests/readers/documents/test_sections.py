from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tagwright.readers.documents.sections import to_document, to_sections
from tagwright.types import Section

depths = st.lists(st.integers(0, 9), max_size=30)


@given(depths)
def test_nothing_is_lost(depths: list[int]) -> None:
    blocks = [(depth, str(place)) for place, depth in enumerate(depths)]
    text = [part for section in to_sections(blocks) for part in (section.heading, *section.paragraphs) if part]
    assert text == [str(place) for place in range(len(depths))]


@given(depths)
def test_a_section_lies_in_the_nearest_one_before_it_with_a_smaller_depth(depths: list[int]) -> None:
    headings = [depth + 1 for depth in depths]
    for place, section in enumerate(to_sections([(depth, "x") for depth in headings])):
        above, depth = 0, headings[place]
        for before in reversed(headings[:place]):
            if before < depth:
                above, depth = above + 1, before
        assert section.level == 1 + above


def test_a_structured_abstract_keeps_its_headings() -> None:
    blocks = [(1, "ABSTRACT"), (2, "Aims"), (0, "To fly."), (2, "Results"), (0, "They fly."), (1, "Wings")]
    document = to_document("Bees", blocks)
    assert document.abstract == "Aims\n\nTo fly.\n\nResults\n\nThey fly."
    assert document.sections == (Section("Wings", 1),)


def test_an_abstract_that_is_not_the_first_section_stays_one() -> None:
    document = to_document("Bees", [(0, "They fly."), (1, "Wings"), (1, "Summary"), (0, "Four.")])
    assert (document.abstract, len(document.sections)) == ("They fly.", 2)
