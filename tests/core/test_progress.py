"""The progress bar: shown to a person, silent otherwise."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.processes import loaded_by

from tagwright.core.progress import bar, count_items, detail, hint, note, show_details, silence
from tagwright.errors import on_command_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Let stderr be a terminal. Called by the test itself: pytest takes stderr back after a fixture."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return stream


def work(title: str, total: int = 4) -> None:
    with bar(title, total) as done:
        for _ in range(total):
            done(1)


def test_a_terminal_sees_what_is_done_and_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    work("counting bees")
    assert "counting bees" in terminal.getvalue()
    assert "4/4" in terminal.getvalue()


def test_where_nobody_knows_how_much_the_time_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with bar("growing apples", None):
        pass
    assert "growing apples" in terminal.getvalue()
    assert "0:00:00" in terminal.getvalue()
    assert "0/" not in terminal.getvalue()


def test_a_bar_inside_a_bar_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with bar("outer", 1):
        work("inner")
    assert "outer" in terminal.getvalue()
    assert "inner" not in terminal.getvalue()


def test_nothing_is_shown_under_silence_nor_without_title_nor_without_work(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with silence():
        work("silenced")
    work("")
    work("nothing to do", total=0)
    assert terminal.getvalue() == ""
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    work("piped")
    assert terminal.getvalue() == ""


def test_a_note_is_silent_when_asked_and_a_hint_without_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_command_line():
        hint("unseen")
        with silence():
            note("unheard")
        note("seen")
        detail("not asked for")
        with show_details():
            detail("a detail")
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        hint("known")
    assert capsys.readouterr().err == "tagwright: seen\ntagwright: a detail\ntagwright: known\n"


def test_a_program_with_a_log_has_notes_and_details_there(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, "tagwright"):
        note("kept: svm")
        detail("tried: svm")
        with silence():
            note("unheard")
    assert [(each.levelname, each.message) for each in caplog.records] == [
        ("INFO", "kept: svm"), ("DEBUG", "tried: svm"),
    ]  # fmt: skip
    assert capsys.readouterr().err == ""


def test_a_library_prints_nothing_where_no_log_is_set_up(tmp_path: Path) -> None:
    """Neither a note (the languages of names) nor a warning (a column left out); a log has both."""
    (tmp_path / "labels.csv").write_text(
        "id,label_en,label_de,colour\n1,Bees,Bienen,x\n2,Taxes,Steuern,y\n", encoding="utf-8"
    )
    program = "import tagwright as tw; tw.Vocabulary.read('labels.csv'); tw.Vocabulary.read('labels.csv')"
    log = "import logging; logging.basicConfig(level='INFO', format='%(levelname)s'); "
    runs = [
        subprocess.run([sys.executable, "-c", each], cwd=tmp_path, capture_output=True, text=True, check=True)
        for each in (program, log + program)
    ]
    assert [(each.stdout, sorted(each.stderr.split())) for each in runs] == [
        ("", []),
        ("", ["INFO", "INFO", "WARNING", "WARNING"]),
    ]


def test_the_command_line_prints_what_is_left_out_of_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.csv").write_text("id,name,colour\n1,Bees,x\n2,Taxes,y\n", encoding="utf-8")
    (tmp_path / "note.txt").write_text("Bees")
    monkeypatch.chdir(tmp_path)
    suggest = "suggest note.txt --labels labels.csv --language en --set stages=['exact_match']"
    _, told = loaded_by(["labels", "--labels", "labels.csv"], suggest.split())
    assert told == "labels.csv: columns left out: colour\n" * 2


def test_notes_beside_a_silent_call_in_another_thread_are_told(caplog: pytest.LogCaptureFixture) -> None:
    silenced, told = threading.Event(), threading.Event()

    def train() -> None:
        with silence():
            silenced.set()
            note("unheard")
            told.wait(10)

    thread = threading.Thread(target=train)
    with caplog.at_level(logging.INFO, "tagwright"):
        thread.start()
        silenced.wait(10)
        note("heard")
        told.set()
        thread.join()
        note("heard again")
    assert [each.message for each in caplog.records] == ["heard", "heard again"]


def test_notes_inside_a_bar_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    with on_command_line(), bar("counting", 2):
        note("one \x1b[31mred\u202e hive is empty")
    assert "tagwright: one \\u001b[31mred\\u202e hive is empty" in terminal.getvalue()


def test_items_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    assert list(count_items("folds", "abc")) == ["a", "b", "c"]
    assert "folds" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
