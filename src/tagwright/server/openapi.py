"""Describe the operations of an interface (OpenAPI 3.1), and make their routes."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tagwright import __version__

Schema: TypeAlias = Mapping[str, Any]
"A JSON schema."


@dataclass(frozen=True)
class Operation:
    """One method of one address. answer: its docstring is the description.

    returns: the schema of what it answers; None where it answers nothing (204).
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
    """A plain type. more: further constraints of JSON Schema, such as a minimum."""
    return {"type": kind, **({"description": description} if description else {}), **more}


def array(items: Schema, description: str = "") -> dict[str, Any]:
    """A list."""
    return {**schema("array", description), "items": items}


def nullable(value: Schema) -> dict[str, Any]:
    """A type or null.

    >>> nullable(schema("number"))
    {'type': ['number', 'null']}
    """
    return {**value, "type": [value["type"], "null"]}


def object_(properties: Mapping[str, Schema], required: Sequence[str] | None = None) -> dict[str, Any]:
    """An object; without `required`, all of its properties are there."""
    return {
        **schema("object"),
        "properties": properties,
        "required": list(properties if required is None else required),
    }


def query(name: str, value: Schema, *, required: bool = False) -> dict[str, Any]:
    """A parameter in the address."""
    return {"name": name, "in": "query", "required": required, "schema": value}


_PROBLEM = object_({"type": schema("string"), "title": schema("string"), "detail": schema("string"),
                    "status": schema("integer")})  # fmt: skip


def described(operations: Sequence[Operation]) -> dict[str, Any]:
    """The whole description."""
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = _operation(each)
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
        return JSONResponse(described(operations))

    listed = [Route(each.path, each.answer, methods=[each.method]) for each in operations]
    return [*listed, Route("/api/openapi.json", description, methods=["GET"])]


def _operation(operation: Operation) -> dict[str, Any]:
    problem = {"description": "A problem", "content": {"application/problem+json": {"schema": _PROBLEM}}}
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
