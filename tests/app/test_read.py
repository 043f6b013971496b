"""`tagwright read`: what was understood of a file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.app.conftest import Command
from tests.processes import TAGWRIGHT
from tests.readers.printed import page, pdf

PAPER = """<article><front><article-meta><article-id pub-id-type="pmid">17</article-id>
<title-group><article-title>Bees</article-title></title-group></article-meta></front><body>
<sec><title>Wings</title><p>Four.</p><sec><title>Left</title><p>Two.</p></sec></sec><sec><title>Legs</title></sec></body>
<back><ref-list><ref><mixed-citation><pub-id pub-id-type="pmid">8</pub-id></mixed-citation></ref></ref-list></back>
</article>"""


def test_a_document_is_printed_as_json_with_its_sections_as_a_tree(run: Command) -> None:
    Path("a.xml").write_text(PAPER)
    outcome = run("read", "a.xml")
    assert (outcome.code, outcome.err) == (0, "")
    left = {"heading": "Left", "paragraphs": ["Two."], "sections": []}
    assert json.loads(outcome.out) == {
        "id": "17",
        "title": "Bees",
        "abstract": "",
        "sections": [
            {"heading": "Wings", "paragraphs": ["Four."], "sections": [left]},
            {"heading": "Legs", "paragraphs": [], "sections": []},
        ],
        "metadata": {"reference": ["8"]},
        "labels": [],
    }


def test_a_table_that_is_not_utf_8_names_the_option_that_reads_it(run: Command) -> None:
    Path("a.csv").write_bytes("id,title\n1,Été\n".encode("cp1252"))
    assert run("read", "a.csv").err == (
        "tagwright: a.csv:2: byte 0xc9 is not UTF-8; save the file as UTF-8, or name the encoding of documents: "
        "--encoding cp1252\n"
    )
    assert json.loads(run("read", "a.csv", "--encoding", "cp1252").out)["title"] == "Été"


def test_levels_that_are_left_out_stay_in_the_section_before(run: Command) -> None:
    levels = [{"heading": str(level), "level": level} for level in (2, 4, 3, 1)]
    Path("a.jsonl").write_text(json.dumps({"id": "1", "sections": levels}))
    [two, one] = json.loads(run("read", "a.jsonl").out)["sections"]
    assert (two["heading"], [each["heading"] for each in two["sections"]], one["heading"]) == ("2", ["4", "3"], "1")


def test_several_documents_follow_each_other(run: Command) -> None:
    out = run("read", "docs.jsonl").out
    assert [json.loads("{" + part)["id"] for part in out.split("\n{")[1:]] == ["2", "3"]


def test_what_cannot_be_read_is_said_on_stderr_and_the_rest_is_printed(desk: Path) -> None:
    (desk / "in").mkdir()
    (desk / "in/a.pdf").write_bytes(pdf([page(("Bees", 18, True), "They fly.")]))
    (desk / "in/b.pdf").write_bytes(b"%PDF-1.4")
    done = subprocess.run([*TAGWRIGHT, "read", "in"], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert json.loads(done.stdout)["abstract"] == "They fly."
    first, second = done.stderr.splitlines()
    assert first.startswith("in/b.pdf: is no PDF file, or a damaged one (")
    assert second == "2 files: 1 read; 1 could not be read"


@pytest.mark.parametrize("command", ["suggest", "evaluate", "describe"])
def test_where_one_of_four_files_cannot_be_read_the_others_are_done_and_the_exit_code_is_3(
    run: Command, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    Path("in").mkdir()
    for name in ("bees", "banks", "rain"):
        Path(f"in/{name}.txt").write_text(name)
        Path(f"in/{name}.key").write_text(name)
    ready = (
        command,
        "in",
        "--labels",
        "labels.jsonl",
        *([] if command == "describe" else ("--set", 'stages=["exact_match"]', "--set", "weights=[1.0]")),
    )
    assert run(*ready).code == 0
    Path("in/wasps.pdf").write_bytes(b"%PDF-1.4")
    outcome = run(*ready)
    assert outcome.code == 3
    assert "bank" in outcome.out.casefold() or "3 documents" in outcome.out
    assert "4 files: 3 read; 1 could not be read" in caplog.messages
    assert run("read", "docs.jsonl").code == 0  # the count ends with its command


def test_most_files_of_a_folder_may_be_damaged_in_one_of_their_lines(
    run: Command, caplog: pytest.LogCaptureFixture
) -> None:
    Path("in").mkdir()
    Path("in/a.txt").write_text("Bees")
    for name in "bc":
        Path(f"in/{name}.nxml").write_text("<article>\n<p></article>")
    outcome = run("read", "in")
    assert (outcome.code, json.loads(outcome.out)["title"]) == (3, "Bees")
    *damaged, counted = caplog.messages
    assert [line.partition(" ")[0] for line in damaged] == ["in/b.nxml:2:", "in/c.nxml:2:"]
    assert counted == "2 documents left out: not readable"
    assert run("read", "in/b.nxml", "in/c.nxml").code == 2


def test_a_file_named_alone_that_cannot_be_read_is_an_error(run: Command) -> None:
    Path("b.pdf").write_bytes(b"%PDF-1.4")
    outcome = run("read", "b.pdf")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("tagwright: b.pdf: is no PDF file, or a damaged one (")


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.xml", "a.tei", "a.nxml", "a.html", "a.json", "a"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", bytes(range(256)) * 9, b"{}", b"<a>" * 999], ids=len)
def test_rubbish_under_any_name_is_refused_or_read_as_what_it_says(run: Command, name: str, content: bytes) -> None:
    Path(name).write_bytes(content)
    outcome = run("read", name)
    assert outcome.code == 2 or name == "a.html"
    assert outcome.err.startswith(f"tagwright: {name}") or outcome.code == 0
    assert outcome.err.count("\n") == (outcome.code == 2)
