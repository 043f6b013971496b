"""The texts that a language model gets of a label, and the checks of the texts that it answers."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tagwright.data.vocabulary import Vocabulary
from tagwright.text.words import clean
from tagwright.types import Label


def describe(labels: Sequence[Label], place: int) -> dict[str, str]:
    """The name of a label, the path to it, and its description, cut."""
    label = labels[place]
    path = labels.path(place) if isinstance(labels, Vocabulary) else (label.name,)
    parts = {"path": " > ".join(path[:-1]), "description": label.description[:200]}
    return {"name": label.name, **{name: text for name, text in parts.items() if text}}


def in_line(labels: Sequence[Label], place: int) -> str:
    """The same in a line.

    >>> in_line([Label("bees", ("Bees",), "They make honey.")], 0)
    'Bees: They make honey.'
    """
    parts = describe(labels, place)
    path, description = parts.get("path", ""), parts.get("description", "")
    return parts["name"] + (f" (below {path})" if path else "") + (f": {description}" if description else "")


def read_answer(text: str, name: str) -> Any:
    """A field of an answer, which is a JSON object; None where it has none."""
    try:
        return json.loads(text)[name]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None


def clean_answer(text: object, longest: int) -> str:
    r"""A text in one line without control characters; empty for anything else, and for one that is too long.

    >>> clean_answer("Insects\n that\x1b make honey. ", 40), clean_answer("Insects", 4), clean_answer(7, 40)
    ('Insects that make honey.', '', '')
    """
    line = " ".join(clean(text).split()) if isinstance(text, str) else ""
    return line if len(line) <= longest else ""


def schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with just these fields."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def array(items: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of a list."""
    return {"type": "array", "items": items}


TEXT = {"type": "string"}
"The JSON Schema of a text."
