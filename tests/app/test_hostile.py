"""What goes wrong is said in one line, with exit code 2, and loses nothing."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.app.conftest import DOCUMENTS, LABELS, Command, write
from tests.processes import TAGWRIGHT
from tests.readers.reading import give_on_standard_input

from tagwright.app import render
from tagwright.tagger import Tagger, zero_shot

WORDS = ("--set", 'stages=["exact_match", "tfidf"]', "--set", "weights=[0.5, 1.0]")
ON = ("docs.jsonl", "--labels", "labels.jsonl")
RUN = ("--run", "right.jsonl")
FEW = "3 documents: too few for the intervals to say much; score 10 or more\n"
"What is warned of when the documents of these tests are scored."

PACKED = gzip.compress(b"".join(b"%d" % number for number in range(1000)))

BROKEN: dict[str, bytes] = {
    "empty.jsonl": b"",
    "text.jsonl.gz": b"not gzip at all",
    "half.jsonl.gz": PACKED[: len(PACKED) // 2],
    "latin.jsonl": b'{"id": "1", "title": "a"}\n{"id": "2", "title": "\xe9"}\n',
    "prose.jsonl": b'{"id": "1", "title": "a"}\nhello\n',
    "list.jsonl": b"[1, 2]\n",
    "deep.jsonl": b"[" * 100_000,
    "nul.jsonl": b'{"id": "1", "title": "a\x00b"}\n',
    "nameless.jsonl": b'{"year": 2020}\n',
    "twice.jsonl": b'{"id": "1", "names": ["a"], "title": "a"}\n' * 2,
    "noise.bin": bytes(range(256)) * 10,
    "open.csv": b'id,title\n"1,bees\n',
    "noise.parquet": b"PAR1 noise",
    "noise.arrow": b"ARROW1 noise",
    "noise.ttl": b"@prefix : <x> . ((",
    "noise.rdf": b"<rdf><a></rdf>",
    "noise.pdf": b"%PDF-1.7 noise",
    "noise.docx": b"PK\x03\x04 noise",
    "half.xml": b"<article><front/><body><sec><p>They",
    "bomb.xml": b'<!DOCTYPE article [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><article><body><p>&b;</p></body></article>',
    "latin.html": b"<p>caf\xe9",
}

PARTLY = {"latin.jsonl", "prose.jsonl"}
"Files with documents to tag beside a line that cannot be read."


def refusal(run: Command, *arguments: str) -> str:
    """The one line on stderr, but for the account of fields that are not used."""
    outcome = run(*arguments)
    assert outcome.code == 2
    lines = [line for line in outcome.err.splitlines() if ": not used: " not in line]
    assert len(lines) == 1
    assert lines[0].startswith("tagwright: ")
    return lines[0].removeprefix("tagwright: ")


@pytest.fixture(params=[*BROKEN, "missing.jsonl", "folder", "*.none", ""])
def bad(request: pytest.FixtureRequest, desk: Path) -> str:
    """A file that is not there or cannot be read."""
    (desk / "folder").mkdir()
    if request.param in BROKEN:
        (desk / request.param).write_bytes(BROKEN[request.param])
    return str(request.param)


@pytest.mark.parametrize(
    "command",
    [
        lambda bad: ("suggest", bad, "--labels", "labels.jsonl", *WORDS),
        lambda bad: ("evaluate", *ON, "--run", bad),
        lambda bad: ("describe", "docs.jsonl", "--labels", bad),
        lambda bad: ("suggest", "docs.jsonl", "--model", bad),
    ],
)
def test_a_bad_file_is_named(run: Command, bad: str, command: Callable[[str], tuple[str, ...]]) -> None:
    if bad in PARTLY and command("")[:2] == ("suggest", ""):
        assert run(*command(bad)).code == 3
        return
    assert (bad or ".") in refusal(run, *command(bad)) or bad == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("describe", "prose.jsonl", "--graph"), "prose.jsonl:2: is not JSON"),
        (("describe", "prose.jsonl", "--labels", "labels.jsonl", "--candidates"), "prose.jsonl:2: is not JSON"),
        (("compare", "prose.jsonl", "--labels", "labels.jsonl", *RUN, *RUN), "prose.jsonl:2: is not JSON"),
        (("evaluate", "prose.jsonl", "--labels", "labels.jsonl"), "prose.jsonl:2: is not JSON"),
        (("suggest", "twice.jsonl", "--labels", "labels.jsonl"), 'twice.jsonl:2: the id "1" is also that of'),
        (("suggest", "docs.jsonl", "--labels", "twice.jsonl"), 'twice.jsonl:2: the id "1" is taken by line 1'),
        (("suggest", "nameless.jsonl", "--labels", "labels.jsonl"), "nameless.jsonl:1: id is missing"),
        (("suggest", "labels.jsonl", "--labels", "labels.jsonl"), "labels.jsonl:1: holds labels, expected documents"),
        (("suggest", "docs.jsonl", "--labels", "docs.jsonl"), "docs.jsonl:1: holds documents, expected labels"),
        (("suggest", "right.jsonl", "--labels", "labels.jsonl"), "right.jsonl:1: holds a run, expected documents"),
        (("suggest", "docs.jsonl", "--labels", "folder"), "folder: is a folder, expected a file of labels"),
        (("read", "bomb.xml"), 'bomb.xml:1: declares the XML entity "a", which is never resolved; write it out'),
        (("suggest", "docs.jsonl"), "which labels? give a vocabulary (--labels FILE) or a saved tagger (--model DIR)"),
        (("suggest", *ON, "--language", "klingon"), 'no language "klingon"; write a code or a name'),
        (("evaluate", "docs.jsonl", "--model", "missing"), "missing: no saved tagger here"),
        (("evaluate", *ON, *RUN, "--model", "folder"), "with --run leave out --model and --set"),
        (("describe", *ON, "--model", "folder"), "--model and --set name the tagger of --candidates"),
        (("compare", *ON, *RUN), "compare needs at least two runs or taggers, got 1"),
        (("suggest", *ON, "--set", "encodr=minilm"), 'unknown option "encodr"; did you mean "encoder"?'),
        (("suggest", *ON, "--set", "weights=[2, 1, 1]", *WORDS[:2]), "3 weights for the stages"),
        (("suggest", *ON, "--set", "encoder=nobody/nothing"), 'no encoder "nobody/nothing"'),
        (("mcp", *ON[1:], "--port", "9000"), "--insecure are options of a server over HTTP; add --http"),
        (("suggest", *ON, "-k", "0"), "-k"),
        (("suggest", *ON, "--format", "xml"), "--format"),
        (("suggest", *ON, "--nope"), "--nope"),
        (("suggest",), "DOCS"),
        (("compare", "docs.jsonl", *RUN, *RUN), "--labels"),
        (("nope",), "nope"),
    ],
)
def test_a_slip_is_explained(run: Command, desk: Path, arguments: tuple[str, ...], message: str) -> None:
    (desk / "folder").mkdir()
    for name, content in BROKEN.items():
        (desk / name).write_bytes(content)
    assert message in refusal(run, *arguments)


@pytest.mark.parametrize("command", [("suggest", "--labels", "labels.jsonl", *WORDS, "--format", "jsonl"), ("read",)])
@pytest.mark.parametrize(
    ("files", "problems"),
    [
        ({"bad.jsonl": '{"id": "1", "title": "a"}\nhello\n{"id": "2", "title": [1]}\n{"id": "3", "title": "b"}\n'},
         ["bad.jsonl:2: is not JSON", "bad.jsonl:3: title is [1], expected a text"]),
        ({"bad.csv": "id,title\n1,bees\n2\n3,bees\n"}, ["bad.csv:3: has 1 columns, expected 2"]),
    ],
)  # fmt: skip
def test_a_bad_line_costs_itself_alone(
    run: Command, caplog: pytest.LogCaptureFixture, command: tuple[str, ...], files: dict[str, str], problems: list[str]
) -> None:
    for name, content in files.items():
        Path(name).write_text(content, encoding="utf-8")
    found = run(command[0], *files, *command[1:])
    assert found.code == 3
    assert re.findall('"id": "([13])"', found.out) == ["1", "3"]
    *named, counted = caplog.messages
    for message, problem in zip(named, problems, strict=True):
        assert problem in message
    assert counted == f"{len(problems)} document{'s' * (len(problems) > 1)} left out: not readable"


@pytest.mark.parametrize("command", [("suggest", "--labels", "labels.jsonl", *WORDS, "--format", "jsonl"), ("read",)])
def test_a_file_that_breaks_off_costs_no_other(
    run: Command, caplog: pytest.LogCaptureFixture, command: tuple[str, ...]
) -> None:
    Path("cut.csv").write_text('id,title\n1,Bees\n2,"Wasps\n', encoding="utf-8")
    Path("head.csv").write_text("id,title\n", encoding="utf-8")
    Path("good.csv").write_text("id,title\n3,Bees\n", encoding="utf-8")
    found = run(command[0], "cut.csv", "head.csv", "good.csv", *command[1:])
    assert (found.code, re.findall('"id": "([13])"', found.out)[-1:]) == (3, ["3"])
    for problem in ("cut.csv:3: is not CSV", "head.csv: holds no documents"):
        assert any(problem in message for message in caplog.messages)


@pytest.mark.parametrize("command", [("suggest", "--labels", "labels.jsonl", *WORDS), ("read",)])
def test_where_little_can_be_read_the_first_line_is_named(
    run: Command, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("bad.jsonl").write_text('hello\n{"id": "2", "title": [1]}\n', encoding="utf-8")
    assert "bad.jsonl:1: is not JSON" in refusal(run, command[0], "bad.jsonl", *command[1:])
    Path("bad.jsonl").write_text('{"id": "1", "title": "a"}\nhello\nthere\n', encoding="utf-8")
    assert "bad.jsonl:2: is not JSON" in run(command[0], "bad.jsonl", *command[1:]).err  # most is something else
    give_on_standard_input(monkeypatch, Path("bad.jsonl").read_bytes())
    assert refusal(run, command[0], "-", *command[1:]).startswith("standard input:2: is not JSON")
    for name in ("1.pdf", "2.pdf"):
        Path(name).write_text("%PDF-1.7 noise", encoding="utf-8")
    assert "1.pdf: is no PDF file" in refusal(run, command[0], "1.pdf", "2.pdf", *command[1:])


def test_an_unknown_gold_label_is_named_with_its_document(run: Command) -> None:
    write("gold.jsonl", [{"id": "1", "title": "a", "labels": ["beee"]}])
    on = ("gold.jsonl", "--labels", "labels.jsonl")
    problem = 'document "1" has the label "beee", which is not in the vocabulary; did you mean "bee"?'
    assert refusal(run, "evaluate", *on, *WORDS, "--unknown-labels", "error") == problem
    assert "1 gold label not in the vocabulary, such as beee" in run("describe", *on).out
    assert run("suggest", *on, *WORDS).code == 0


def test_a_document_without_gold_labels_is_named(run: Command) -> None:
    write("some.jsonl", [*DOCUMENTS, {"id": "4", "title": "Bees"}])
    found = refusal(run, "evaluate", "some.jsonl", "--labels", "labels.jsonl", *WORDS)
    assert found == 'document "4" has no gold label to score against; --skip-unlabelled leaves such out'


def test_nothing_left_to_score_is_said(run: Command) -> None:
    write("none.jsonl", [{"id": "4", "title": "Bees"}])
    on = ("none.jsonl", "--labels", "labels.jsonl", "--skip-unlabelled", *WORDS)
    assert "none of the 1 documents has a gold label" in refusal(run, "evaluate", *on)


def test_a_circle_of_broader_labels_harms_nothing_and_is_described(run: Command) -> None:
    write("circle.jsonl", [{**LABELS[0], "broader": ["bank"]}, {**LABELS[1], "broader": ["bee"]}, LABELS[2]])
    on = ("docs.jsonl", "--labels", "circle.jsonl")
    assert run("suggest", *on, *WORDS).code == 0
    assert re.search("broader has a cycle: (bee > bank > bee|bank > bee > bank)", run("describe", *on).out)


def test_a_document_without_text_gets_no_suggestion_and_counts_as_missed(run: Command, tiny: str) -> None:
    write("empty.jsonl", [{"id": "e", "title": " ", "labels": ["bee"]}])
    on = ("empty.jsonl", "--labels", "labels.jsonl", "--set", tiny)
    assert "(no suggestion)" in run("suggest", *on, "--explain").out
    measures = json.loads(run("evaluate", *on, "--json").out)["measures"]
    assert measures["P@1"] == {"value": 0, "low": 0, "high": 0}
    assert "No stage reaches 1 gold label" in run("describe", "--candidates", *on).out


def test_a_document_of_ten_megabytes_is_tagged(run: Command, tiny: str) -> None:
    write("long.jsonl", [{"id": "long", "title": "Bees", "abstract": "It flew over the old town. " * 400_000}])
    outcome = run("suggest", "long.jsonl", "--labels", "labels.jsonl", "--set", tiny, "-k", "1")
    assert (outcome.code, outcome.err) == (0, "")


def test_nul_characters_become_blanks(run: Command) -> None:
    (Path("nul.jsonl")).write_text('{"id": "n\\u0000", "title": "the\\u0000bees"}\n')
    out = run("suggest", "nul.jsonl", "--labels", "labels.jsonl", *WORDS, "--format", "tsv").out
    assert out.splitlines()[1].startswith("n\t1\tbee\t\tBees\t")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full, a disk that is always full")
@pytest.mark.parametrize("option", ["--report", "--per-label"])
def test_a_full_disk_is_said_and_a_device_is_not_replaced(run: Command, desk: Path, option: str) -> None:
    (desk / "full").symlink_to("/dev/full")
    problem = refusal(run, "evaluate", *ON, *RUN, option, "full")
    assert problem == "full: cannot be written (No space left on device)"
    assert (desk / "full").is_char_device()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_behind_stdout_is_said() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*TAGWRIGHT, "evaluate", *ON, *RUN], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (2, FEW + "tagwright: output: No space left on device\n")


@pytest.mark.skipif(os.name == "nt", reason="needs pipes that can be closed")
def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*TAGWRIGHT, "evaluate", *ON, *RUN, "--json"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, FEW)


def test_an_interrupted_command_says_so_and_keeps_what_it_printed(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    suggestions = Tagger.suggestions

    def interrupted(*arguments: Any, **options: Any) -> object:
        yield next(suggestions(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(Tagger, "suggestions", interrupted)
    outcome = run("suggest", *ON, *WORDS, "--format", "tsv")
    assert (outcome.code, outcome.err) == (130, "tagwright: interrupted\n")
    assert outcome.out.splitlines()[1].startswith("1\t1\tbee\t\tBees\t")


def test_a_mistake_of_ours_is_not_hidden(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(zero_shot, "fit", broken)
    with pytest.raises(ZeroDivisionError):
        run("suggest", *ON)


ESCAPE, OVERRIDE = "\x1b[31m", "\u202e"


def test_escape_characters_of_files_are_shown_not_obeyed(run: Command, desk: Path) -> None:
    (desk / "ec.csv").write_text(f"id,text,{ESCAPE}col\n1,2\n")
    assert "as in the header (id, text, \\u001b[31mcol)" in refusal(run, "read", "ec.csv")
    (desk / f"{ESCAPE}{OVERRIDE}.jsonl").write_text("[]")
    assert refusal(run, "read", f"{ESCAPE}{OVERRIDE}.jsonl").startswith("\\u001b[31m\\u202e.jsonl:1: holds []")
    assert ESCAPE not in refusal(run, ESCAPE)


def test_escape_characters_of_a_file_name_are_escaped_in_warnings(desk: Path) -> None:
    (desk / "good.txt").write_text("Bees")
    (desk / f"{ESCAPE}.html").write_bytes(b"<p>caf\xe9")
    done = subprocess.run(
        [*TAGWRIGHT, "read", "good.txt", f"{ESCAPE}.html"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("\\u001b[31m.html:1: byte 0xe9 is not UTF-8")
    assert ESCAPE not in done.stderr + done.stdout


@pytest.mark.parametrize("output", ["text", "tsv", "jsonl", "csv"])
def test_text_that_would_turn_round_is_shown_escaped(run: Command, output: str) -> None:
    name = f"bees{OVERRIDE}sgge"
    write("turned.jsonl", [{"id": f"d{OVERRIDE}", "title": f"bees{OVERRIDE}sgge \x9b31m \u2028"}])
    write("names.jsonl", [{"id": f"l{OVERRIDE}", "names": [name, "bees"]}])
    found = run("suggest", "turned.jsonl", "--labels", "names.jsonl", *WORDS, "--format", output)
    assert (found.code, found.err) == (0, "")
    assert not {OVERRIDE, "\x9b", "\u2028"} & {*found.out}
    assert "l\\u202e" in found.out
    if output == "jsonl":
        record = json.loads(found.out)
        assert (record["id"], record["suggestions"][0]["label"]) == (f"d{OVERRIDE}", f"l{OVERRIDE}")


def test_a_spreadsheet_gets_no_formulas(run: Command) -> None:
    write("formula.jsonl", [{"id": "=1+1", "title": "bees"}])
    write("names.jsonl", [{"id": "@b", "names": ["-bees"]}])
    on = ("formula.jsonl", "--labels", "names.jsonl", *WORDS)
    assert "\n'=1+1,1,'@b,,'-bees," in run("suggest", *on, "--format", "csv").out
    assert "\n=1+1\t1\t@b\t\t-bees\t" in run("suggest", *on, "--format", "tsv").out


def test_what_options_say_is_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    option = dict.fromkeys(("name", "expected", "default", "meaning", "paper"), "a\x1b[1m")
    render.print_options([option], as_json=False)
    said = capsys.readouterr().out
    assert said.count("\\u001b") == 4
    assert "\x1b" not in said
