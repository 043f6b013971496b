"""Let a language model write descriptions of labels, and documents for rare labels: data, with where they come from."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from tagwright.data.corpus import SYNTHETIC
from tagwright.data.vocabulary import Vocabulary
from tagwright.llm.client import Request, client
from tagwright.llm.options import LlmOptions, instructions
from tagwright.llm.texts import TEXT, array, describe, read_answer, schema, usable
from tagwright.readers.labels.jsonl import to_record
from tagwright.text.language import AUTO, resolve
from tagwright.types import Document

LONGEST = {"description": 500, "title": 300, "abstract": 5000}
"Characters of what the model may write."


def provenance(options: LlmOptions, prompt: str) -> dict[str, str]:
    """By which model something was written, by which instructions, and when."""
    digest = hashlib.blake2b(prompt.encode(), digest_size=8).hexdigest()
    return {"model": options.model, "prompt": digest, "date": datetime.now(UTC).date().isoformat()}


def described(labels: Vocabulary, options: LlmOptions, language: str = AUTO) -> Iterator[Mapping[str, Any]]:
    """The record of every label; those without a description get one, and say in `described_by` where it is from.

    Raises ConfigError without an address.
    """
    prompt, language = instructions("description", options), resolve(language, labels)
    places = [place for place, label in enumerate(labels) if not label.description]
    requests = [
        Request(prompt, {"language": language, "label": describe(labels, place)}, schema(description=TEXT))
        for place in places
    ]

    def valid(text: str, _: int) -> str | None:
        return usable(read_answer(text, "description"), LONGEST["description"]) or None

    answers = client(options).ask(requests, valid, "stay without a description")
    written = {place: text for place, text in zip(places, answers, strict=True) if text}
    for place, label in enumerate(labels):
        more = {"description": written[place], "described_by": provenance(options, prompt)} if place in written else {}
        yield {**to_record(label), **more}


def synthetic_documents(
    labels: Vocabulary,
    documents: Sequence[Document],
    options: LlmOptions,
    language: str = AUTO,
    *,
    fewer_than: int = 3,
    each: int = 3,
) -> Iterator[Document]:
    """Documents about every label that fewer documents than this have, so many of each, marked as synthetic.

    language: the one to write in; "auto" is that of the documents and labels. Raises ConfigError without an address.
    """
    prompt, language = instructions("document", options), resolve(language, labels, documents)
    counts = np.bincount(labels.gold(documents, unknown="ignore").labels, minlength=len(labels))
    places = np.flatnonzero(counts < fewer_than).tolist()
    examples = documents[:5]  # of the kind of document that is wanted
    titles = [document.title[: LONGEST["title"]] for document in examples if document.title]
    form = schema(documents=array(schema(title=TEXT, abstract=TEXT)))
    requests = [
        Request(
            prompt,
            {"language": language, "label": describe(labels, place), "number": each, "titles": titles},
            form,
            200 * each,
        )
        for place in places
    ]
    answers = client(options).ask(requests, lambda text, _: _texts(text)[:each] or None, "get no documents")
    mark = {SYNTHETIC: tuple(provenance(options, prompt).values())}
    for place, found in zip(places, answers, strict=True):
        for number, (title, abstract) in enumerate(found or (), 1):
            name = f"synthetic-{labels.ids[place]}-{number}"
            yield Document(name, title, abstract, metadata=mark, labels=(labels.ids[place],))


def _texts(text: str) -> list[tuple[str, str]]:
    """Title and abstract of each document of an answer that has an abstract.

    >>> _texts('{"documents": [{"title": "Bees", "abstract": "They fly."}, {"title": "No text"}, 7]}')
    [('Bees', 'They fly.')]
    """
    listed = read_answer(text, "documents")
    records = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    texts = [
        (usable(each.get("title"), LONGEST["title"]), usable(each.get("abstract"), LONGEST["abstract"]))
        for each in records
    ]
    return [(title, abstract) for title, abstract in texts if abstract]
