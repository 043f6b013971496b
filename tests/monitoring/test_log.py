from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from tagwright.errors import InputError, TagwrightError
from tagwright.monitoring.log import First, Watch, append, begin, first_entry, read
from tagwright.monitoring.record import FEWEST, Record, training_profile
from tagwright.types import Document, Section

BEES = Document("d1", "Honey bees", "They visit orchards.", (Section("Taxes", 1, ("Beekeepers pay.",)),))


def test_a_record_holds_no_word_of_the_document() -> None:
    record = Record.of(BEES, "bees 0001", [("http://x.org/1", 0.75432), ("o", None)])
    assert record.labels == ("http://x.org/1", "o")
    assert record.confidences == (0.7543,)
    assert record.language == "en"
    written = json.dumps(record.to_json()).casefold()
    assert not [word for word in ("honey", "orchards", "taxes", "beekeepers", "d1") if word in written]
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_training_on_few_documents_leaves_no_profile() -> None:
    assert training_profile([BEES] * (FEWEST - 1)) is None
    assert training_profile([BEES] * FEWEST) == {"languages": {"en": FEWEST}}


def test_a_line_that_a_killed_process_left_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log, record = tmp_path / "log.jsonl", Record.of(BEES, "bees 0001", [("o", 0.5)])
    append(log, [first_entry("bees 0001", {}), record])
    whole = log.read_bytes()
    log.write_bytes(whole + whole.splitlines()[-1][:20])
    append(log, [record])
    with caplog.at_level(logging.WARNING):
        assert [*read(log)] == [First("bees 0001", None), record, record]
    assert "1 lines cannot be read" in caplog.text


def test_a_log_that_could_not_be_written_begins_with_the_training_all_the_same(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "later" / "log.jsonl")
    with pytest.raises(TagwrightError):
        watch.add("bees 0001", {}, [(BEES, [])])
    (tmp_path / "later").mkdir()
    watch.add("bees 0001", {}, [(BEES, [])])
    first, record = read(tmp_path / "later" / "log.jsonl")
    assert (first, isinstance(record, Record)) == (First("bees 0001", None), True)
    assert watch.monitors["bees 0001"].count == 1


def test_another_file_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text('{"id": "d1", "suggestions": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no tagged documents"):
        Watch(tmp_path / "run.jsonl")
    with pytest.raises(InputError, match="cannot be read"):
        Watch(tmp_path / "missing.jsonl", must_exist=True)


def test_a_watch_goes_on_where_the_log_ends_and_keeps_versions_apart(tmp_path: Path) -> None:
    log, training = tmp_path / "log.jsonl", {"profile": {"languages": {"en": 2}}}
    first = Watch(log)
    for version in ("bees 0001", "bees 0002", "bees 0001"):
        first.add(version, training, [(BEES, [("o", 0.5)])])
    first.add("fixed", {}, [(BEES, [])])
    again = Watch(log)
    assert {version: each.count for version, each in again.monitors.items()} == {
        "bees 0001": 2, "bees 0002": 1, "fixed": 1,
    }  # fmt: skip
    assert [each.languages for each in again.monitors.values()] == [{"en": 2}, {"en": 2}, None]
    assert again.looks("never served") == {}


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"id": "d1"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="holds no tagged documents"):
        begin(tmp_path / "docs.jsonl", "bees 0001", {})
    assert (tmp_path / "docs.jsonl").read_text(encoding="utf-8") == '{"id": "d1"}\n'
