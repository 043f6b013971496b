"""Write suggestions for Label Studio (tasks) and argilla (records), and read the documents that were labelled there.

The two formats are described at labelstud.io/guide/task_format and docs.argilla.io/latest/reference/argilla/records.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any, Literal, TypeAlias

from tagwright.core.checked import show
from tagwright.readers.account import say_unused
from tagwright.readers.documents.records import Numbered, Record
from tagwright.readers.lines import Place
from tagwright.types import Document

AnnotationTool: TypeAlias = Literal["label_studio", "argilla"]


Shown: TypeAlias = tuple[str, str, float]
"A suggestion as the tools show it: id, name, and score from 0 to 1."


def tool_lines(tool: AnnotationTool, suggested: Iterable[tuple[Document, Sequence[Shown]]]) -> Iterator[str]:
    """Yield the lines of a file to import: a JSON list with an object for each document."""
    to_object = {"label_studio": _to_task, "argilla": _to_record}[tool]
    opening = "["
    for document, shown in suggested:
        yield opening + json.dumps(to_object(document, shown), ensure_ascii=False)
        opening = ","
    yield "]" if opening == "," else "[]"


def _to_task(document: Document, suggested: Sequence[Shown]) -> dict[str, Any]:
    """Return a task of Label Studio with a prediction, whose score is the mean score of its labels.

    The task holds the labels to choose from: `<Choices value="$suggestions">` shows them, with ids as aliases.
    """
    ids = [id_ for id_, *_ in suggested]
    choices = [{"value": name, "alias": id_, "html": f"{escape(name)} ({score:.2f})"} for id_, name, score in suggested]
    result = {"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": ids}}
    mean = sum(score for *_, score in suggested) / max(1, len(suggested))
    prediction = {"model_version": "tagwright", "score": round(mean, 4), "result": [result] if ids else []}
    return {"data": {**_texts(document), "suggestions": choices}, "predictions": [prediction]}


def _to_record(document: Document, suggested: Sequence[Shown]) -> dict[str, Any]:
    """Return a record of argilla with a suggestion for the question `labels`, as `records.from_json` reads it."""
    fields = {name: text for name, text in _texts(document).items() if name != "id"}
    labels = {"value": [id_ for id_, *_ in suggested], "score": [round(score, 4) for *_, score in suggested]}
    suggestions = {"labels": {**labels, "agent": "tagwright"}} if suggested else {}
    return {
        "id": document.id, "fields": fields, "metadata": {}, "suggestions": suggestions, "responses": {}, "vectors": {},
    }  # fmt: skip


def _texts(document: Document) -> dict[str, str]:
    text = replace(document, title="").text  # which would begin with the title
    return {"id": document.id, "title": document.title, "text": text}


def read_annotated(records: Iterable[Numbered], path: Any, question: str = "") -> Iterator[Numbered]:
    """Yield the records of a JSON file with their lines; exports of the two tools become records of labelled documents.

    question: the tag or question whose answers are the labels; "": all choices and taxonomies, or all lists. If several
    people labelled a document, a label counts if more than half of them chose it. A note counts what is not used, such
    as other labels. Raises InputError for fields of wrong types.
    """
    unused = Counter[str]()
    for line, record in records:
        if isinstance(record.get("data"), dict) and {"annotations", "predictions"} & record.keys():
            yield line, _from_task(record, Place(path, line), question, unused)
        elif isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict):
            yield line, _from_record(record, Place(path, line), question, unused)
        else:
            yield line, record
    say_unused(path, unused)


def _from_task(task: Record, place: Place, question: str, unused: Counter[str]) -> Record:
    answers = list[list[str]]()
    unused.update(task.keys() - {"id", "data", "annotations"})
    for annotation in _list(task.get("annotations") or [], dict, "annotations is", place):
        if annotation.get("was_cancelled"):
            unused["cancelled annotations"] += 1
            continue
        labels = list[str]()
        for result in _list(annotation.get("result") or [], dict, "result is", place):
            if result.get("type") in ("choices", "taxonomy") and question in ("", result.get("from_name")):
                labels += _read_choices(result, place)
            else:
                unused[f"results of {result.get('from_name') or result.get('type')}"] += 1
        answers.append(labels)
    fields = {name: value for name, value in task["data"].items() if name != "suggestions"}
    return {"id": str(task.get("id", "")), **fields, question or "labels": _majority_labels(answers, unused)}


def _read_choices(result: Record, place: Place) -> list[str]:
    """Return the labels of a result: its choices, or the last part of each path of a taxonomy."""
    kind, value = result["type"], result.get("value")
    chosen = value.get(kind) if isinstance(value, dict) else value
    if kind == "taxonomy" and isinstance(chosen, list) and all(isinstance(path, list) and path for path in chosen):
        chosen = [path[-1] for path in chosen]
    return _list(chosen, str, f"{kind} is", place)


def _from_record(record: Record, place: Place, question: str, unused: Counter[str]) -> Record:
    answers = dict[str, list[str]]()  # by user
    unused.update(record.keys() - {"id", "fields", "responses", "metadata"})
    for name, responses in record["responses"].items():
        for response in _list(responses or [], dict, f"{name} is", place):
            value = response.get("value")
            is_submitted = response.get("status", "submitted") == "submitted"
            if is_submitted and (name == question or (not question and isinstance(value, list))):
                labels = _list([value] if isinstance(value, str) else value, str, f"the response to {name} is", place)
                answers.setdefault(str(response.get("user_id")), []).extend(labels)
            else:
                unused[f"responses to {name}" if is_submitted else f"responses that are {response['status']}"] += 1
    fields = {**(record.get("metadata") or {}), **record["fields"]}
    return {"id": record.get("id"), **fields, question or "labels": _majority_labels(list(answers.values()), unused)}


def _majority_labels(answers: Sequence[Sequence[str]], unused: Counter[str]) -> list[str]:
    """Return the labels that are in more than half of the answers, in order of appearance. answers: one for a person.

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


def _list(values: Any, kind: type, what: str, place: Place) -> list[Any]:
    """The values, if they are a list of texts, which are labels, or else of objects. Raises InputError."""
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        items = "labels" if kind is str else "objects"
        raise place.error(f"{what} {show(values)}, expected a list of {items}; export the file again, as JSON")
    return values
