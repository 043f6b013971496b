"""Let a language model write descriptions of labels: data, with where they come from."""

import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from tagwright.data.records import label_record
from tagwright.data.vocabulary import Vocabulary
from tagwright.llm.client import Request, client
from tagwright.llm.options import LlmOptions, instructions
from tagwright.llm.texts import TEXT, clean_answer, describe, read_answer, schema
from tagwright.text.language import AUTO, resolve

LONGEST = 500
"Characters of a description."


def describe_labels(labels: Vocabulary, options: LlmOptions, language: str = AUTO) -> Iterator[Mapping[str, Any]]:
    """The record of every label; those without a description get one.

    In `described_by` they say which model wrote it, by which instructions, and when.

    Raises ConfigError without an address.
    """
    prompt, language = instructions("description", options), resolve(language, labels)
    places = [place for place, label in enumerate(labels) if not label.description]
    requests = [
        Request(prompt, {"language": language, "label": describe(labels, place)}, schema(description=TEXT))
        for place in places
    ]

    def valid(text: str, _: int) -> str | None:
        return clean_answer(read_answer(text, "description"), LONGEST) or None

    answers = client(options).ask(requests, valid, "stay without a description")
    written = {place: text for place, text in zip(places, answers, strict=True) if text}
    digest = hashlib.blake2b(prompt.encode(), digest_size=8).hexdigest()
    source = {"model": options.model, "prompt": digest, "date": datetime.now(UTC).date().isoformat()}
    for place, label in enumerate(labels):
        more = {"description": written[place], "described_by": source} if place in written else {}
        yield {**label_record(label), **more}
