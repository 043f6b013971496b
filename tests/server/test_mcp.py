"""Tools for assistants: sessions of the official client, in memory, with a process, and over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tagwright.app.cli import app
from tagwright.server.access import OPEN, Access
from tagwright.server.application import application
from tagwright.server.served_model import ServedModel
from tagwright.tagger.acceptance import SuggestOptions

from .conftest import LABELS, word_tagger

pytest.importorskip("mcp")

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from tagwright.server.mcp import tool_server, whole_lines

BEES = "Honey bees visit apple orchards."


@asynccontextmanager
async def session(model: ServedModel) -> AsyncIterator[Client]:
    """A client of the tools in memory."""
    await model.start()
    async with Client(tool_server({model.id: model})) as client:
        yield client
    await model.stop()


def called(tool: str, model: ServedModel | None = None, **arguments: Any) -> CallToolResult:
    async def call() -> CallToolResult:
        async with session(model or ServedModel("bees", word_tagger(), "Bees")) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(call())


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


def test_the_tools_and_their_arguments_are_listed() -> None:
    async def listed() -> dict[str, dict[str, Any]]:
        async with session(ServedModel("bees", word_tagger(), "Bees")) as client:
            return {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}

    tools = asyncio.run(listed())
    assert list(tools) == ["suggest", "explain", "search_labels"]
    assert tools["suggest"]["required"] == ["text"]
    assert {"text", "title", "limit", "threshold", "only", "without", "names_in"} == set(tools["explain"]["properties"])


def test_suggest_answers_as_the_tagger() -> None:
    result = called("suggest", text=BEES, limit=2)
    assert not result.is_error
    assert [each["name"] for each in result.structured_content["suggestions"]] == ["Orchards", "Bees"]
    expected = word_tagger().suggest(BEES, k=2)
    assert [each["score"] for each in result.structured_content["suggestions"]] == [each.score for each in expected]
    assert json.loads(text_of(result)) == result.structured_content


def test_explain_quotes_the_text_and_does_not_repeat_it() -> None:
    answer = called("explain", text=BEES, only=[LABELS[0].id]).structured_content
    spans = [span["text"] for each in answer["suggestions"][0]["evidence"] for span in each["spans"]]
    assert spans == ["bees", "bees"]
    assert "text" not in answer
    assert answer["meanings"]


def test_search_labels_finds_by_a_part_of_a_name() -> None:
    answer = called("search_labels", query="orch").structured_content
    assert [(each["id"], each["name"]) for each in answer["labels"]] == [("o", "Orchards")]


def test_conditions_of_the_command_hold_for_every_tool() -> None:
    model = ServedModel("bees", word_tagger(), "Bees", settings=SuggestOptions(without=["o"]))
    suggested = called("suggest", model, text=BEES).structured_content["suggestions"]
    assert [each["name"] for each in suggested] == ["Bees"]
    assert called("search_labels", model, query="orch").structured_content["labels"] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("suggest", {"text": "Bees", "limt": 3}, "unknown field 'limt'; did you mean 'limit'?"),
        ("suggest", {}, "'text' is a required property"),
        ("suggest", {"text": "Bees", "limit": 0}, "0 is less than the minimum of 1 - 'limit'"),
        ("suggest", {"text": "Bees", "only": ["notation:9*"]}, "notation:9*"),
        ("search_labels", {"query": 7}, "7 is not of type 'string' - 'query'"),
        ("sugest", {"text": "Bees"}, "no tool 'sugest'; known are suggest, explain, search_labels"),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(tool: str, arguments: dict[str, Any], problem: str) -> None:
    result = called(tool, **arguments)
    assert result.is_error
    assert problem in text_of(result)


def test_a_failure_says_nothing_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ValueError("secret words of a document")

    monkeypatch.setattr(ServedModel, "suggest_and_record", fail)
    result = called("suggest", text=BEES)
    assert result.is_error
    assert text_of(result) == "Internal error; see the log of the server"


def test_the_command_answers_on_standard_input_and_output(tmp_path: Path) -> None:
    word_tagger().save(tmp_path / "saved")
    command = ["-m", "tagwright", "mcp", "--model", str(tmp_path / "saved"), "--quiet"]
    environment = {**os.environ, "TAGWRIGHT_TOKEN": "a secret of others"}  # set for other commands
    server = StdioServerParameters(command=sys.executable, args=command, env=environment)

    async def asked() -> Any:
        async with Client(server) as client:
            return (await client.call_tool("suggest", {"text": BEES})).structured_content

    answer = asyncio.run(asked())
    assert [each["name"] for each in answer["suggestions"]] == ["Orchards", "Bees"]
    assert answer["version"].startswith("saved ")


def test_the_command_answers_over_http(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    word_tagger().save(tmp_path / "saved")
    served: list[Any] = []

    def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
        served.append(server.config.app)
        sockets[0].close()

    monkeypatch.setattr(uvicorn.Server, "run", run)
    done = CliRunner().invoke(app, ["mcp", "--http", "--port", "0", "--model", str(tmp_path / "saved")])
    assert re.match(r"Serving saved at http://127.0.0.1:\d+/v1/\nTools for assistants at .*/mcp\n", done.stdout)
    with TestClient(served[0], base_url="http://localhost") as client:
        answer = client.post("/mcp", json=CALL, headers=HEADERS).json()
    assert [each["name"] for each in answer["result"]["structuredContent"]["suggestions"]] == ["Orchards", "Bees"]


CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "suggest", "arguments": {"text": BEES}},
}  # fmt: skip
HEADERS = {
    "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
    "MCP-Protocol-Version": "2025-06-18",
}  # fmt: skip
TOKEN = "a token that is long enough"


def over_http(headers: dict[str, str], access: Access = OPEN, content: str = json.dumps(CALL)) -> Any:
    models, hosts = [ServedModel("bees", word_tagger(), "Bees")], frozenset({"localhost"})
    tools = application(models, access=access, hosts=hosts, tools=True)
    with TestClient(tools, base_url="http://localhost:8765") as client:
        return client.post("/mcp", content=content, headers={**HEADERS, **headers})


def test_over_http_a_token_is_needed_and_counts() -> None:
    access = Access.of(TOKEN)
    assert over_http({}, access).status_code == 401
    answer = over_http({"Authorization": f"Bearer {TOKEN}"}, access)
    assert answer.status_code == 200
    suggested = answer.json()["result"]["structuredContent"]["suggestions"]
    assert [each["id"] for each in suggested] == ["o", LABELS[0].id]
    assert answer.headers["X-Model-Version"] == "bees"  # the tool knows the request, so limits and audit count it


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_page_of_another_site_is_refused(headers: dict[str, str]) -> None:
    assert over_http(headers).status_code == 403
    assert over_http({"Origin": "http://localhost:8765"}).status_code == 200


def test_another_host_name_is_refused() -> None:
    assert over_http({"Host": "evil.example"}).status_code == 421


def test_without_the_option_no_tools_are_served() -> None:
    with TestClient(application([ServedModel("bees", word_tagger(), "Bees")])) as client:
        assert client.post("/mcp", json=CALL).status_code == 404


def test_half_a_character_is_replaced_over_http_and_on_standard_input() -> None:
    body = json.dumps(CALL).replace(BEES, "Honey bees \\ud800 visit apple orchards.")

    async def first_line() -> str:
        return await anext(whole_lines(BytesIO(body.encode() + b"\n")))

    line = asyncio.run(first_line())
    assert json.loads(line)["params"]["arguments"]["text"] == "Honey bees \ufffd visit apple orchards."
    suggested = over_http({}, content=body).json()["result"]["structuredContent"]["suggestions"]
    assert [each["name"] for each in suggested] == ["Orchards", "Bees"]
