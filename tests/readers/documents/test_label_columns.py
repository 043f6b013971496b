"""A column holds labels by its name and its values; what may be read in two ways is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.readers.reading import read, refusal, written

from tagwright import zero_shot
from tagwright.api import evaluate
from tagwright.data.vocabulary import Vocabulary
from tagwright.readers.documents.in_memory import corpus_of
from tagwright.types import Label

LABELS = Vocabulary(["Billing", "Login", "Refund", "Bees; wasps", "Bees", "wasps"])


def documents(
    rows: Sequence[dict[str, Any]], vocabulary: Vocabulary | None = LABELS
) -> list[tuple[str, str, tuple[str, ...]]]:
    """Title, abstract and labels of each record."""
    is_label = vocabulary.has if vocabulary else None
    return [(each.title, each.abstract, each.labels) for each in corpus_of(rows, is_label=is_label)]


TEXT = "I cannot get in since Monday."


@pytest.mark.parametrize(
    ("row", "title", "labels"),
    [
        ({"subject": "Cannot log in", "text": TEXT, "labels": "Login"}, "", ("Login",)),
        ({"title": "No way in", "subject": "Login; Refund", "description": TEXT}, "No way in", ("Login", "Refund")),
        ({"title": "No way in", "subjects": ["Accounts"], "description": TEXT}, "No way in", ("Accounts",)),
        ({"subject": ["Login"], "description": TEXT}, "", ("Login",)),
    ],
)
def test_a_column_holds_labels_by_its_name(row: dict[str, Any], title: str, labels: tuple[str, ...]) -> None:
    assert documents([row]) == [(title, TEXT, labels)]


def test_a_table_is_read_alike_in_every_form_and_for_every_call(caplog: pytest.LogCaptureFixture) -> None:
    pd = pytest.importorskip("pandas")
    tagger = zero_shot(["Billing", "Login"], stages=["exact_match"], language="en")
    table = pd.DataFrame({"title": ["Login fails"], "description": ["Since Monday."], "queue": ["a"]})
    for given in (table, table.to_dict("records")):
        assert [each.name for each in tagger.suggest(given)[0]] == ["Login"]
    assert "not used: queue (kept as metadata)" in caplog.text
    assert [each.name for each in tagger.explain(table)[0]] == ["Login"]
    assert tagger.tag(table).labels.tolist() == [1]
    assert evaluate(tagger, table, y=[["Login"]])["P@1"].value == 1


# Cells


@pytest.mark.parametrize(
    ("cell", "labels"),
    [
        ("Bees\nOrchards", ("Bees", "Orchards")),
        ("Bees\r\nOrchards", ("Bees", "Orchards")),
        ('{"choices": ["Bees", "Orchards"]}', ("Bees", "Orchards")),
        ('[{"choices": ["Bees"]}, {"choices": ["Taxes"]}]', ("Bees", "Taxes")),
        ('{"taxonomy": [["Insects", "Bees"], ["Taxes"]]}', ("Bees", "Taxes")),
        ('[["Insects", "Bees"], ["Taxes"]]', ("Bees", "Taxes")),
        ("{sic}", ("{sic}",)),
        # as Annif writes them: URIs between white space
        ("http://x/1", ("http://x/1",)),
        ("http://x/1 http://x/2", ("http://x/1", "http://x/2")),
        ("<http://x/1;a>  http://x/2", ("http://x/1;a", "http://x/2")),
        ("http://x/1;http://x/2", ("http://x/1", "http://x/2")),
        # as programs print a list; nothing in it is run
        ("['Insects', 'Biology']", ("Insects", "Biology")),
        ("['Insects' 'Biology']", ("Insects", "Biology")),
        ("('Insects',)", ("Insects",)),
        ("[\"it's\", 'b;c']", ("it's", "b;c")),
        ("[3, 7]", ("3", "7")),
        ("[]", ()),
        ("[sic]", ("[sic]",)),
        ("__import__('os')", ("__import__('os')",)),
    ],
)
@pytest.mark.parametrize("column", ["labels", "label", "subject_uris"])
def test_a_cell_may_hold_labels_as_spreadsheets_and_annotation_tools_write_them(
    tmp_path: Path, column: str, cell: str, labels: tuple[str, ...]
) -> None:
    quoted = cell.replace('"', '""')
    assert read(written(tmp_path, f'text,{column}\nHoney,"{quoted}"\n'.encode(), "x.csv"))[0].labels == labels


def test_objects_in_a_cell_are_no_labels(tmp_path: Path) -> None:
    """Such as spans, which Label Studio writes so into CSV."""
    content = 'text,label\nHoney,"[{""start"": 0, ""end"": 5, ""labels"": [""Food""]}]"\n'
    message = refusal(written(tmp_path, content, "x.csv"))
    assert message.startswith('x.csv:2: the labels are "[{')
    assert message.endswith("expected names or ids; export the annotations as JSON instead")


def test_a_name_that_holds_a_separator_is_one_label_where_the_vocabulary_has_it() -> None:
    row = {"text": "Bees", "labels": "Bees; wasps"}
    assert documents([row])[0][2] == ("Bees; wasps",)
    assert documents([row], Vocabulary(["Bees", "wasps"]))[0][2] == documents([row], None)[0][2] == ("Bees", "wasps")


@pytest.mark.parametrize("label", ["Bees; wasps", "Bees|wasps", "Bees\nwasps", "Bees#wasps", "Bees, wasps"])
def test_several_labels_in_one_are_told_by_the_vocabulary(label: str) -> None:
    """In any format: the parts count where all are labels, and the whole is none."""
    from tagwright.types import Document

    vocabulary = Vocabulary([Label("b", ("Bees",)), Label("w", ("wasps",))])
    assert vocabulary.gold([Document("1", labels=(label,))], unknown="error").labels.tolist() == [0, 1]
    assert vocabulary.gold([Document("1", labels=(f"{label} x",))], unknown="ignore").labels.tolist() == []
    whole = Vocabulary(["Bees", "wasps", label])
    assert whole.gold([Document("1", labels=(label,))], unknown="error").labels.tolist() == [2]
