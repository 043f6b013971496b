"""Files of Label Studio and argilla, written after what their documentation says that they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.readers.reading import read

from tagwright.errors import InputError
from tagwright.readers.documents.annotation_tools import AnnotationTool, tool_lines
from tagwright.readers.documents.jsonl import read_json
from tagwright.readers.limits import Reading
from tagwright.types import Document


def result(*chosen: str, name: str = "labels") -> dict[str, Any]:
    return {
        "id": "Yd_BW", "type": "choices", "value": {"choices": list(chosen)}, "origin": "manual", "to_name": "text",
        "from_name": name,
    }  # fmt: skip


def annotation(*results: dict[str, Any], by: int = 1, cancelled: bool = False) -> dict[str, Any]:
    return {"id": by, "completed_by": by, "was_cancelled": cancelled, "ground_truth": False, "result": list(results)}


TAXONOMY = {"type": "taxonomy", "from_name": "place", "value": {"taxonomy": [["World", "Europe"], ["Moon"]]}}

LABEL_STUDIO = [
    {
        "id": 7,
        "annotations": [annotation(result("bees", "wasps")), annotation(result("bees"), by=2)],
        "file_upload": "1a-tasks.json",
        "drafts": [],
        "predictions": [{"model_version": "tagwright", "score": 0.5, "result": [result("tax")]}],
        "data": {"id": "d1", "title": "Bees", "text": "They fly.", "suggestions": [{"value": "Bees"}], "shelf": "A 1"},
        "meta": {},
        "project": 1,
    },
    {"id": 8, "annotations": [annotation(TAXONOMY, result("good", name="mood"))], "data": {"text": "Of Europe."}},
    {"id": 9, "annotations": [annotation(result("tax"), cancelled=True)], "data": {"text": "On income."}},
]

ARGILLA = [
    {
        "id": "d1",
        "fields": {"title": "Bees", "text": "They fly."},
        "metadata": {"shelf": "A 1"},
        "suggestions": {"labels": {"value": ["tax"], "score": [0.5], "agent": "tagwright"}},
        "responses": {
            "labels": [
                {"value": ["bees", "wasps"], "user_id": "0b14"},
                {"value": ["bees"], "user_id": "77aa"},
                {"value": ["tax"], "user_id": "9c01", "status": "discarded"},
            ],
            "comment": [{"value": "Easy.", "user_id": "0b14"}],
            "mood": [{"value": "good", "user_id": "0b14"}],
        },
        "vectors": {},
        "_server_id": "5d3c",
    },
    {"id": "d2", "fields": {"text": "On income."}, "metadata": {}, "suggestions": {}, "responses": {}, "vectors": {}},
]


def written(path: Path, records: Any) -> Path:
    path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return path


def test_an_export_of_label_studio_is_labelled_documents(tmp_path: Path) -> None:
    first, second, third = read(written(tmp_path / "export.json", LABEL_STUDIO))
    assert first == Document("d1", "Bees", "They fly.", (), {"shelf": ("A 1",)}, ("bees",))
    assert (second.id, second.labels) == ("8", ("Europe", "Moon", "good"))
    assert (third.id, third.abstract, third.labels) == ("9", "On income.", ())


def test_one_tag_of_several_may_be_named(tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", LABEL_STUDIO)
    assert [each.labels for _, each in read_json(path, Reading(columns={"labels": "mood"}))] == [(), ("good",), ()]


def test_an_export_of_argilla_is_labelled_documents(tmp_path: Path) -> None:
    path = written(tmp_path / "records.json", ARGILLA)
    first, second = read(path)
    assert first == Document("d1", "Bees", "They fly.", (), {"shelf": ("A 1",)}, ("bees",))
    assert second == Document("d2", "", "On income.")
    assert [each.labels for _, each in read_json(path, Reading(columns={"labels": "mood"}))] == [("good",), ()]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ({"id": 1, "data": {"text": "a"}, "annotations": 3}, "annotations is 3, expected a list of objects"),
        (
            {"id": 1, "data": {"text": "a"}, "annotations": [{"result": [{**TAXONOMY, "value": {"taxonomy": "x"}}]}]},
            "taxonomy is 'x', expected a list of labels",
        ),
        (
            {"id": "1", "fields": {"text": "a"}, "responses": {"labels": [{"value": [3]}]}},
            "the response to labels is [3], expected a list of labels",
        ),
    ],
)
def test_what_the_tools_do_not_write_is_refused(record: Any, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path / "export.json", [record])
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}:1: ")
    assert problem in str(error.value).replace('"', "'")


SUGGESTED = [("bees", "Bees & wasps", 0.75), ("tax", "Tax law", 0.25)]


def test_tasks_of_label_studio_have_predictions() -> None:
    (task,) = json.loads("".join(tool_lines("label_studio", [(Document("d1", "Bees", "They fly."), SUGGESTED)])))
    assert task["data"] == {
        "id": "d1",
        "title": "Bees",
        "text": "They fly.",
        "suggestions": [
            {"value": "Bees & wasps", "alias": "bees", "html": "Bees &amp; wasps (0.75)"},
            {"value": "Tax law", "alias": "tax", "html": "Tax law (0.25)"},
        ],
    }
    (prediction,) = task["predictions"]
    assert prediction["score"] == 0.5
    assert prediction["result"] == [
        {"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": ["bees", "tax"]}}
    ]


def test_records_of_argilla_have_suggestions_with_scores() -> None:
    pairs = [(Document("d1", "Bees", "They fly."), SUGGESTED), (Document("d2", "", "Nothing."), [])]
    first, second = json.loads("".join(tool_lines("argilla", pairs)))
    assert first["fields"] == {"title": "Bees", "text": "They fly."}
    assert first["suggestions"] == {"labels": {"value": ["bees", "tax"], "score": [0.75, 0.25], "agent": "tagwright"}}
    assert (second["id"], second["suggestions"]) == ("d2", {})


@pytest.mark.parametrize("tool", ["label_studio", "argilla"])
def test_suggestions_go_to_the_tool_and_its_answers_come_back(tool: AnnotationTool, tmp_path: Path) -> None:
    documents = [Document("d1", "", "Honey bees."), Document("d2", "", "Nothing of it.")]
    records = json.loads("".join(tool_lines(tool, zip(documents, ([SUGGESTED[0]], []), strict=True))))
    assert read(written(tmp_path / "imported.json", records)) == documents
    if tool == "label_studio":  # what is saved when the annotator accepts the prediction
        records[0]["annotations"] = [annotation(*records[0]["predictions"][0]["result"])]
    else:
        records[0]["responses"] = {"labels": [{"value": records[0]["suggestions"]["labels"]["value"], "user_id": "0"}]}
    assert [each.labels for each in read(written(tmp_path / "export.json", records))] == [("bees",), ()]


def test_no_document_is_an_empty_list() -> None:
    assert json.loads("".join(tool_lines("argilla", []))) == []


def test_what_is_not_used_of_an_export_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Labels that half of the people or fewer chose, cancelled annotations, results of other kinds."""
    caplog.set_level("INFO")
    rating = {"type": "rating", "from_name": "stars", "value": {"rating": 3}}
    task = {"id": 1, "data": {"text": "Bees"}, "annotations": [
        annotation(result("bees", "wasps"), rating), annotation(result("bees")),
        annotation(result("tax"), cancelled=True),
    ]}  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps([task]))
    assert [document.labels for document in read(tmp_path / "a.json")] == [("bees",)]
    [said] = [message.partition("not used: ")[2] for message in caplog.messages]
    assert {*said.split(", ")} == {
        "results of stars (1)", "cancelled annotations (1)", "labels that half of the people or fewer chose (1)",
    }  # fmt: skip
