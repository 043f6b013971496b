"""Tools for assistants (Model Context Protocol): suggest labels, explain them, search labels.

They answer as the server's own interface does: by its functions, with its checks and limits.
"""

import json
import logging
import sys
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar
from io import TextIOWrapper
from typing import Any, BinaryIO, cast

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations
from pydantic import Field
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagwright.defaults import MAX_LABELS
from tagwright.server.access import check_origin
from tagwright.server.deps import check_json
from tagwright.server.json_api import answers, found_labels, sent_document
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import parse_json, whole_json
from tagwright.server.schemas import Closed, SuggestFor, checked
from tagwright.server.served_model import ServedModel, model_named
from tagwright.server.turns import in_thread
from tagwright.version import __version__

_log = logging.getLogger(__name__)


class TextArguments(Closed):
    """Arguments of `suggest` and `explain`."""

    text: str = Field(description="The text of the document.")
    title: str = Field("", description="Its title, if that is not in the text.")
    limit: int = Field(MAX_LABELS, ge=1, le=1000, description="The most labels to suggest.")
    threshold: float = Field(0.0, ge=0, le=1, description="Least confidence; above 0 where it is estimated.")
    only: list[str] = Field(
        [], max_length=10_000, description="Conditions, such as notation:33*: one of each kind must fit."
    )
    without: list[str] = Field([], max_length=10_000, description="Conditions, none of which may fit.")
    names_in: str = Field(
        "", description="Of the names, a code such as sv; without one, or a name in it: preferred names."
    )


class QueryArguments(Closed):
    """Arguments of `search_labels`."""

    query: str = Field(description="A name, a part of one, a notation or an id.")
    limit: int = Field(MAX_LABELS, ge=1, le=1000, description="The most labels to suggest.")


_TOOLS: Mapping[str, tuple[str, type[Closed]]] = {
    "suggest": (
        "Suggest labels of the vocabulary for a text, best first. confidence is the estimated probability that a label "
        "is right; null where it is not estimated.",
        TextArguments,
    ),
    "explain": (
        "Suggest labels as suggest does, and say why: reasons by what they add to the score, and the pieces of the "
        "text that are evidence for each label.",
        TextArguments,
    ),
    "search_labels": ("Find labels of the vocabulary by a name, a part of one, a notation or an id.", QueryArguments),
}
"Tool -> what it does, and its arguments."


def tool_server(models: Mapping[str, ServedModel]) -> Server[Any]:
    """Return the protocol server whose tools ask the first model."""

    async def list_tools(*_: Any) -> ListToolsResult:
        reads = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        tools = [
            Tool(name=name, description=description, input_schema=wanted.model_json_schema(), annotations=reads)
            for name, (description, wanted) in _TOOLS.items()
        ]
        return ListToolsResult(tools=tools)

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await _answer(model_named(None, models), params.name, {**(params.arguments or {}), **_long.get()})
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


async def _answer(model: ServedModel, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of a tool. Raises Problem."""
    if name not in _TOOLS:
        raise bad_request(f"no tool '{name[:100]}'; known are {', '.join(_TOOLS)}")
    arguments = checked(_TOOLS[name][1], given)
    if isinstance(arguments, QueryArguments):
        return await found_labels(model, arguments.query, arguments.limit)
    sent = SuggestFor(**arguments.model_dump(), evidence=name == "explain")
    (answer,) = await answers(model, [await in_thread(sent_document, sent)], sent)
    answer.pop("text", None)  # the assistant has it
    return answer


def tool_route() -> Route:
    """Return the route of the tools on HTTP, without sessions. Pages of other sites are refused, see `check_origin`."""

    async def answer(request: Request) -> ASGIApp:
        check_origin(request)
        await check_json(request)
        body, long = await in_thread(_without_long_texts, await request.body())
        _long.set(long)
        server = tool_server(request.app.state.models)
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


def _without_long_texts(body: bytes) -> tuple[bytes, dict[str, str]]:
    """A message without the long texts among its arguments, and these. Raises Problem, as `parse_json` does."""
    content, long = parse_json(body), dict[str, str]()
    params = content.get("params") if isinstance(content, dict) else None
    arguments = params.get("arguments") if isinstance(params, dict) else None
    if isinstance(arguments, dict):
        long = {name: text for name, text in arguments.items() if isinstance(text, str) and len(text) > 10_000}
        arguments.update(dict.fromkeys(long, ""))
    return json.dumps(content).encode(), long


async def serve_stdio(model: ServedModel) -> None:
    """Answer on standard input and output until the input ends."""
    server = tool_server({model.id: model})
    await model.start()
    requests = whole_lines(sys.stdin.buffer)
    async with stdio_server(cast("anyio.AsyncFile[str]", requests)) as (sent, answers):  # it only iterates over them
        await server.run(sent, answers, server.create_initialization_options())
    await model.stop()


async def whole_lines(file: BinaryIO) -> AsyncIterator[str]:
    """Yield lines of JSON, in which halves of surrogate pairs are replaced as in all requests."""
    async for line in anyio.wrap_file(TextIOWrapper(file, encoding="utf-8", errors="replace")):
        yield whole_json(line)
