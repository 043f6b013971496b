from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from pymarc import marc8_to_unicode

from tagwright.catalogues.iso2709 import to_marc8

LATIN = [chr(code) for code in range(0xC0, 0x180) if unicodedata.decomposition(chr(code)) or chr(code) in "æøœłđðþßı"]
LATIN = [sign for sign in LATIN if not unicodedata.decomposition(sign).startswith("<")]


@given(st.text(st.sampled_from([*LATIN, *map(chr, range(0x20, 0x7F))])))
def test_latin_letters_are_read_again(text: str) -> None:
    """By another implementation, pymarc's."""
    assert marc8_to_unicode(to_marc8(text)) == unicodedata.normalize("NFC", text)


@given(st.text())
def test_every_text_can_be_written_without_signs_of_the_format(text: str) -> None:
    written = to_marc8("".join(sign for sign in text if sign >= " " and not "\ud800" <= sign <= "\udfff"))
    assert not set(written) & set(b"\x1b\x1d\x1e\x1f")


def test_several_accents_and_what_has_no_byte() -> None:
    """A letter with two accents; Vietnamese; an astral character; accents that ANSEL lacks stay beside their letter."""
    assert to_marc8("ệ") == b"\xf2\xe3e"
    assert to_marc8("🐝") == b"&#x1F41D;"
    assert to_marc8("a\u0333\u036f") == b"a&#x0333;&#x036F;"
