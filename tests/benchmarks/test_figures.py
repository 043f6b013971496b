"""Figures that a reader can check: the corpora, corpora of one's own, and the state of the sources in results files."""

from __future__ import annotations

import ast
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

NOT_MEASURED = ("core", "errors", "evaluation/report", "readers")
"What only carries data, and drawings."


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


def test_benchmarks_run_on_a_corpus_of_ones_own_and_their_tables_are_printed(tmp_path: Path) -> None:
    own_corpus.write(tmp_path)

    def run(*arguments: str) -> str:
        start = [sys.executable, "-m", "benchmarks", *arguments, "--folder", str(tmp_path)]
        done = subprocess.run(start, cwd=tables.ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("names", "--made-up", "100")
    assert [path.name for path in (tmp_path / "results").glob("*.json")] == ["names.json"]
    found = json.loads((tmp_path / "results" / "names.json").read_text(encoding="utf-8"))
    assert (found["names"], found["made up"]["names"]) == (160, 100)  # 80 labels, an English and a German name each
    assert found["made"][0]["sources"].keys() == set(figures.DEPENDS["names"])
    printed = run("tables")
    assert re.findall("^# (.*)$", printed, re.MULTILINE) == ["speed", "machines"]
    assert "| finding 160 names in full papers, one core |" in printed


def test_what_cannot_be_measured_on_is_said_in_one_line(tmp_path: Path) -> None:
    def said(folder: Path) -> str:
        start = [sys.executable, "-m", "benchmarks", "--folder", str(folder), "names", "--made-up", "10"]
        done = subprocess.run(start, cwd=tables.ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        return done.stderr

    assert "nowhere: not a folder" in said(tmp_path / "nowhere")
    assert "epmc not found under" in said(tmp_path)
    own_corpus.write(tmp_path)
    (tmp_path / "labels.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1"\n'))
    assert "labels.jsonl.gz:1" in said(tmp_path)


def test_wording_does_not_change_a_digest_and_a_constant_does() -> None:
    def of(text: str) -> str:
        return figures.digest("a", {"a/b.py": text.encode()})

    plain = of('"""One."""\nX = 1\n"Why."\ndef f(x: int) -> int:\n    """Two."""\n    return x + X\n')
    assert plain == of("X = 1  # one\ndef f(x: int) -> int:\n\n    return (x +\n  X)\n")
    assert plain != of("X = 2\ndef f(x: int) -> int:\n    return x + X\n")
    assert plain != of("X = 1\ndef f(x: int) -> int:\n    return x - X\n")


def test_a_part_is_a_package_or_a_module_with_its_data() -> None:
    files = {"a/b.py": b"1", "a/c.json": b"{}", "ab.py": b"2", "a.py": b"3"}
    assert figures.digest("a/b", files) == figures.digest("a/b", {"a/b.py": b"1"})
    assert figures.digest("a", files) != figures.digest("a", {**files, "a/c.json": b"[]"})
    assert figures.digest("a", files) == figures.digest("a", {**files, "ab.py": b"4"})
    with pytest.raises(ValueError, match="no 'c'"):
        figures.digest("c", files)


def test_states_are_listed_until_a_file_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def state(day: str, text: str) -> None:
        found = {"day": day, "sources": {"text": text, "stages/names": "n", "server": "s"}}
        monkeypatch.setattr(figures, "state", lambda: found)

    def made() -> object:
        return json.loads(path.read_text(encoding="utf-8"))["made"]

    monkeypatch.setattr(machine, "describe", lambda: "another processor")
    path = tmp_path / "names.json"
    state("2026-01-01", "old")
    path.write_text(json.dumps({"machine": "a processor, 2025-12-31", "one": 1}), encoding="utf-8")
    figures.write(path, {**figures.read(path), "two": 2})
    old = {"day": "2026-01-01", "sources": {"text": "old", "stages/names": "n"}}
    assert made() == [{"day": "2025-12-31"}, old]
    state("2026-01-02", "old")
    figures.write(path, {**figures.read(path), "three": 3})
    assert made() == [{"day": "2025-12-31"}, {**old, "day": "2026-01-02"}]
    state("2026-01-03", "new")
    figures.write(path, figures.read(path))
    assert len(figures.read(path)["made"]) == 3
    assert figures.read(path)["two"] == 2
    figures.write(path, {"one": 1})
    assert made() == [{"day": "2026-01-03", "sources": {"text": "new", "stages/names": "n"}}]
    figures.write(path, {"one": 1}, [figures.UNRECORDED])  # a row that was kept
    assert made() == [{"day": "before"}]


def test_what_is_said_of_a_file() -> None:
    now = {"data": "d", "text": "t"}
    same, other = {"day": "1", "sources": now}, {"day": "2", "sources": {"data": "d", "text": "before"}}
    assert figures.compared([same], now) == "the same"
    assert figures.compared([same, other], now) == "changed in: text"
    assert figures.compared([{"day": "0"}], now) == "not recorded"
    assert figures.compared([{"day": "0"}, same], now) == "partly not recorded; the same"
    assert figures.compared([same], {**now, "types": "new"}) == "changed in: types"


def test_every_results_file_says_what_it_depends_on() -> None:
    others = {"corpora", "recorded"}
    assert {path.stem for path in figures.COMMITTED.glob("*.json")} - others == {*figures.DEPENDS}
    for parts in figures.DEPENDS.values():
        assert all(figures.digest(part, figures.SOURCES) for part in parts)


@pytest.mark.parametrize("name", sorted(figures.DEPENDS))
def test_what_a_script_imports_is_among_what_its_results_depend_on(name: str) -> None:
    script = Path(figures.__file__).with_name(f"{name.replace('-', '_')}.py")
    nodes = ast.walk(ast.parse(script.read_text(encoding="utf-8"))) if script.is_file() else ()
    modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    paths = [module.split(".", 1)[1].replace(".", "/") for module in modules if module.startswith("tagwright.")]
    known = (*figures.DEPENDS[name], *NOT_MEASURED, "data", "types", "methods", "papers")
    assert [path for path in paths if not any(f"{path}/".startswith(f"{part}/") for part in known)] == []
