"""Documents and labels as plain values, ready for JSON, in the project's own shape."""

from typing import Any

from tagwright.types import Document, Label

LISTS = ("types", "schemes", "collections", "related", "exact", "close", "replaces")
"The fields that are lists of ids or URIs, beside `broader`."


def to_record(document: Document) -> dict[str, Any]:
    """The document as plain values in the project's own shape, ready for JSON."""
    return {
        "id": document.id,
        "title": document.title,
        "abstract": document.abstract,
        "sections": [
            {"heading": section.heading, "level": section.level, "paragraphs": list(section.paragraphs)}
            for section in document.sections
        ],
        "metadata": {field: list(values) for field, values in document.metadata.items()},
        "labels": list(document.labels),
    }


def label_record(label: Label) -> dict[str, Any]:
    """The label as JSON; what it has not is left out, but for description and broader labels.

    >>> label_record(Label("1", ("Bees",), languages=(("en", "Bees"), ("sv", "Bin")), notation="59"))["languages"]
    {'en': ['Bees'], 'sv': ['Bin']}
    """
    record: dict[str, Any] = {
        "id": label.id, "names": list(label.names), "description": label.description, "broader": list(label.broader),
    }  # fmt: skip
    others = {
        "notation": label.notation,
        "languages": by_code(label.languages),
        "descriptions": by_code(label.descriptions),
        **{field: list(getattr(label, field)) for field in ("translated", *LISTS)},
    }
    return record | {field: value for field, value in others.items() if value}


def by_code(tagged: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    """The texts of each language."""
    texts: dict[str, list[str]] = {}
    for code, text in tagged:
        texts.setdefault(code, []).append(text)
    return texts
