"""Describe the operations of an interface (OpenAPI 3.1), make their routes, and check what is sent to them."""

import re
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tagwright.core.checked import find_nearest, show
from tagwright.server.languages import Text
from tagwright.server.problems import bad_request
from tagwright.version import __version__

Schema: TypeAlias = Mapping[str, Any]
"A JSON schema."


@dataclass(frozen=True)
class Operation:
    """One method of one address.

    answer: the route's function; the first line of its docstring is the summary. returns: schema of the answer; None
    for an empty one (204). parameters: see `query`. body: schema of the body, if there is one.
    """

    method: str
    path: str
    answer: Callable[[Request], Awaitable[Response]]
    returns: Schema | None
    parameters: Sequence[Schema] = ()
    body: Schema | None = None
    body_type: str = "application/json"
    answer_type: str = "application/json"


def schema(kind: str, description: str = "", **more: Any) -> dict[str, Any]:
    """Return a schema. kind: a type of JSON Schema. more: constraints, such as minimum=1."""
    return {"type": kind, **({"description": description} if description else {}), **more}


def array(items: Schema, description: str = "", **more: Any) -> dict[str, Any]:
    """Return the schema of a list. more: constraints, such as maxItems=10."""
    return {**schema("array", description, **more), "items": items}


def make_nullable(value: Schema) -> dict[str, Any]:
    """Return the schema of a value that may be null.

    >>> make_nullable(schema("number"))
    {'type': ['number', 'null']}
    """
    return {**value, "type": [value["type"], "null"]}


LABEL_RULES: Mapping[str, Schema] = {
    "only": array(schema("string"), "Conditions, such as notation:33*: one of each kind must fit.", maxItems=10_000),
    "without": array(schema("string"), "Conditions, none of which may fit.", maxItems=10_000),
    "hierarchy": schema(
        "string",
        "ranked; narrowest: no label beside one below it; all: each with those above it.",
    ),
    "per_branch": schema("integer", "The most labels below the same label at the top.", minimum=1),
}
"Options of every request for suggestions, as in `SuggestOptions`: which labels are suggested, how narrow or broad."


def object_(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> dict[str, Any]:
    """Return the schema of an object. required: properties that it must have; None: all."""
    return {**schema("object"), "properties": properties, "required": [*(properties if required is None else required)]}


def query(name: str, value: Schema, *, required: bool = False) -> dict[str, Any]:
    """Return the description of a parameter in the address."""
    return {"name": name, "in": "query", "required": required, "schema": value}


def check(value: Any, wanted: Schema, place: str = "") -> None:
    """Raise Problem (400) for a value that does not follow its schema. place: where it is, for the message.

    >>> check({"limit": 3}, object_({"limit": schema("integer", minimum=1)}))
    >>> check([-1], array(schema("integer", minimum=0, maximum=9)), "limits")
    Traceback (most recent call last):
    tagwright.server.problems.Problem: -1 is not between 0 and 9 - 'limits.0'
    """
    at, inside = (f" - '{place}'", f"{place}.") if place else ("", "")
    kinds: dict[str, Any] = {
        "string": str, "integer": int, "number": int | float, "boolean": bool, "array": list, "object": dict,
    }  # fmt: skip
    if not isinstance(value, kinds[wanted["type"]]) or (isinstance(value, bool) and wanted["type"] != "boolean"):
        raise bad_request(
            Text("%(value)s is not of type '%(type)s'%(place)s", value=show(value), type=wanted["type"], place=at)
        )
    if isinstance(value, int | float):
        least, most = wanted.get("minimum", -sys.float_info.max), wanted.get("maximum", sys.float_info.max)
        if not least <= value <= most:
            form = "%(value)s is not between %(least)s and %(most)s%(place)s"
            raise bad_request(Text(form, value=show(value), least=least, most=most, place=at))
    elif isinstance(value, list):
        least, most = wanted.get("minItems", 0), wanted.get("maxItems", len(value))
        if not least <= len(value) <= most:
            raise bad_request(f"{len(value):,} items, expected {least} to {most:,}{at}")
        for number, item in enumerate(value if "items" in wanted else ()):
            check(item, wanted["items"], f"{inside}{number}")
    elif isinstance(value, dict):
        for key in wanted["required"]:
            if key not in value:
                raise bad_request(f"'{key}' is a required property{at}")
        others = wanted.get("additionalProperties")
        for key, held in value.items():
            if known := wanted["properties"].get(key, others):
                check(held, known, f"{inside}{key[:100]}")


def close_schema(wanted: Schema) -> dict[str, Any]:
    """Return a schema whose objects, at all levels, have no other properties; `check_names` looks at that."""
    result = dict(wanted)
    if "properties" in wanted:
        result["properties"] = {name: close_schema(value) for name, value in wanted["properties"].items()}
        result["additionalProperties"] = False
    return {**result, "items": close_schema(wanted["items"])} if "items" in wanted else result


def check_names(value: Any, wanted: Schema, place: str = "") -> None:
    """Raise Problem (400) for a field that a closed schema does not have; the message names the nearest one."""
    inside = f"{place}." if place else ""
    if isinstance(value, list):
        for number, item in enumerate(value):
            check_names(item, wanted.get("items", {}), f"{inside}{number}")
    elif isinstance(value, dict):
        known = wanted.get("properties", {})
        for name, held in value.items():
            if name not in known and wanted.get("additionalProperties") is False:
                near = find_nearest(name[:100], known)
                hint = f"did you mean '{near}'?" if near else f"known are {', '.join(known)}"
                raise bad_request(f"unknown field '{name[:100]}'{f' in {place}' if place else ''}; {hint}")
            check_names(held, known.get(name, {}), f"{inside}{name[:100]}")


def describe_operations(operations: Sequence[Operation]) -> dict[str, Any]:
    """Return the OpenAPI description of operations."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tagwright", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def routes(operations: Sequence[Operation]) -> list[Route]:
    """Return a route for each operation, and the route of the OpenAPI description."""

    async def description(_: Request) -> Response:
        return JSONResponse(describe_operations(operations))

    listed = [Route(operation.path, operation.answer, methods=[operation.method]) for operation in operations]
    return [*listed, Route("/api/openapi.json", description, methods=["GET"])]


def _operation(operation: Operation) -> dict[str, Any]:
    text = schema("string")
    fields = object_({"type": text, "title": text, "detail": text, "status": schema("integer")})
    problem = {"description": "A problem", "content": {"application/problem+json": {"schema": fields}}}
    success = {"description": "Success", "content": {operation.answer_type: {"schema": operation.returns}}}
    nothing = {"description": "Success; the answer is empty"}
    in_path = [{"name": name, "in": "path", "required": True, "schema": schema("string")}
               for name in re.findall(r"{(\w+)}", operation.path)]  # fmt: skip
    content: dict[str, Any] = {
        "operationId": getattr(operation.answer, "__name__", ""),
        "summary": (operation.answer.__doc__ or "").strip().partition("\n")[0],
        "parameters": [*in_path, *operation.parameters],
        "responses": {**({"204": nothing} if operation.returns is None else {"200": success}), "default": problem},
    }
    if operation.body is not None:
        content["requestBody"] = {"required": True, "content": {operation.body_type: {"schema": operation.body}}}
    return content
