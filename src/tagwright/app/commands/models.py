"""The command `models`: the versions of a model, which of them is in use, and why."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tagwright.app.arguments import Chosen, Json, Quiet, Reading, SkipUnlabelled, Unknown
from tagwright.core.display import print_json
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from tagwright.models import Models, Version

Action = Literal["list", "add", "compare", "promote", "rollback", "prune"]


def models(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the versions.")],
    reading: Reading,
    action: Annotated[Action, typer.Argument(help="What to do.")] = "list",
    first: Annotated[
        str, typer.Argument(metavar="[MODEL|VERSION]", help="add: a saved tagger; compare, promote: a number.")
    ] = "",
    second: Annotated[str, typer.Argument(metavar="[VERSION]", help="compare: instead of the one in use.")] = "",
    test: Annotated[list[str], typer.Option(metavar="DOCS", help="compare: labelled documents; may be repeated.")] = [],  # noqa: B006
    skip_unlabelled: SkipUnlabelled = False,
    unknown: Unknown = "warn",
    keep: Annotated[int | None, typer.Option(min=1, help="prune: number of newest versions to keep.")] = None,
    as_json: Json = False,
    _quiet: Quiet = False,
) -> None:
    """Manage the versions of a model, each with its record and model card, one of them in use.

    Actions: list the versions; add MODEL, as a copy of a saved tagger; compare VERSION with the one in use, or with
    another, by paired tests on the documents of --test; promote VERSION to use; rollback to the version before; prune
    old versions, but not the one in use or the one before it. Other commands accept FOLDER as --model and take the
    version in use.
    """
    from tagwright.models import Models

    _check(action, first, second, {"--test": bool(test), "--keep": keep is not None})
    versions = Models(folder)
    if action == "list":
        _list(versions, as_json=as_json)
    elif action == "compare":
        from tagwright.app import inputs, render

        pair = (first, second or versions.current.name)
        documents = inputs.read(test, reading, Chosen(model=versions.current.folder))
        compared = versions.compare(first, documents, other=pair[1], skip_unlabelled=skip_unlabelled, unknown=unknown)
        folders = {version.name: version.folder for version in map(versions.__getitem__, pair)}
        render.print_comparison(compared, folders, {}, as_json=as_json)
    else:
        changed: dict[str, Any] = {}
        if action == "add":
            known, added = {version.name for version in versions}, versions.add(Path(first)).name
            changed["nothing new" if added in known else "added"] = added
        elif action == "promote":
            versions.promote(first)
        elif action == "rollback":
            versions.rollback()
        else:
            assert keep is not None  # checked
            changed["removed"] = versions.prune(keep)
        _say({**changed, "current": versions.current.name}, as_json=as_json)


def _check(action: Action, first: str, second: str, options: dict[str, bool]) -> None:
    """Raise ConfigError unless the action has what it needs, and nothing else."""
    needed = {"add": "MODEL", "compare": "VERSION", "promote": "VERSION"}.get(action)
    if second and action != "compare":
        raise ConfigError(f"models FOLDER {action} takes no second VERSION, got {second!r}")
    if bool(needed) != bool(first):
        problem = f"needs {needed}" if needed else f"takes nothing more, got {first!r}"
        raise ConfigError(f"models FOLDER {action} {problem}")
    for option, action_with in (("--test", "compare"), ("--keep", "prune")):
        if options[option] != (action == action_with):
            problem = f"needs {option}" if action == action_with else f"takes no {option}"
            raise ConfigError(f"models FOLDER {action} {problem}")


def _list(models: "Models", *, as_json: bool) -> None:
    from tagwright.app.render import show_table

    current = models.current.name
    if as_json:
        versions = [{"version": version.name, **version.record} for version in models]
        print_json({"current": current, "versions": versions})
        return
    rows = [_row(version, "in use" if version.name == current else "") for version in models]
    header = ["version", "", "added", "method", "labels", "nDCG@5 (95% interval)", "documents"]
    show_table([header, *rows], f"versions of {models.folder}")


def _row(version: "Version", state: str) -> list[str]:
    from tagwright.models.record import measured_blind

    record = version.record
    method = next((training.get("method", "") for training in record["trainings"]), "")
    row = [version.name, state, record["added"][:10], method, f"{record['labels']:,}"]
    if not record["scores"]:
        if "difference" not in (blind := measured_blind(record)):
            return [*row, "not measured", ""]
        return [*row, f"{100 * blind['after']:.1f}", f"{blind['documents']:,} blind"]
    scored = max(reversed(record["scores"]), key=lambda each: each["documents"])
    value, low, high = (100 * scored["measures"]["nDCG@5"][part] for part in ("value", "low", "high"))
    return [*row, f"{value:.1f} ({low:.1f} to {high:.1f})", f"{scored['documents']:,}"]


def _say(changed: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(changed))
        return
    if "removed" in changed:
        print(f"removed: {', '.join(changed['removed']) or 'none'}")
    if "nothing new" in changed:
        print(f"nothing is new: version {changed['nothing new']} is the same tagger")
    if "added" in changed:
        print(f"added: {changed['added']}")
    print(f"in use: {changed['current']}")
