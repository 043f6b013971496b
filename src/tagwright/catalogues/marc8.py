"""Write text in MARC-8, the older encoding of MARC 21 records: ASCII and the Latin letters of ANSEL.

Other characters are written as references, `&#x0411;`, as the Library of Congress does where nothing may be lost.
"""

import re
import unicodedata
from functools import cache

_ANSEL = 0x45
_CLUSTER = re.compile("[^\u0300-\u036f\ufe20-\ufe2f][\u0300-\u036f\ufe20-\ufe2f]*|.", re.DOTALL)


def to_marc8(text: str) -> bytes:
    r"""The text in MARC-8, where accents come before their letter.

    >>> to_marc8("Bär"), to_marc8("Łódź"), to_marc8("Б")
    (b'B\xe8ar', b'\xa1\xe2od\xe2z', b'&#x0411;')
    """
    composed = unicodedata.normalize("NFC", text)
    return b"".join(map(_encode, _CLUSTER.findall(composed)))


def _encode(cluster: str) -> bytes:
    """A character with its combining marks."""
    table = _table()
    letter, *marks = tuple(unicodedata.normalize("NFD", cluster))
    if len(marks) and all(sign in table for sign in (letter, *marks)):
        return b"".join(table[sign] for sign in (*marks, letter))
    return b"".join(
        table[sign] if sign in table and not unicodedata.combining(sign) else f"&#x{ord(sign):04X};".encode()
        for sign in cluster
    )


@cache
def _table() -> dict[str, bytes]:
    """Character -> its byte."""
    from pymarc.marc8_mapping import CODESETS

    ascii_ = {chr(code): bytes([code]) for code in range(0x20, 0x7F)}
    return {chr(sign): bytes([code]) for code, (sign, _) in CODESETS[_ANSEL].items() if code > 0x9F} | ascii_
