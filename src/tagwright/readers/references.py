"""Refer to a label by several ids and a name, as catalogue records do: `<(DE-588)4006216-6> Bees`.

A record may give an id of another form than the vocabulary has, or none that it knows. The vocabulary then finds the
label by the last part of the id, or by the name.
"""

import re
from collections.abc import Iterable

SHORTEST = 5
"Characters that the last part of an id needs to stand for it: shorter numbers occur in every vocabulary."

SUBDIVISION = "--"
"Between the parts of a subdivided heading: Bees--Behavior."

_REFERENCE = re.compile(r"((?:<[^<>\s]+>\s*)+)(.*)", re.DOTALL)


def write_reference(ids: Iterable[str], name: str) -> str:
    """One text of ids and a name, for the labels of a document. Ids that hold blanks or angle brackets are left out.

    >>> write_reference(["(DE-588)4006216-6"], "Bees"), write_reference([], "Bees")
    ('<(DE-588)4006216-6> Bees', 'Bees')
    """
    brackets = (f"<{each}>" for each in dict.fromkeys(ids) if each and not re.search(r"[<>\s]", each))
    return " ".join([*brackets, *([name] if name else [])])


def read_reference(text: str) -> tuple[list[str], str]:
    """The ids between angle brackets, in the order in which they are tried, and the name after them; it may be blank.

    >>> read_reference("<(DE-588)4006216-6> Bees")
    (['(DE-588)4006216-6'], 'Bees')
    >>> read_reference("Bees")
    ([], 'Bees')
    """
    if match := _REFERENCE.fullmatch(text):
        return re.findall(r"<([^<>\s]+)>", match[1]), match[2].strip()
    return [], text


def last_part(label_id: str) -> str:
    """The part of an id after its address or the code of its agency; "" where that is too short to stand for it.

    >>> last_part("https://d-nb.info/gnd/4006216-6"), last_part("(DE-588)4006216-6"), last_part("gnd:4006216-6")
    ('4006216-6', '4006216-6', '4006216-6')
    >>> last_part("(DE-627)17")
    ''
    """
    found = re.split(r"[/#:)]", label_id)[-1]
    return found if len(found) >= SHORTEST else ""


def main_heading(name: str) -> str:
    """The heading without its subdivisions; "" where it has none.

    >>> main_heading("Bees--Behavior"), main_heading("Bees")
    ('Bees', '')
    """
    main, subdivision, _ = name.partition(SUBDIVISION)
    return main.strip() if subdivision else ""
