"""The package of docs/new-package.md, built and installed: its stage is used by name, saved and loaded like ours."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.saved import rewrite
from tests.type_checks import type_errors

import tagwright as tw
from tagwright import registry as plugins

PAGES = [Path(__file__).resolve().parents[1] / "docs" / name for name in ("new-stage.md", "new-package.md")]
LABELS = ["Bees", "Orchards", "Tax law"]

needs_pip = pytest.mark.skipif(not find_spec("pip") or not find_spec("setuptools"), reason="needs pip and setuptools")


def blocks(language: str) -> list[str]:
    """The blocks of the pages in this language."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def module() -> str:
    """The module of the pages."""
    names = ("class Author", "def read_srt", "AUTHORS = ")
    return "\n\n".join(next(code for code in blocks("python") if name in code) for name in names)


@pytest.mark.slow
def test_a_strict_type_checker_accepts_the_module_of_the_pages(tmp_path: Path) -> None:
    assert type_errors(tmp_path, module()) == []
    wrong = module().replace("def find(self, reading: Words) -> tw.Run", "def find(self, reading: Words) -> Words")
    assert 'Return type "list[set[str]]" of "find" incompatible' in type_errors(tmp_path, wrong)[0]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the package of the page is installed."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    (source / "archive_tags.py").write_text(module(), encoding="utf-8")
    (source / "pyproject.toml").write_text(blocks("toml")[0], encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--target", str(target), str(source)], check=True)
    return target


def run(program: str, folder: Path, packages: Path) -> str:
    """What a program prints in a process of its own that finds these packages."""
    path = os.pathsep.join([str(packages), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


USED = """
import tagwright as tw
from tagwright.testing import check_stage
from archive_tags import AuthorKeywords

labels = tw.Vocabulary(["Bees", "Orchards", "Tax law"])
paper = tw.Document("1", title="A new duty on imported cider", metadata={"keyword": ("Tax law",)})
check_stage(AuthorKeywords(labels), labels, [paper])
for name in ("author_keywords", "author-keywords"):
    tagger = tw.zero_shot(labels, stages=["exact-match", name], language="en")
    print(list(tagger.stages), [each.name for each in tagger.suggest(paper)])
tagger.save("tagger")
again = tw.load("tagger")
print([(each.name, each.evidence[0].stage) for each in again.explain(paper)])
"""


@needs_pip
def test_the_stage_of_a_package_is_used_by_name_saved_and_loaded(installed: Path, tmp_path: Path) -> None:
    *by_name, loaded = run(USED, tmp_path, installed).splitlines()
    assert by_name == ["['exact_match', 'author_keywords'] ['Tax law']"] * 2
    assert loaded == "[('Tax law', 'author_keywords')]"
    manifest = json.loads((tmp_path / "tagger" / "manifest.json").read_text(encoding="utf-8"))
    assert {name: saved["class"] for name, saved in manifest["retrievers"].items()} == {
        "exact_match": "ExactMatch",
        "author_keywords": {"entry_point": "author_keywords", "package": "archive-tags"},
    }
    with pytest.raises(tw.ModelError) as caught:  # here it is not installed
        tw.load(tmp_path / "tagger")
    assert str(caught.value).endswith(
        "needs author_keywords of the package archive-tags, which is not installed; "
        "install it if you trust it: pip install archive-tags"
    )


@needs_pip
def test_the_reader_of_a_package_reads_the_files_of_its_suffix(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "talks").mkdir()
    (tmp_path / "talks" / "first.srt").write_text("1\n00:00:01 --> 00:00:02\nHoney bees.\n", encoding="utf-8")
    (tmp_path / "talks" / "second.srt").write_bytes(b"\xff")
    (tmp_path / "talks" / "third.txt").write_text("Orchards", encoding="utf-8")
    (tmp_path / "notes").write_text("Taxes", encoding="utf-8")
    program = """
import logging, tagwright as tw
logging.basicConfig(format="%(message)s", handlers=[logging.FileHandler("log")])
print([(each.id, each.title, each.abstract) for each in tw.Corpus.read("talks")])
print([(each.id, each.abstract) for each in tw.Corpus.read("notes", input_format="srt")])
"""
    assert run(program, tmp_path, installed).splitlines() == [
        "[('first.srt', 'first', 'Honey bees.'), ('third.txt', 'Orchards', '')]",
        "[('notes', 'Taxes')]",
    ]
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert (
        "second.srt: cannot be read by the package archive-tags (UnicodeDecodeError: 'utf-8' codec can't decode" in log
    )


@needs_pip
def test_the_method_and_the_command_of_a_package_are_used_by_name(installed: Path, tmp_path: Path) -> None:
    papers = [{"id": each, "title": "A duty", "keyword": ["Bees"], "labels": ["Bees"]} for each in "12"]
    (tmp_path / "papers.jsonl").write_text("\n".join(map(json.dumps, papers)))
    program = """
import sys, tagwright as tw
from tagwright.app import cli
tagger = tw.train("authors", tw.Corpus.read("papers.jsonl"), ["Bees", "Tax law"], progress=False)
print(tagger.training["method"], [each.name for each in tagger.suggest(tw.Corpus.read("papers.jsonl")[0])])
for arguments in (["count", "papers.jsonl"], ["--help"]):
    sys.argv = ["tagwright", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        assert not end.code
"""
    trained, counted, *shown = run(program, tmp_path, installed).splitlines()
    assert (trained, counted) == ("authors ['Bees']", "2")
    assert any("Print how many documents there are." in line for line in shown)


def written_package(folder: Path, name: str, group: str, entry: str) -> None:
    """What pip leaves of an installed package with one entry point."""
    (folder / f"{name}-1.dist-info").mkdir(parents=True)
    (folder / f"{name}-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (folder / f"{name}-1.dist-info" / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where packages are found."""
    plugins.find_registered.cache_clear()
    monkeypatch.syspath_prepend(str(tmp_path / "packages"))
    return tmp_path / "packages"


def saved_with(folder: Path, kind: object) -> Path:
    """A saved tagger whose manifest says that its stage is of this kind."""
    tagger = tw.zero_shot(LABELS, stages=["exact_match"], language="en")
    tagger.save(folder)
    rewrite(folder, lambda manifest: manifest["retrievers"]["exact_match"].update({"class": kind}))
    return folder


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "subprocess.Popen",
        {"entry_point": "os:system", "package": "evil"},
        {"entry_point": "stage", "package": "--index-url=http://evil.example x"},
        {"entry_point": "stage", "package": "a\nb"},
        {"entry_point": "stage"},
        {"entry_point": 1, "package": []},
        ["stage"],
    ],
)
def test_a_saved_tagger_names_no_module_and_no_option_of_pip(kind: object, tmp_path: Path) -> None:
    folder = saved_with(tmp_path / "tagger", kind)
    with pytest.raises(tw.ModelError, match=r"one of its stages is of kind .*, expected one of ExactMatch"):
        tw.load(folder)


def test_a_stage_of_another_package_by_the_same_name_is_not_taken(packages: Path, tmp_path: Path) -> None:
    written_package(packages, "theirs", "tagwright.stages", "stage = none_such:Stage")
    folder = saved_with(tmp_path / "tagger", {"entry_point": "stage", "package": "ours"})
    with pytest.raises(tw.ModelError, match="of the package ours, which is not installed"):
        tw.load(folder)


def test_a_package_that_cannot_be_imported_is_named(packages: Path, tmp_path: Path) -> None:
    written_package(packages, "Broken.Tags", "tagwright.stages", "stage = no_such_module:Stage")
    folder = saved_with(tmp_path / "tagger", {"entry_point": "stage", "package": "broken-tags"})
    said = r"the package Broken.Tags registers stage .* cannot be imported \(No module named 'no_such_module'\)"
    with pytest.raises(tw.TagwrightError, match=said):
        tw.load(folder)
    with pytest.raises(tw.TagwrightError, match=said):
        tw.zero_shot(LABELS, stages=["stage"])


def test_what_fails_in_the_code_of_a_package_is_said_with_its_name(packages: Path, tmp_path: Path) -> None:
    written_package(packages, "numbers-stage", "tagwright.stages", "stage = decimal:Decimal")
    folder = saved_with(tmp_path / "tagger", {"entry_point": "stage", "package": "numbers-stage"})
    with pytest.raises(
        tw.ModelError, match=r"Decimal cannot be made of its state \(.*; install the version of numbers-stage"
    ):
        tw.load(folder)


FAULTY = """
import tagwright as tw


def stage(labels):
    raise RuntimeError("no letters")


def read(path):
    kind = path.read_text()
    if kind == "pathless":
        raise tw.InputError("no title")
    yield tw.Document("", kind, metadata={"author": "A. Low"} if kind == "text" else {}[kind])
"""


def test_what_fails_in_a_stage_that_is_made_or_in_a_reader_is_said_with_package_and_file(
    packages: Path, tmp_path: Path
) -> None:
    stage_and_reader = "letters = faulty_of_tests:stage\n[tagwright.readers]\nnote = faulty_of_tests:read"
    written_package(packages, "faulty", "tagwright.stages", stage_and_reader)
    (packages / "faulty_of_tests.py").write_text(FAULTY)
    with pytest.raises(
        tw.ConfigError,
        match=r"stage letters of the package faulty cannot be made of labels alone \(RuntimeError: no letters\)",
    ):
        tw.zero_shot(LABELS, stages=["letters"], language="en")
    for kind, problem in (
        ("pathless", "no title"),
        ("text", "the package faulty gives author as a text, expected a tuple of texts"),
        ("key", "cannot be read by the package faulty (KeyError: 'key')"),
    ):
        (tmp_path / "a.note").write_text(kind)
        with pytest.raises(tw.InputError) as caught:
            tw.Corpus.read(tmp_path / "a.note")
        assert str(caught.value) == f"{tmp_path / 'a.note'}: {problem}"


def test_the_help_lists_the_commands_beside_one_that_cannot_be_imported(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tagwright.app import cli

    written_package(packages, "broken", "tagwright.commands", "gone = no_such_module:run")
    monkeypatch.setattr(sys, "argv", ["tagwright", "--help"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capsys.readouterr()
    assert not end.value.code
    assert "suggest" in out
    assert "the package broken registers gone in tagwright.commands" in err


def test_a_stage_that_finds_no_candidates_is_no_retriever(packages: Path, tmp_path: Path) -> None:
    folder = saved_with(tmp_path / "tagger", "TitleMatch")
    with pytest.raises(tw.ModelError, match="TitleMatch finds no candidates, expected a retriever"):
        tw.load(folder)


def test_packages_are_not_searched_for_what_is_ours(packages: Path, tmp_path: Path) -> None:
    tagger = tw.zero_shot(LABELS, stages=["exact_match", "tfidf"], language="en")
    tagger.save(tmp_path / "tagger")
    (tmp_path / "a.jsonl").write_text('{"title": "Bees"}')
    assert tw.load(tmp_path / "tagger").suggest(tmp_path / "a.jsonl")[0][0].name == "Bees"
    assert plugins.find_registered.cache_info().misses == 0


def test_a_stage_that_no_package_registers_is_not_saved(tmp_path: Path) -> None:
    from tests.fixed import Fixed

    tagger = tw.Tagger(tw.Vocabulary(LABELS), {"fixed": Fixed({0: 1.0})})
    with pytest.raises(
        tw.ConfigError, match=r"fixed\.Fixed cannot be saved, because no installed package registers it"
    ):
        tagger.save(tmp_path / "tagger")
    assert not (tmp_path / "tagger").exists()


def test_a_format_that_no_package_registers_is_refused(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "a.srt").write_text("Bees")
    with pytest.raises(tw.ConfigError, match="unknown format 'srt' of documents; the formats are jsonl, annif"):
        tw.Corpus.read(tmp_path / "a.srt", input_format="srt")
    written_package(packages, "numbers", "tagwright.readers", "srt = decimal:Decimal")
    plugins.find_registered.cache_clear()
    with pytest.raises(tw.InputError, match=r"a\.srt: cannot be read by the package numbers"):
        tw.Corpus.read(tmp_path / "a.srt")
