"""Tools for assistants (Model Context Protocol): suggest labels, explain them, search labels.

They answer as the server's own interface does: by its functions, with its checks and limits.
"""

import json
import logging
import sys
from collections.abc import Mapping
from contextvars import ContextVar
from io import TextIOWrapper
from typing import Any

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagwright.defaults import MAX_LABELS
from tagwright.server.access import check_origin
from tagwright.server.counters import Counters
from tagwright.server.json_api import OPTIONS, JsonApi, document_and_options
from tagwright.server.openapi import Schema, check, check_names, close_schema, object_, schema
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import read_json, whole_json
from tagwright.server.served_model import ServedModel, model_named
from tagwright.server.turns import in_thread
from tagwright.version import __version__

_log = logging.getLogger(__name__)

_TEXT = close_schema(
    object_(
        {
            "text": schema("string", "The text of the document."),
            "title": schema("string", "Its title, if that is not in the text."),
            **{name: OPTIONS[name] for name in ("limit", "threshold", "only", "without", "names_in")},
        },
        required=("text",),
    )
)
_QUERY = close_schema(
    object_(
        {"query": schema("string", "A name, a part of one, a notation or an id."), "limit": OPTIONS["limit"]},
        required=("query",),
    )
)

_TOOLS: dict[str, tuple[str, Schema]] = {
    "suggest": (
        "Suggest labels of the vocabulary for a text, best first. confidence is the estimated probability that a label "
        "is right; null where it is not estimated.",
        _TEXT,
    ),
    "explain": (
        "Suggest labels as suggest does, and say why: reasons by what they add to the score, and the pieces of the "
        "text that are evidence for each label.",
        _TEXT,
    ),
    "search_labels": ("Find labels of the vocabulary by a name, a part of one, a notation or an id.", _QUERY),
}
"Tool -> what it does, and the schema of its arguments."


def tool_server(api: JsonApi) -> Server[Any]:
    """Return the protocol server whose tools ask the first model of this interface."""

    async def list_tools(*_: Any) -> ListToolsResult:
        reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        tools = [
            Tool(name=name, description=description, input_schema=dict(wanted), annotations=reads)
            for name, (description, wanted) in _TOOLS.items()
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await _answer(api, params.name, {**(params.arguments or {}), **_long.get()})
        except Problem as problem:
            return CallToolResult(content=[TextContent(text=str(problem))], is_error=True)
        except Exception:  # its message may quote the text
            _log.exception("the tool %s failed", params.name[:100])
            return CallToolResult(
                content=[TextContent(text="Internal error; see the log of the server")], is_error=True
            )
        text = await in_thread(json.dumps, answer, ensure_ascii=False)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer)

    return Server("tagwright", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


async def _answer(api: JsonApi, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool. Raises Problem."""
    if name not in _TOOLS:
        raise bad_request(f"no tool '{name[:100]}'; known are {', '.join(_TOOLS)}")
    wanted = _TOOLS[name][1]
    check_names(arguments, wanted)
    check(arguments, wanted)
    model = model_named(None, api.models)
    if name == "search_labels":
        return await api.found(model, arguments["query"], arguments.get("limit", MAX_LABELS))
    sent = {**arguments, "evidence": name == "explain"}
    document, options = await in_thread(document_and_options, sent)
    (answer,) = await api.answers(model, [document], options)
    answer.pop("text", None)  # the assistant has it
    return answer


def tool_route(api: JsonApi) -> Route:
    """Return the route of the tools on HTTP, without sessions. Pages of other sites are refused, see `check_origin`."""
    server = tool_server(api)

    async def answer(request: Request) -> ASGIApp:
        check_origin(request)
        body, long = await read_json(request, _without_long_texts)
        _long.set(long)
        sent = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def answered(scope: Scope, receive: Receive, send: Send) -> None:
            async def again() -> Message:
                return next(sent, None) or await receive()

            head = [header for header in scope["headers"] if header[0] not in (b"content-length", b"transfer-encoding")]
            manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
            async with manager.run():
                await manager.handle_request({**scope, "headers": head}, again, send)

        return answered

    return Route("/mcp", answer, methods=["POST"])


_long: ContextVar[Mapping[str, str]] = ContextVar("_long", default={})  # noqa: B039 - nobody changes it
"Long arguments of the call in the current request: the library parses what it reads in the event loop."


def _without_long_texts(content: Any) -> tuple[bytes, dict[str, str]]:
    """A message without the long texts among its arguments, and these."""
    long = dict[str, str]()
    params = content.get("params") if isinstance(content, dict) else None
    arguments = params.get("arguments") if isinstance(params, dict) else None
    if isinstance(arguments, dict):
        long = {name: text for name, text in arguments.items() if isinstance(text, str) and len(text) > 10_000}
        arguments.update(dict.fromkeys(long, ""))
    return json.dumps(content).encode(), long


async def serve_stdio(model: ServedModel) -> None:
    """Answer on standard input and output until the input ends."""
    server = tool_server(JsonApi({model.id: model}, Counters()))
    await model.start()
    requests = anyio.wrap_file(_Lines(sys.stdin.buffer, encoding="utf-8", errors="replace"))
    async with stdio_server(requests) as (sent, answers):
        await server.run(sent, answers, server.create_initialization_options())
    await model.stop()


class _Lines(TextIOWrapper):
    """Lines of JSON, in which halves of surrogate pairs are replaced as in all requests."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        return whole_json(super().readline(size))
