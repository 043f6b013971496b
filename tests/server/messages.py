"""The messages of the pages: `python -m tests.server.messages` adds new ones to the catalogues, and compiles them.

New ones have no translation at first: write it into the file .po of each language, and run the command again.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from tests.sources import modules

from tagwright.combining.confidence import Word
from tagwright.review.export import DOWNLOADS
from tagwright.server.application import application
from tagwright.server.languages import FOLDER, LANGUAGES
from tagwright.tagger.suggestions import GROUPS, LEARNED

SOURCES = FOLDER.parent
_UNUSED = re.compile(rb'#, fuzzy$|#$|"(Project-Id|Report|POT-|PO-|Last-|Language-Team|Generated)')
"Lines of the header that say nothing here."

OF_READERS = (
    "is encrypted; save it without a password",
    "holds no text, perhaps only scanned pages; add a text layer with an OCR program",
    "is empty, expected documents",
    "is a spreadsheet workbook, which cannot be read; save the sheet as CSV",
    "is XML of an unknown kind, expected JATS (article), TEI, html, MARCXML or Dublin Core",
    "has no recognisable format",
    "holds no documents",
    "is an article without front and body, expected JATS",
    "is TEI without teiHeader, expected what GROBID writes",
)
"What is wrong with a file, where the message of its reader has no values."

TITLES = (
    "Bad Request", "Forbidden", "Not Found", "Request Entity Too Large", "Content Too Large", "Unsupported Media Type",
    "Unprocessable Entity", "Unprocessable Content", "Too Many Requests", "Service Unavailable", "Not stored",
)  # fmt: skip
"Of problems, as all versions of Python have them."

TRANSLATED = tuple(code for code in LANGUAGES if code != "en")


def wanted() -> Catalog:
    """All messages: of the templates and sources of the server, of readers, meanings of reasons, and the interface."""
    catalog = Catalog()
    methods = [("**.py", "python"), ("templates/**.html", "jinja2.ext.babel_extract")]
    options = {"templates/**.html": {"trim_blocks": "true"}}
    keywords = {"_": None, "gettext": None, "ngettext": (1, 2)}
    for _, _, message, _, _ in extract_from_dir(SOURCES, methods, options, keywords):
        catalog.add(message)
    meanings = {
        meaning
        for room in ("stages", "papers")
        for file in (SOURCES.parent / room).rglob("*.py")
        for meaning in re.findall(r'^ +(?:self\.)?meaning = "(.+)"$', file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    for meaning in sorted({*meanings, *GROUPS.values(), LEARNED}):
        catalog.add(meaning)
    described = application([]).openapi()
    titles = [*TITLES, *(title for title, _, _ in DOWNLOADS.values())]
    for text in (*forms(), *OF_READERS, *titles, *get_args(Word), *dict.fromkeys(interface(described))):
        catalog.add(text)
    return catalog


def forms() -> Iterator[str]:
    """The forms of all texts: each stands where the `Text` is made, or in a variable `form` above it."""
    for path, tree in modules():
        for node in ast.walk(tree) if path.startswith("server/") else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Text":
                value = node.args[0]
            elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "form":
                value = node.value
            else:
                continue
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield value.value


def interface(described: Mapping[str, Any]) -> Iterator[str]:
    """The texts that the page shows of a description: of operations, parameters, and fields of what is sent."""
    operations = [each for methods in described["paths"].values() for each in methods.values()]
    yield from (each["summary"] for each in operations)
    parameters = [parameter for each in operations for parameter in each.get("parameters", ())]
    bodies = [content["schema"] for each in operations
              for content in each.get("requestBody", {}).get("content", {}).values()]  # fmt: skip
    schemas = [*bodies, *described["components"]["schemas"].values()]
    fields = [each["schema"] for each in parameters]
    fields += [field for each in schemas for field in each.get("properties", {}).values()]
    yield from (each["description"] for each in fields if "description" in each)


def kept(language: str) -> Catalog:
    """The catalogue of a language."""
    with place(language).open("rb") as file:
        return read_po(file, locale=language)


def place(language: str) -> Path:
    """The file of a catalogue; the compiled one lies beside it, with the ending .mo."""
    return FOLDER / language / "LC_MESSAGES" / "messages.po"


def update() -> None:
    """Add new messages to the catalogues, drop those that are gone, and compile them."""
    for language in TRANSLATED:
        path = place(language)
        catalog = kept(language)
        catalog.update(wanted(), no_fuzzy_matching=True)
        catalog.obsolete.clear()
        catalog.header_comment = f"# The messages of the pages; the language is {language}."
        target = BytesIO()
        write_po(target, catalog, width=120, sort_output=True, no_location=True)
        path.write_bytes(b"".join(each for each in target.getvalue().splitlines(True) if not _UNUSED.match(each)))
        catalog = kept(language)
        catalog.creation_date = catalog.revision_date = datetime(2026, 1, 1, tzinfo=UTC)
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, catalog)


if __name__ == "__main__":
    update()
