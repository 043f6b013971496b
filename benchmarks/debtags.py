"""A corpus that everybody can make: descriptions of Debian's packages, and the tags that people gave them.

    python -m benchmarks debtags Packages.xz Translation-en.xz vocabulary FOLDER

Packages and Translation-en are a release's lists of packages and of their descriptions, as its mirrors have them;
vocabulary is that of the package debtags. Of each source, the first package with a long description and a tag of the
vocabulary is a document. FOLDER gets train, dev and labels for `--folder`; dev are the first 1,500 documents by the
SHA-256 of their names.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
from collections.abc import Iterable, Iterator
from email.message import Message
from email.parser import HeaderParser
from itertools import chain
from pathlib import Path
from typing import Any

from tagwright.core.atomic import replace_file

DEV = 1500
"Documents that are scored."


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks debtags", description=__doc__)
    for name in ("packages", "translation", "vocabulary", "target"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args(arguments)
    labels = list(labels_of(options.vocabulary))
    found = sorted(documents(options.packages, options.translation, {each["id"] for each in labels}), key=_place)
    for name, lines in {"dev": found[:DEV], "train": found[DEV:], "labels": labels}.items():
        with replace_file(options.target / f"{name}.jsonl.gz") as path:
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            path.write_bytes(gzip.compress(text.encode(), mtime=0))
        print(f"{name}: {len(lines):,}")


def labels_of(vocabulary: Path) -> Iterator[dict[str, Any]]:
    """The tags, with their names and descriptions; facets, which nothing is tagged with, are left out."""
    for each in stanzas(vocabulary):
        if each["Tag"]:
            name, description = _described(each["Description"])
            yield {"id": each["Tag"], "names": [name], "description": description, "broader": []}


def documents(packages: Path, translation: Path, tags: set[str]) -> Iterator[dict[str, Any]]:
    """The first package of each source that has a description and tags."""
    descriptions = {each["Description-md5"]: each["Description-en"] for each in stanzas(translation)}
    done = set()
    for each in stanzas(packages):
        source = (each["Source"] or each["Package"]).split()[0]
        given = [tag for tag in (each["Tag"] or "").replace(",", " ").split() if tag in tags]
        title, text = _described(descriptions.get(each["Description-md5"]) or "")
        if source not in done and given and text:
            done.add(source)
            yield {"id": each["Package"], "title": title, "abstract": text, "labels": given}


def stanzas(path: Path) -> Iterator[Message]:
    """The paragraphs of a list, which have the form of mail headers; the file may be compressed by xz or gzip."""
    opened: Any = {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as file:
        for paragraph in _paragraphs(file):
            yield HeaderParser().parsestr(paragraph)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    gathered: list[str] = []
    for line in chain(lines, ["\n"]):
        if line.strip():
            gathered.append(line)
        elif gathered:
            yield "".join(gathered)
            gathered = []


def _described(description: str) -> tuple[str, str]:
    """The first line of a description, and the others as text; a line of one dot parts paragraphs."""
    first, *others = (line.strip() for line in description.split("\n"))
    return first, " ".join(line for line in others if line != ".")


def _place(document: dict[str, Any]) -> str:
    return hashlib.sha256(document["id"].encode()).hexdigest()
