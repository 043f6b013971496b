"""What version 0.2 of the Reconciliation Service API says of answers, as JSON schemas of our own."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator

TEXT: dict[str, Any] = {"type": "string"}
ADDRESS: dict[str, Any] = {"type": "string", "pattern": "^https?://"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


TYPE = {"oneOf": [TEXT, _object(["id"], id=TEXT, name=TEXT)]}
"A type is an id, or an object with an id and perhaps a name."

SUGGEST = _object(
    ["service_url", "service_path"],
    service_url=ADDRESS,
    service_path=TEXT,
    flyout_service_url=ADDRESS,
    flyout_service_path={"type": "string", "pattern": r"\$\{id\}"},
)
MANIFEST = _object(
    ["versions", "name", "identifierSpace", "schemaSpace"],
    versions={**_list(TEXT), "contains": {"const": "0.2"}},
    name=TEXT,
    identifierSpace=ADDRESS,
    schemaSpace=ADDRESS,
    serviceVersion=TEXT,
    batchSize={"type": "integer", "minimum": 1},
    defaultTypes={**_list(TYPE), "uniqueItems": True},
    view=_object(["url"], url={"type": "string", "pattern": r"\{\{id\}\}"}),
    preview=_object(
        ["url", "width", "height"],
        url={"type": "string", "pattern": r"^https?://.*\{\{id\}\}"},
        width={"type": "integer"},
        height={"type": "integer"},
    ),
    suggest=_object([], entity=SUGGEST, type=SUGGEST, property=SUGGEST),
    authentication=_object(["type"], type={"enum": ["basic", "apiKey", "oauth2"]}),
)
CANDIDATE = _object(
    ["id", "name", "score"],
    id=TEXT,
    name=TEXT,
    description=TEXT,
    score={"type": "number"},
    match={"type": "boolean"},
    type=_list(TYPE),
    features=_list(_object(["id", "value"], id=TEXT, value={"type": ["boolean", "number"]})),
)
RESULTS = {"type": "object", "additionalProperties": _object(["result"], result=_list(CANDIDATE))}
SUGGESTED = _object(
    ["result"], result=_list(_object(["id", "name"], id=TEXT, name=TEXT, description=TEXT, notable=_list(TYPE)))
)
FLYOUT = _object(["id", "html"], id=TEXT, html=TEXT)

QUERIES = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "anyOf": [{"required": ["query"]}, {"required": ["properties"]}],
        "additionalProperties": False,
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "type": {"oneOf": [TEXT, _list(TEXT)]},
            "limit": {"type": "number", "exclusiveMinimum": 0},
            "properties": _list(_object(["pid", "v"], pid=TEXT)),
            "type_strict": {"enum": ["any", "should", "all"]},
        },
    },
}
"A batch of queries, so that those of the tests are ones that clients may send."


def check(answer: Any, schema: dict[str, Any]) -> Any:
    """The answer, if it is as the schema says."""
    Draft202012Validator(schema).validate(answer)
    return answer
