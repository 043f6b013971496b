"""Examples of the operations of an interface, as people may paste them: for curl, and for Python's requests."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from tagwright.server.openapi import Operation, Schema
from tagwright.server.request_bodies import FORM, MULTIPART
from tagwright.server.served_model import ServedModel

_OPTIONAL = ("text", "subjects")
"Fields that examples fill in even where they may be missing."


class Example(NamedTuple):
    """A call of an operation. body: what is sent, as in its schema; None for nothing. token: whether one is needed."""

    method: str
    address: str
    parameters: Mapping[str, str]
    body: Any
    body_type: str
    token: bool

    @property
    def curl(self) -> str:
        """The call on a command line."""
        query = f"?{urlencode(self.parameters)}" if self.parameters else ""
        words = ["curl", self.address + query, *(["-H", "Authorization: Bearer TOKEN"] if self.token else [])]
        if self.body_type == MULTIPART:
            words += [word for name, value in self.body.items() for word in ("-F", f"{name}=@{value}")]
        elif self.body_type == FORM:
            words += [word for name, value in self.body.items() for word in ("--data-urlencode", f"{name}={value}")]
        elif self.body is not None:
            words += ["--json", json.dumps(self.body, ensure_ascii=False)]
        return shlex.join(words)

    @property
    def python(self) -> str:
        """The call in Python."""
        arguments = [f"params={dict(self.parameters)!r}"] if self.parameters else []
        if self.body_type == MULTIPART:
            files = (f'"{name}": open("{value}", "rb")' for name, value in self.body.items())
            arguments.append(f"files={{{', '.join(files)}}}")
        elif self.body is not None:
            arguments.append(f"{'data' if self.body_type == FORM else 'json'}={self.body!r}")
        if self.token:
            arguments.append('headers={"Authorization": "Bearer TOKEN"}')
        call = f"requests.{self.method.lower()}({', '.join([repr(self.address), *arguments])})"
        return f"import requests\n\nprint({call}.text)"


def example(operation: Operation, model: ServedModel, base: str, *, token: bool = False) -> Example:
    """Return a call of an operation with a served model. base: the address of the server, with a slash at the end."""
    known = _known_values(model)
    path = re.sub(r"{(\w+)}", lambda found: quote(known[found[1]]), operation.path)
    needed = {each["name"]: known[each["name"]] for each in operation.parameters if each["required"]}
    body = None if operation.body is None else _sample(operation.body, "", known)
    body_type = operation.body_type if body is not None else ""
    return Example(operation.method, base + path.removeprefix("/"), needed, body, body_type, token)


def _known_values(model: ServedModel) -> dict[str, Any]:
    """Values of fields and parameters by their names."""
    label = model.tagger.vocabulary[0]
    return {
        "text": f"A text about {label.name}.", "model": model.id, "project_id": model.id, "languages": ["en", "de"],
        "q": label.name, "prefix": label.name, "id": label.id, "uri": label.id, "file": "notes.txt",
        "queries": json.dumps({"q0": {"query": label.name}}, ensure_ascii=False),
    }  # fmt: skip


def _sample(wanted: Schema, name: str, known: Mapping[str, Any]) -> Any:
    """A value that follows a schema: of an object, the needed fields and those in `_OPTIONAL`."""
    if name in known:
        return known[name]
    if "items" in wanted:
        return [_sample(wanted["items"], name, known)]
    fields: Mapping[str, Schema] = wanted["properties"]
    return {
        key: _sample(value, key, known)
        for key, value in fields.items()
        if key in wanted["required"] or key in _OPTIONAL
    }


def by_interface(operations: Iterable[Operation]) -> Iterator[tuple[str, list[Operation]]]:
    """Group operations by the first part of their paths: "api", "v1", "reconcile", and "" for all others."""
    groups: dict[str, list[Operation]] = {"api": [], "v1": [], "reconcile": [], "": []}
    for operation in operations:
        first = operation.path.split("/")[1]
        groups[first if first in groups else ""].append(operation)
    return ((name, group) for name, group in groups.items() if group)
