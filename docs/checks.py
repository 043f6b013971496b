"""What is checked of blocks that are not run: the commands in them, and their form."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Sequence
from configparser import ConfigParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tagwright.readers.documents.annotation_tools import tool_lines
from tagwright.types import Document

ROOT = Path(__file__).resolve().parents[1]

UNCHECKED = {".", "[", "ar", "curl", "pipx", "python3", "ray", "tar", "uv", "uvx"}
"Programs of others whose arguments are not checked."


def check_shell(source: str) -> None:
    """Check every command of a script. Raises AssertionError for one that is wrong, and for an unknown program."""
    for words in commands(source):
        check_command(words)


def commands(source: str) -> Iterable[list[str]]:
    """The words of each command: without comments, variables that are set for it, and files that it is led to.

    >>> list(commands("A=1 ray start && tagwright read a.txt > b.txt  # read"))
    [['ray', 'start'], ['tagwright', 'read', 'a.txt']]
    """
    for line in source.replace("\\\n", " ").splitlines():
        tokens = shlex.shlex(re.sub(r"\$\w+|\$\?", "0", line), posix=True, punctuation_chars=True)
        tokens.whitespace_split = True
        words = list[str]()
        for token in [*tokens, ";"]:
            if token not in ("&&", "||", "|", ";"):
                words.append(token)
                continue
            words = words[: words.index(">")] if ">" in words else words
            if words := words[next((at for at, word in enumerate(words) if not re.match(r"\w+=", word)), len(words)) :]:
                yield words
            words = []


def check_command(words: Sequence[str]) -> None:
    """Check one command; what can be wrong with it depends on its program."""
    program = words[0]
    if program == "tagwright":
        parse(words[1:])
    elif program == "pip":
        _check_install(words)
    elif program == "make":
        rules = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(words[1:]) <= set(rules), words
    elif program == "docker":
        assert words[1] in ("build", "run") or (words[1:] == ["compose", "up"] and compose()), words
    elif program == "python":
        assert words[1:3] == ["-m", "benchmarks"], words
        assert any((ROOT / "benchmarks" / f"{word}.py").is_file() for word in words[3:]), words
    else:
        assert program in UNCHECKED, f"nothing checks {program!r}: add it to docs/checks.py, or run it"


def parse(words: Sequence[str]) -> dict[str, Any]:
    """Parse the words behind `tagwright` as the command line does; return the values of the options by name."""
    import typer
    from typer.core import TyperGroup
    from typer.main import get_command

    from tagwright.app.cli import app

    group = get_command(app)
    assert isinstance(group, TyperGroup)
    context = typer.Context(group, info_name="tagwright", **group.context_settings)
    name, command, rest = group.resolve_command(context, list(words))
    assert command, words
    return dict(command.make_context(name, list(rest), parent=context).params)


def _check_install(words: Sequence[str]) -> None:
    """What is installed is Tagwright, with extras that it has, or a package that requirements.lock pins."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    pinned = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert words[1] == "install", words
    for wanted in (word for word in words[2:] if not word.startswith("-")):
        name, _, chosen = wanted.rstrip("]").partition("[")
        assert name in ("tagwright", ".") or f"\n{name}==" in pinned, wanted
        assert set(filter(None, chosen.split(","))) <= set(extras), wanted


def check_transcript(source: str) -> None:
    """Check the commands of what a terminal shows."""
    check_shell("\n".join(line[2:] for line in source.splitlines() if line.startswith("$ ")))


def check_ini(source: str) -> None:
    """Check the form and, of a unit of systemd, the command that it starts and the variable that it sets for it."""
    found = ConfigParser(interpolation=None)
    found.read_string(source)
    if "Service" in found:
        service = found["Service"]
        assert service["ExecStart"].split()[0].endswith("/tagwright")
        parse(shlex.split(service["ExecStart"])[1:])
        assert service["Environment"].partition("=")[0] in (ROOT / "docs/running.md").read_text(encoding="utf-8")


def compose() -> dict[str, Any]:
    """Check that compose.yaml and the Dockerfile agree with each other and with `tagwright serve`; return its options.

    The image starts the server with the arguments of CMD; another machine reaches it at the port that is exposed.
    """
    import yaml

    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    words = [yaml.safe_load(re.findall(rf"^{name} (\[.*)$", image, re.MULTILINE)[-1]) for name in ("ENTRYPOINT", "CMD")]
    assert words[0][0] == "tagwright"
    options = parse([*words[0][1:], *service.get("command", words[1])])
    (exposed,) = re.findall(r"^EXPOSE (\d+)$", image, re.MULTILINE)
    (volume,) = re.findall(r"^VOLUME (\S+)$", image, re.MULTILINE)
    assert {port.rpartition(":")[2] for port in service["ports"]} == {exposed} == {str(options["port"])}
    assert {place.partition(":")[2] for place in service["volumes"]} == {volume}
    assert all(path.startswith(f"{volume}/") for path in (*options["model"], str(options["reviews"])))
    assert set(service["environment"]) == {"TAGWRIGHT_TOKEN"}
    return options


def check_nginx(source: str) -> None:
    """Check that each line ends as a directive or a block of nginx does. Raises AssertionError for another."""
    assert source.count("{") == source.count("}"), source
    for line in filter(None, map(str.strip, source.splitlines())):
        assert line.endswith((";", "{", "}")), line


def check_servers(source: str) -> None:
    """Check the commands that an assistant starts, if these are its settings."""
    for server in json.loads(source).get("mcpServers", {}).values():
        check_command([server["command"], *server["args"]])


def check_interface(source: str) -> None:
    """Check an interface of Label Studio against the tasks that are made for it."""
    pairs = [(Document("d", "Bees", "They fly."), [("bees", "Bees", 0.5)])]
    (task,) = json.loads("".join(tool_lines("label_studio", pairs)))
    tags = ElementTree.fromstring(source)
    (choices,), result = tags.iter("Choices"), task["predictions"][0]["result"][0]
    assert (choices.get("name"), choices.get("toName")) == (result["from_name"], result["to_name"])
    assert (
        {tag.get("value", "").removeprefix("$") for tag in tags} == {"title", "text", "suggestions"} < set(task["data"])
    )


CHECKS = {
    "sh": check_shell,
    "bash": check_shell,
    "text": check_transcript,
    "ini": check_ini,
    "json": check_servers,
    "xml": check_interface,
    "nginx": check_nginx,
}
"Language of a block that is not run -> how it is checked."
