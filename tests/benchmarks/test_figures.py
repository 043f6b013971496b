"""Figures that a reader can check: the corpora, corpora of one's own, and the days in results files."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import corpora, figures, machine, tables
from tests.benchmarks import own_corpus

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"The SHA-256 of abc, from FIPS 180-4."


def test_each_file_is_right_differs_or_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    digests = tmp_path / "corpora.json"
    digests.write_text(json.dumps({"one": {"a": ABC, "b": ABC}, "two": {"c": ABC}}), encoding="utf-8")
    monkeypatch.setattr(corpora, "DIGESTS", digests)
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a").write_bytes(b"abc")
    (tmp_path / "one" / "b").write_bytes(b"abd")
    with pytest.raises(SystemExit) as stopped:
        corpora.main([str(tmp_path)])
    assert capsys.readouterr().out.splitlines() == ["one/a: right", "one/b: differs", "two/c: missing"]
    assert stopped.value.code == 1
    digests.write_text(json.dumps({"one": {"a": ABC}}), encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        corpora.main([str(tmp_path)])
    assert stopped.value.code == 0
    with pytest.raises(SystemExit, match="nowhere: not a folder; expected one with a folder for each of one"):
        corpora.main([str(tmp_path / "nowhere")])


def test_one_corpus_stands_for_every_name_and_a_folder_for_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpora, "FOLDER", tmp_path)
    assert corpora.folder("mdn") == tmp_path / "mdn"
    own_corpus.write(tmp_path)
    assert corpora.folder("mdn") == corpora.folder("tib") == tmp_path
    assert (len(corpora.documents("tib", "train")), len(corpora.documents("mdn", "dev", 5))) == (120, 5)
    assert len(corpora.corpus("epmc", "train", "dev")) == 180
    assert len(corpora.labels("arxiv")) == 80


@pytest.mark.slow
def test_benchmarks_run_on_a_corpus_of_ones_own_and_their_tables_are_printed(tmp_path: Path) -> None:
    own_corpus.write(tmp_path)

    def run(*arguments: str) -> str:
        start = [sys.executable, "-m", "benchmarks", *arguments, "--folder", str(tmp_path)]
        done = subprocess.run(start, cwd=tables.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("supervised", "--corpora", "tib", "--rows", "SVM", "--work", str(tmp_path / "work"))
    assert [path.name for path in (tmp_path / "results").glob("*.json")] == ["supervised.json"]
    found = json.loads((tmp_path / "results" / "supervised.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["made"][0]["day"])
    printed = run("tables")
    made = ["supervised, tib, static", "intervals of supervised, tib, static"]
    assert re.findall("^# (.*)$", printed, re.MULTILINE) == made
    assert "| SVM | " in printed


def test_what_cannot_be_measured_on_is_said_in_one_line(tmp_path: Path) -> None:
    def said(folder: Path) -> str:
        start = [sys.executable, "-m", "benchmarks", "--folder", str(folder), "zeroshot", "--corpora", "epmc"]
        done = subprocess.run(start, cwd=tables.ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        return done.stderr

    assert "nowhere: not a folder" in said(tmp_path / "nowhere")
    assert "epmc not found under" in said(tmp_path)
    own_corpus.write(tmp_path)
    (tmp_path / "labels.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1"\n'))
    assert "labels.jsonl.gz:1" in said(tmp_path)


def test_states_are_listed_until_a_file_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def made() -> object:
        return json.loads(path.read_text(encoding="utf-8"))["made"]

    monkeypatch.setattr(machine, "describe", lambda: "another processor")
    path, first, second = tmp_path / "names.json", {"day": "2026-01-01", "commit": "a" * 12}, {"day": "2026-01-02"}
    monkeypatch.setattr(figures, "state", lambda: first)
    figures.write(path, {"one": 1})
    figures.write(path, {**figures.read(path), "two": 2})
    assert made() == [first]
    monkeypatch.setattr(figures, "state", lambda: second)
    figures.write(path, {**figures.read(path), "three": 3})
    assert (made(), figures.read(path)["two"]) == ([first, second], 2)
    figures.write(path, {"one": 1})
    assert made() == [second]
    figures.write(path, {"one": 1}, [figures.UNRECORDED])  # a row that was kept
    assert made() == [{"day": "before"}]


def test_every_results_file_says_when_it_was_made() -> None:
    paths = [path for path in figures.COMMITTED.glob("*.json") if path.stem not in figures.NOT_MEASURED]
    assert [path.name for path in paths if not figures.read(path).get("made")] == []
