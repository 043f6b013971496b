"""The same bytes whichever way a batch is run, stopped and continued."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.batch.conftest import BROKEN, DOCUMENTS, NAMELESS, REPEATED, words, write_documents
from tests.processes import TAGWRIGHT
from typer.testing import CliRunner

from tagwright.app import cli
from tagwright.batch import batch
from tagwright.batch.local_processes import Tagged
from tagwright.batch.output_folder import BatchOptions, OutputFolder
from tagwright.batch.shard_tagging import tag_shard
from tagwright.batch.shards import Shard
from tagwright.errors import ConfigError, InputError, ModelError, TagwrightError
from tagwright.readers.documents.files import open_sources
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions

SIZE = 10


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def command(documents: Path, model: Path, output: Path, *more: str) -> list[str]:
    where = ["--model", str(model), "--output", str(output), "--shard-size", str(SIZE), "--quiet"]
    return [*TAGWRIGHT, "batch", str(documents), *where, *more]


def run(documents: Path, model: Path, output: Path, *more: str) -> str:
    done = subprocess.run(command(documents, model, output, *more), capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    return done.stdout


def here(monkeypatch: pytest.MonkeyPatch, model: Path, options: BatchOptions) -> list[int]:
    """Shards are tagged in this process; returns the list to which their numbers are added."""
    numbers = list[int]()

    def engine(shards: object, *_: object) -> object:
        for shard in shards:  # type: ignore[attr-defined]
            numbers.append(shard.number)
            target = shard.path.with_suffix(".suggestions")
            yield shard, target, tag_shard(model, "", options, shard.path, target)

    monkeypatch.setattr(batch, "in_processes", engine)
    return numbers


def tag(
    documents: Path, model: Path, output: Path, options: BatchOptions, share: str = "0/1", processes: int | None = None
) -> batch.Summary:
    unread = list[InputError]()
    sources, wanted = open_sources(documents, collect=unread.append), batch.shards_of(share)
    return batch.run(sources, model, output, options, wanted, unread=unread, processes=processes)


OPTIONS = BatchOptions(shard_size=SIZE)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documents of tests that do not change them; errors name their file."""
    return write_documents(tmp_path_factory.mktemp("unchanged"))


@pytest.fixture(scope="module")
def whole(unchanged: Path, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command writes with one process that nothing disturbs; what it printed is beside it."""
    folder = tmp_path_factory.mktemp("whole")
    said = run(unchanged, model, folder / "out", "--processes", "1", "--json")
    (folder / "summary.json").write_text(said, encoding="utf-8")
    return folder / "out"


def test_one_process_two_processes_and_shares_of_the_shards_write_the_same_bytes(
    unchanged: Path, model: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = json.loads((whole.parent / "summary.json").read_text(encoding="utf-8"))
    assert (summary["shards"], summary["documents"], summary["errors"], summary["skipped"]) == (6, DOCUMENTS, 3, 0)
    tag(unchanged, model, tmp_path / "two", OPTIONS, processes=2)
    here(monkeypatch, model, OPTIONS)
    for part in ("0/2", "1/2"):
        tag(unchanged, model, tmp_path / "parts", OPTIONS, part)
    assert contents(whole) == contents(tmp_path / "two") == contents(tmp_path / "parts")


def test_killed_in_the_middle_and_started_again_it_writes_the_same_bytes(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, model, OPTIONS)
    tag(documents, model, tmp_path / "whole", OPTIONS)
    killed = tmp_path / "killed"
    started = subprocess.Popen(command(documents, model, killed, "--processes", "1"), stdout=subprocess.DEVNULL)
    while started.poll() is None and not (killed / "shard-000000.json").exists():
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.wait()
    numbers = here(monkeypatch, model, OPTIONS)
    summary = tag(documents, model, killed, OPTIONS)
    assert 0 not in numbers
    assert summary.skipped + summary.shards == 6
    assert contents(killed) == contents(tmp_path / "whole")


def test_parquet_holds_the_same_with_the_names_of_labels(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = BatchOptions(shard_size=SIZE, format="parquet")
    for options in (OPTIONS, parquet):
        here(monkeypatch, model, options)
        tag(documents, model, tmp_path / options.format, options)
    rows = pq.read_table(tmp_path / "parquet" / "shard-000001.parquet").to_pylist()
    lines = (tmp_path / "jsonl" / "shard-000001.jsonl").read_text(encoding="utf-8").splitlines()
    assert [row["id"] for row in rows] == [json.loads(line)["id"] for line in lines]
    for row, line in zip(rows, lines, strict=True):
        suggested = json.loads(line)["suggestions"]
        assert [each["label"] for each in row["suggestions"]] == [each["label"] for each in suggested]
        assert all(each["name"] == each["label"] and 0 < each["confidence"] < 1 for each in row["suggestions"])


def test_the_exit_code_says_that_documents_failed_and_a_file_which_and_why(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.jsonl").write_text('{"id": "1", "text": "bees"}\n')
    here(monkeypatch, model, OPTIONS)
    for which, expected in ((documents, 3), (tmp_path / "good.jsonl", 0)):
        words = command(which, model, tmp_path / which.stem, "--json")[len(TAGWRIGHT) :]
        monkeypatch.setattr(sys, "argv", ["tagwright", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        assert (end.value.code or 0) == expected
        assert json.loads(capsys.readouterr().out)["errors"] == expected
    errors = records(tmp_path / "documents" / "errors.jsonl")
    assert [(each["shard"], each["line"]) for each in errors] == [(0, BROKEN), (2, NAMELESS), (2, REPEATED)]
    assert "is not JSON" in errors[0]["reason"]


def test_a_document_that_the_tagger_fails_on_costs_no_other(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Tagger.best

    def failing(self: Tagger, batch: list[object], options: SuggestOptions) -> object:
        if any(getattr(each, "id", "") == "d15" for each in batch):
            raise ValueError("no\nsuch thing")
        return real(self, batch, options)  # type: ignore[arg-type]

    monkeypatch.setattr(Tagger, "best", failing)
    here(monkeypatch, model, OPTIONS)
    tag(documents, model, tmp_path / "out", OPTIONS)
    errors = records(tmp_path / "out" / "errors.jsonl")
    assert {"shard": 1, "reason": "cannot be tagged (no such thing)", "file": "", "line": None, "id": "d15"} in errors
    lines = (tmp_path / "out" / "shard-000001.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == [f"d{i}" for i in range(11, 21) if i != 15]


def test_a_tagger_that_fails_on_everything_is_an_error(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> object:
        raise RuntimeError("out of order")

    monkeypatch.setattr(Tagger, "best", failing)
    here(monkeypatch, model, OPTIONS)
    with pytest.raises(RuntimeError, match="out of order"):
        tag(documents, model, tmp_path / "out", OPTIONS)


def test_what_is_whole_is_skipped_and_what_is_damaged_or_from_other_documents_is_tagged_again(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    here(monkeypatch, model, OPTIONS)
    tag(documents, model, out, OPTIONS)
    before = contents(out)
    numbers = here(monkeypatch, model, OPTIONS)
    assert tag(documents, model, out, OPTIONS).skipped == 6
    file = out / "shard-000002.jsonl"
    file.write_bytes(b"X" + file.read_bytes()[1:])
    (out / "shard-000003.jsonl").unlink()
    (out / "shard-000004.json").write_text("{")
    (out / ".shard-000001.jsonl.tmp01234567").write_text("what a killed process has left")
    tag(documents, model, out, OPTIONS)
    assert numbers == [2, 3, 4]
    assert contents(out) == before
    (out / "shard-000003 copy 2.json").write_text("what a person has left")
    lines = documents.read_text(encoding="utf-8").splitlines()
    lines[BROKEN - 1] = json.dumps({"id": "mended", "title": "Bees"})
    lines[45] = json.dumps({"id": "d46", "title": "Rain"})
    documents.write_text("\n".join(lines) + "\n", encoding="utf-8")
    numbers.clear()
    tag(documents, model, out, OPTIONS)
    assert numbers == [0, 4]
    errors = records(out / "errors.jsonl")
    assert [each["line"] for each in errors] == [NAMELESS, REPEATED]


@pytest.mark.parametrize("kept", [1, 40, 45])  # the last one is shard 0, shard 3 and whole, shard 4
def test_shards_beyond_the_last_of_a_shorter_input_are_kept_and_the_input_is_refused(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    numbers = here(monkeypatch, model, OPTIONS)
    tag(documents, model, tmp_path / "out", OPTIONS)
    before = contents(tmp_path / "out")
    lines = documents.read_text(encoding="utf-8").splitlines()
    documents.write_text("\n".join(lines[:kept]) + "\n", encoding="utf-8")
    numbers.clear()
    shards = -(-kept // SIZE)
    said = rf"out: holds shard-00000{shards}.jsonl, but these documents end before it; give all of them"
    for share in ("0/1", "1/2"):
        with pytest.raises(TagwrightError, match=said):
            tag(documents, model, tmp_path / "out", OPTIONS, share)
    assert numbers == []
    assert contents(tmp_path / "out") == before
    for file in (tmp_path / "out").glob("shard-*"):
        if int(file.stem.partition("-")[2]) >= shards:
            file.unlink()
    last = tmp_path / "out" / f"shard-{shards - 1:06}.jsonl"
    if kept != 40:
        with pytest.raises(TagwrightError, match=rf"{last.name}: holds suggestions for .* which these documents lack"):
            tag(documents, model, tmp_path / "out", OPTIONS)
        assert last.read_bytes() == before[last.name]
        last.unlink()
    tag(documents, model, tmp_path / "out", OPTIONS)
    assert numbers == [shards - 1] * (kept != 40)


def test_csv_is_that_of_suggest(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = BatchOptions(shard_size=2, format="csv")
    here(monkeypatch, model, options)
    rows = [
        {"id": "=1", "title": "Bees,\nwasps"},
        {"id": "b", "text": "Nothing known"},
        {"id": "c", "title": "Honey bees"},
    ]
    path, out = tmp_path / "documents.jsonl", tmp_path / "out"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    tag(path, model, out, options)
    result = CliRunner().invoke(cli.app, ["suggest", str(path), "--model", str(model), "--format", "csv"])
    header, *lines = result.stdout.splitlines()
    assert header == "document,rank,id,notation,name,score,confidence,none"
    assert lines[0].startswith("'=1,1,")
    of_last = [line for line in lines if line.startswith("c,")]
    first, second = (out / f"shard-00000{number}.csv" for number in (0, 1))
    assert first.read_text(encoding="utf-8").splitlines() == [header, *(line for line in lines if line not in of_last)]
    assert second.read_text(encoding="utf-8").splitlines() == [header, *of_last]


def test_json_lines_are_those_of_suggest_to_the_last_digit(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, model, OPTIONS)
    path, out = tmp_path / "documents.jsonl", tmp_path / "out"
    path.write_text(json.dumps({"id": "a", "title": words(1), "text": words(2)}) + "\n", encoding="utf-8")
    tag(path, model, out, OPTIONS)
    result = CliRunner().invoke(cli.app, ["suggest", str(path), "--model", str(model), "--format", "jsonl"])
    [line] = (out / "shard-000000.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["suggestions"]
    assert json.loads(result.stdout) == json.loads(line)


def test_options_that_the_tagger_cannot_follow_leave_the_output_free(
    documents: Path, model: Path, tmp_path: Path
) -> None:
    impossible = BatchOptions(shard_size=SIZE, thresholds=True)
    with pytest.raises(ConfigError, match="this tagger has no thresholds"):
        tag(documents, model, tmp_path / "out", impossible)
    assert not (tmp_path / "out").exists()


def test_suggestions_for_documents_that_are_not_given_any_more_are_kept(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 3 documents, then 1; of 3, one of which is larger than the limit; the same number, but another document."""
    options = BatchOptions(shard_size=SIZE)
    here(monkeypatch, model, options)
    lines = [json.dumps({"id": f"d {i}", "title": "Bees", "text": "Honey " * 9**i}) + "\n" for i in range(4)]
    path, out = tmp_path / "documents.jsonl", tmp_path / "out"
    path.write_text("".join(lines[:3]), encoding="utf-8")
    tag(path, model, out, options)
    before = contents(out)
    for fewer, limit in ((lines[:1], ""), (lines[:3], "200"), ([lines[0], lines[1], lines[3]], "")):
        path.write_text("".join(fewer), encoding="utf-8")
        monkeypatch.setenv("TAGWRIGHT_MAX_DOCUMENT_SIZE", limit)
        with pytest.raises(TagwrightError, match=r'holds suggestions for "d .*another folder'):
            tag(path, model, out, options)
        assert contents(out) == before
    path.write_text("".join([lines[0].replace("Bees", "Rain"), *lines[1:]]), encoding="utf-8")
    assert tag(path, model, out, options).shards == 1  # one more, and one is changed


def test_documents_that_another_run_has_tagged_since_the_shard_was_cut_are_kept(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "documents.jsonl", tmp_path / "out"
    path.write_text('{"id": "1", "title": "Bees"}\n', encoding="utf-8")

    def beside(shards: Iterator[Shard], *_: object) -> Iterator[Tagged]:
        for shard in shards:
            path.write_text('{"id": "1", "title": "Bees"}\n{"id": "2", "title": "Rain"}\n', encoding="utf-8")
            here(monkeypatch, model, OPTIONS)
            tag(path, model, out, OPTIONS)
            target = shard.path.with_suffix(".suggestions")
            yield shard, target, tag_shard(model, "", OPTIONS, shard.path, target)

    monkeypatch.setattr(batch, "in_processes", beside)
    with pytest.raises(TagwrightError, match='holds suggestions for "2", which these documents lack'):
        tag(path, model, out, OPTIONS)
    assert [row["id"] for row in records(out / "shard-000000.jsonl")] == ["1", "2"]


def test_a_folder_that_cannot_be_written_is_refused_before_documents_are_read(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    sources: Iterator[Any] = map(pytest.fail, ["read too early"])
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(TagwrightError, match=r"out: cannot be written \(No space left on device\)"):
        batch.run(sources, model, tmp_path / "out", OPTIONS, batch.shards_of("0/1"), unread=[])


def test_a_tagger_that_is_replaced_during_a_batch_tags_none_of_it(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(model, tmp_path / "model")
    claim = OutputFolder.claim

    def replaced(self: OutputFolder, settings: Any) -> None:
        claim(self, settings)
        Tagger.load(model).with_labels(["Bees"]).save(tmp_path / "model", overwrite=True)

    monkeypatch.setattr(OutputFolder, "claim", replaced)
    with pytest.raises(TagwrightError, match="model: was replaced since the batch began; tag into another folder"):
        tag(documents, tmp_path / "model", tmp_path / "out", OPTIONS, processes=1)
    assert not list((tmp_path / "out").glob("shard-*"))


def test_an_output_inside_a_folder_of_documents_is_refused(tmp_path: Path) -> None:
    (notes := tmp_path / "notes").mkdir()
    for output in (notes, notes / "tagged", notes / "more" / ".." / "tagged"):
        with pytest.raises(ConfigError, match="notes, whose files are the documents; choose another output"):
            batch.check_apart([str(notes)], output)
    batch.check_apart([str(notes), "-", str(notes / "*")], tmp_path / "notes tagged")


def test_other_settings_are_refused_with_what_differs(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here(monkeypatch, model, OPTIONS)
    tag(documents, model, tmp_path / "out", OPTIONS)
    with pytest.raises(TagwrightError, match=r"other settings \(k \d+, now 3; shard_size 10, now 5\)"):
        tag(documents, model, tmp_path / "out", BatchOptions(k=3, shard_size=5))
    Tagger.load(model).with_labels(["Bees"]).save(tmp_path / "other")
    with pytest.raises(TagwrightError, match=r"other settings \(model"):
        tag(documents, tmp_path / "other", tmp_path / "out", OPTIONS)


def test_a_folder_of_something_else_is_left_alone(documents: Path, model: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "letter.txt").write_text("Dear")
    with pytest.raises(TagwrightError, match="is not the folder of a batch"):
        tag(documents, model, mine, OPTIONS)
    (web := tmp_path / "web").mkdir()
    (web / "manifest.json").write_text('{"name": "a web page"}')
    for other, held in ((model, '"tagger"'), (web, "something else")):
        with pytest.raises(ModelError, match=f"holds {held}, expected a saved batch"):
            tag(documents, model, other, OPTIONS)
    assert [file.name for file in web.iterdir()] == ["manifest.json"]
    assert [file.name for file in mine.iterdir()] == ["letter.txt"]


@pytest.mark.parametrize("text", ["", "1", "2/2", "-1/2", "a/b", "0/0", "1/2/3"])
def test_a_share_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected i"):
        batch.shards_of(text)


def test_processes_that_die_before_they_are_given_work_cost_nothing(
    unchanged: Path, model: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, starts = subprocess.Popen, list[str]()

    def dying(*given: Any, **options: Any) -> Any:
        starts.append(("while starting", "after starting", "at work")[min(len(starts), 2)])
        if starts[-1] == "while starting":
            raise BlockingIOError(11, "Resource temporarily unavailable")
        process = started(*given, **options)
        if starts[-1] == "after starting":
            process.kill()
            process.wait()
        return process

    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", dying)
        tag(unchanged, model, tmp_path / "out", OPTIONS, processes=1)
    assert starts == ["while starting", "after starting", "at work"]
    assert contents(tmp_path / "out") == contents(whole)


def test_processes_that_never_start_are_an_error(
    documents: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", dying)
    said = r"shard 0: 3 processes died \(.* cannot be started: Resource .*\); start again with fewer"
    with pytest.raises(TagwrightError, match=said):
        tag(documents, model, tmp_path / "out", OPTIONS, processes=1)
