"""The examples of the pages are tests: Python, commands, and the files they read. Each page has a folder of its own.

A block below "`name`:" is the file of that name. In a console block, lines after "$ " are run; where output is shown,
it must be the output; "..." matches anything, and numbers with a decimal point match approximately: processors round
differently. Errors (exit code 2, or 3 where some documents failed) are shown as they stand on standard error. A server
answers until the page ends. A comment names what a page presupposes: docs/prepared.py. Blocks of other languages are
checked only, and a comment says why they are not run: tests/test_blocks.py.
"""

from __future__ import annotations

import atexit
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from docs import checks, prepared
from docs.local_server import LocalServer, request
from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer
from sybil.parsers.myst import CodeBlockParser, PythonCodeBlockParser
from tokenizers import Tokenizer

from tagwright.encoders import static

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

NUMBER = re.compile(r"\d+\.\d+")

FILE = re.compile(r"^`([^`\n]+)`:\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def files(document: Document) -> Iterable[Region]:
    """The blocks below the name of a file."""
    for found in FILE.finditer(document.text):
        yield Region(found.start(), found.end(), (found[1], found[2]), _write)


def _write(example: Example) -> None:
    name, content = example.parsed
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(content, encoding="utf-8")


def preparations(document: Document) -> Iterable[Region]:
    """The comments that name what a page presupposes: docs/prepared.py."""
    for found in re.finditer(r"<!-- prepare: (\w+) -->", document.text):
        yield Region(found.start(), found.end(), found[1], _prepare)


def _prepare(example: Example) -> None:
    getattr(prepared, example.parsed)()


def checked(document: Document) -> Iterable[Region]:
    """The blocks that are checked and not run."""
    parts = {"language": "language", "source": "source"}
    for lexed in FencedCodeBlockLexer("|".join(checks.CHECKS), mapping=parts)(document):
        if document.text[: lexed.start].endswith("`:\n"):  # a file
            continue
        yield Region(lexed.start, lexed.end, (lexed.lexemes["language"], str(lexed.lexemes["source"])), _check)


def _check(example: Example) -> None:
    language, source = example.parsed
    checks.CHECKS[language](source)


def run_commands(example: Example) -> str | None:
    """Run the lines of a console block; what is wrong with them, or None."""
    for command, expected in _commands(str(example.parsed)):
        code, printed = _run(command, example.namespace["_server"])
        if code not in (0, 1, 2, 3) or (code and not expected):
            return f"$ {command}\nended with exit code {code}:\n{printed}"
        if expected and not _same(expected, printed):
            return f"$ {command}\nExpected:\n{expected}\nGot:\n{printed}"
    return None


def _same(expected: str, printed: str) -> bool:
    if not doctest.OutputChecker().check_output(NUMBER.sub("#", expected), NUMBER.sub("#", printed), FLAGS):
        return False
    if len(NUMBER.findall(expected)) == len(NUMBER.findall(printed)):
        return _near(expected, printed)
    lines = [line for line in expected.splitlines() if "..." not in line]  # which stands for numbers that are not shown
    return all(any(_is_line(line, other) and _near(line, other) for other in printed.splitlines()) for line in lines)


def _is_line(line: str, other: str) -> bool:
    return NUMBER.sub("#", line).split() == NUMBER.sub("#", other).split()


def _near(text: str, other: str) -> bool:
    """Whether as many numbers are in both texts, and each is about the same."""
    numbers = zip(NUMBER.findall(text), NUMBER.findall(other), strict=True)
    return all(abs(float(one) - float(two)) <= 0.2 for one, two in numbers)


def _commands(block: str) -> Iterable[tuple[str, str]]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        length = next(number for number, line in enumerate(lines) if not line.rstrip("\n").endswith("\\")) + 1
        yield "".join(lines[:length]).replace("\\\n", "").strip(), "".join(lines[length:])


def _run(command: str, server: LocalServer) -> tuple[int, str]:
    """The exit code of a command and what it printed; tagwright itself runs in this process, which saves its start."""
    words = shlex.split(command)
    if words[:2] == ["tagwright", "serve"]:
        return 0, server.start(lambda: _printed(words))
    if words[0] == "curl":
        return 0, request(words[1:])
    if words[0] == "export":
        name, _, value = command.removeprefix("export ").partition("=")
        os.environ[name] = subprocess.check_output(["bash", "-c", f"echo {value}"], text=True).strip()
        return 0, ""
    if words[0] != "tagwright" or "|" in words or "<" in words:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env={**os.environ, "PATH": path})
        return done.returncode, done.stdout if not done.returncode else done.stdout + done.stderr
    target = words.index(">") if ">" in words else len(words)
    code, out, err = _tagwright(words[:target])
    if target < len(words):
        Path(words[target + 1]).write_text(out, encoding="utf-8")
        out = ""
    return code, out + err if code else out


def _printed(words: list[str]) -> str:
    code, out, err = _tagwright(words)
    assert not code, err
    return out


def _tagwright(words: list[str]) -> tuple[int, str, str]:
    from tagwright.app import cli

    out, err, code = StringIO(), StringIO(), 0
    with mock.patch.object(sys, "argv", words), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as end:
            code = int(end.code or 0)
    return code, out.getvalue(), err.getvalue()


_distil, _ordinary_tokens = static.distil, static.ordinary_tokens


@cache
def _distilled() -> Path:
    """The static encoder, distilled once for all pages, of the tokens that they have: of all it takes half a minute."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    text = " ".join(page.read_text(encoding="utf-8") for page in Path(__file__).parent.rglob("*.md"))

    def of_the_pages(tokenizer: Tokenizer) -> list[int]:
        return sorted({*tokenizer.encode(text, add_special_tokens=False).ids} & {*_ordinary_tokens(tokenizer)})

    with mock.patch.object(static, "ordinary_tokens", of_the_pages):
        return _distil(Path(folder))


def _copied(folder: Path) -> Path:
    return Path(shutil.copytree(_distilled(), folder, dirs_exist_ok=True))


def enter(names: dict[str, Any]) -> None:
    """A page begins in a folder that holds the samples, with a cache of its own."""
    names["_home"], names["_folder"] = Path.cwd(), tempfile.TemporaryDirectory()
    settings = {"TAGWRIGHT_CACHE": f"{names['_folder'].name}/.cache", "COLUMNS": "100", "HF_HUB_OFFLINE": "1"}
    names["_changes"] = changes = ExitStack()
    names["_server"] = LocalServer()
    changes.enter_context(mock.patch.dict(os.environ, settings))
    changes.enter_context(mock.patch.object(static, "distil", _copied))
    (folder := Path(names["_folder"].name) / "page").mkdir()
    shutil.copytree(Path(__file__).parent / "samples", folder, dirs_exist_ok=True)
    os.chdir(folder)


def leave(names: dict[str, Any]) -> None:
    """And leaves nothing behind."""
    names["_server"].stop()
    os.chdir(names["_home"])
    names["_changes"].close()
    names["_folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[
        files,
        preparations,
        checked,
        CodeBlockParser("console", run_commands),
        PythonCodeBlockParser(doctest_optionflags=FLAGS),
    ],
    pattern="*.md",
    excludes=["results/*", "reference/*"],
    setup=enter,
    teardown=leave,
).pytest()
