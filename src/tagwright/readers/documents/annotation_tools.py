"""Label Studio's tasks and argilla's records: suggestions to show in these tools, and documents labelled with them.

What they store is described at labelstud.io/guide/task_format and docs.argilla.io/latest/reference/argilla/records.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import chain
from typing import Any, Literal, NamedTuple, TypeAlias

from tagwright.core.checked import show
from tagwright.readers.account import say_unused
from tagwright.readers.lines import Place
from tagwright.types import Document

Record: TypeAlias = Mapping[str, Any]
AnnotationTool: TypeAlias = Literal["label_studio", "argilla"]


class Shown(NamedTuple):
    """A suggestion as the tools show it. score: from 0 to 1."""

    id: str
    name: str
    score: float


def tool_lines(tool: AnnotationTool, suggested: Iterable[tuple[Document, Sequence[Shown]]]) -> Iterator[str]:
    """Return the lines of a file to import: a list in JSON with an object for each document."""
    make = {"label_studio": _task, "argilla": _record}[tool]
    before = "["
    for document, labels in suggested:
        yield before + json.dumps(make(document, labels), ensure_ascii=False)
        before = ","
    yield "]" if before == "," else "[]"


def _task(document: Document, suggested: Sequence[Shown]) -> dict[str, Any]:
    """A task of Label Studio with a prediction, whose score is the mean of those of its labels.

    The labels to choose from are in the task: `<Choices value="$suggestions">`, with ids as aliases.
    """
    ids = [suggestion.id for suggestion in suggested]
    options = [
        {"value": each.name, "alias": each.id, "html": f"{escape(each.name)} ({each.score:.2f})"} for each in suggested
    ]
    result = {"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": ids}}
    mean = sum(suggestion.score for suggestion in suggested) / max(1, len(suggested))
    prediction = {"model_version": "tagwright", "score": round(mean, 4), "result": [result] if ids else []}
    return {"data": {**_texts(document), "suggestions": options}, "predictions": [prediction]}


def _record(document: Document, suggested: Sequence[Shown]) -> dict[str, Any]:
    """A record of argilla with a suggestion for the question `labels`, as `records.from_json` reads it."""
    fields = {name: text for name, text in _texts(document).items() if name != "id"}
    value = {"value": [each.id for each in suggested], "score": [round(each.score, 4) for each in suggested]}
    answer = {"labels": {**value, "agent": "tagwright"}} if suggested else {}
    return {"id": document.id, "fields": fields, "metadata": {}, "suggestions": answer, "responses": {}, "vectors": {}}


def _texts(document: Document) -> dict[str, str]:
    return {"id": document.id, "title": document.title, "text": replace(document, title="").text}


def read_annotated(
    records: Iterable[tuple[int, Record]], path: Any, question: str = ""
) -> Iterator[tuple[int, Record]]:
    """Return the records of a JSON file; where they are exported by one of the tools, as those of labelled documents.

    question: the tag or question whose answers are the labels; "": all choices and taxonomies, or lists. Of several
    people's answers, labels count that more than half of them chose. A line counts what is not used, other labels among
    it. Raises InputError for fields of wrong types.
    """
    records, unused = iter(records), Counter[str]()
    first = next(records, None)
    if first is None:
        return
    read = _exported_by(first[1])
    for line, record in chain([first], records):
        yield line, read(record, Place(path, line), question, unused) if read else record
    say_unused(path, unused)


def _exported_by(record: Record) -> Callable[[Record, Place, str, Counter[str]], Record] | None:
    if isinstance(record.get("data"), dict) and {"annotations", "predictions"} & record.keys():
        return _of_task
    if isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict):
        return _of_record
    return None


def _of_task(task: Record, place: Place, question: str, unused: Counter[str]) -> Record:
    data, answers = _object(task, "data", place), list[list[str]]()
    unused.update(task.keys() - {"id", "data", "annotations"})
    for annotation in _list(task, "annotations", place):
        if annotation.get("was_cancelled"):
            unused["cancelled annotations"] += 1
            continue
        answers.append([])
        for result in _list(annotation, "result", place):
            if result.get("type") in ("choices", "taxonomy") and question in ("", result.get("from_name")):
                answers[-1] += _read_choices(result, place)
            else:
                unused[f"results of {result.get('from_name') or result.get('type')}"] += 1
    texts = {name: value for name, value in data.items() if name != "suggestions"}
    return {"id": str(task.get("id", "")), **texts, question or "labels": _majority_labels(answers, unused)}


def _read_choices(result: Record, place: Place) -> list[str]:
    """The labels of a result: choices, or the last part of each path of a taxonomy."""
    kind, value = result["type"], _object(result, "value", place)
    chosen = value.get(kind)
    if kind == "taxonomy" and isinstance(chosen, list) and all(isinstance(path, list) and path for path in chosen):
        chosen = [path[-1] for path in chosen]
    return _labels(chosen, f"{kind} is", place)


def _of_record(record: Record, place: Place, question: str, unused: Counter[str]) -> Record:
    by_person = dict[str, list[str]]()
    unused.update(record.keys() - {"id", "fields", "responses", "metadata"})
    for name, responses in _object(record, "responses", place).items():
        for response in _list({name: responses}, name, place):
            is_final = response.get("status", "submitted") == "submitted"
            if is_final and (name == question or (not question and isinstance(response.get("value"), list))):
                value = response.get("value")
                labels = _labels([value] if isinstance(value, str) else value, f"the response to {name} is", place)
                by_person.setdefault(str(response.get("user_id")), []).extend(labels)
            else:
                unused[f"responses to {name}" if is_final else f"responses that are {response['status']}"] += 1
    parts = {**(record.get("metadata") or {}), **_object(record, "fields", place)}
    return {"id": record.get("id"), **parts, question or "labels": _majority_labels(list(by_person.values()), unused)}


def _majority_labels(answers: Sequence[Sequence[str]], unused: Counter[str]) -> list[str]:
    """The labels that more than half of the answers have, in the order of their first answer.

    >>> others = Counter()
    >>> _majority_labels([["bees", "wasps"], ["bees"], ["bees", "tax"]], others)
    ['bees']
    >>> _majority_labels([["a"], ["b"]], others)
    []
    >>> others
    Counter({'labels that half of the people or fewer chose': 4})
    """
    counts = Counter(label for answer in answers for label in dict.fromkeys(answer))
    kept = [label for label, count in counts.items() if 2 * count > len(answers)]
    if len(kept) < len(counts):
        unused["labels that half of the people or fewer chose"] += len(counts) - len(kept)
    return kept


def _object(record: Record, key: str, place: Place) -> Record:
    value = record.get(key)
    if not isinstance(value, dict):
        raise place.error(f"{key} is {show(value)}, expected an object; export the file again, as JSON")
    return value


def _list(record: Record, key: str, place: Place) -> list[Record]:
    value = record.get(key) or []
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise place.error(f"{key} is {show(value)}, expected a list of objects; export the file again, as JSON")
    return value


def _labels(value: object, what: str, place: Place) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise place.error(f"{what} {show(value)}, expected a list of labels; export the file again, as JSON")
    return value
