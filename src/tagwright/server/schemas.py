"""What requests and answers hold, as pydantic models, and what is said of a request that holds something else."""

import re
from collections.abc import Mapping
from types import GenericAlias
from typing import Any, Self, TypeVar

from fastapi.exceptions import RequestValidationError
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SkipValidation,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tagwright.core.checked import find_nearest, show
from tagwright.defaults import MAX_LABELS
from tagwright.server.languages import Text
from tagwright.server.problems import Problem, bad_request
from tagwright.server.request_bodies import FORM

KINDS: Mapping[str, str] = {
    "string_type": "string", "int_type": "integer", "int_parsing": "integer", "float_type": "number",
    "finite_number": "number", "bool_type": "boolean", "list_type": "array", "dict_type": "object",
    "model_type": "object", "model_attributes_type": "object",
}  # fmt: skip
"Errors of pydantic -> the type of JSON that was expected."


M = TypeVar("M", bound=BaseModel)

EXAMPLE = "Bees visit orchards."
"A text for examples."


def form_body(schema: Mapping[str, Any], kind: str = FORM) -> dict[str, Any]:
    """Return what the description says of a form. schema: of its fields."""
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema}}}}


def invalid(error: ValidationError | RequestValidationError, place: str = "") -> Problem:
    """Return the problem (400) of what does not follow its model, in the words of Annif's interface.

    place: where it is in what was sent.
    """
    first = error.errors()[0]
    kind, value, more = first["type"], first["input"], first.get("ctx", {})
    path = [place, *(f"{part!s:.100}" for part in first["loc"])]
    of_address = path[1:2] == ["query"]
    if isinstance(error, RequestValidationError):
        del path[1]  # "body" or "query"
    name = path.pop() if kind == "missing" else ""
    where = ".".join(part for part in path if part)
    is_bound = kind in ("greater_than_equal", "less_than_equal")  # of a number, which an address has as a text
    given = {"value": value if of_address and is_bound else show(value), "place": f" - '{where}'" if where else ""}
    if kind in KINDS:
        return bad_request(Text("%(value)s is not of type '%(type)s'%(place)s", type=KINDS[kind], **given))
    if kind == "greater_than_equal":
        return bad_request(Text("%(value)s is less than the minimum of %(ge)s%(place)s", **given, **more))
    if kind == "less_than_equal":
        return bad_request(Text("%(value)s is greater than the maximum of %(le)s%(place)s", **given, **more))
    if kind == "unknown":
        return bad_request(f"unknown field '{more['name']}'{f' in {where}' if where else ''}; {more['hint']}")
    detail = first["msg"]
    if kind == "missing":
        detail = f"'{name}' is a required {'parameter' if of_address else 'property'}"
    elif kind in ("too_long", "too_short", "string_too_long"):
        limit = f"at least {more['min_length']:,}" if kind == "too_short" else f"at most {more['max_length']:,}"
        detail = f"{len(value):,} {'characters' if isinstance(value, str) else 'items'}, expected {limit}"
    return bad_request(f"{detail}{given['place']}")


def checked(model: type[M], sent: Any, place: str = "") -> M:
    """Return what a client has sent, as its model. Raises Problem, see `invalid`."""
    try:
        return model.model_validate(sent)
    except ValidationError as error:
        raise invalid(error, place) from None


class Sent(BaseModel):
    """What a client sends to Annif's interface: fields that it does not know are passed over."""

    model_config = ConfigDict(strict=True)


class Closed(Sent):
    """What a client sends to the server's own interface: a field that it does not know is refused."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def check_names(cls, value: Any) -> Any:
        """Refuse unknown fields before anything else, and name the nearest one."""
        for name in value if isinstance(value, dict) else ():
            if name not in cls.model_fields:
                near = find_nearest(name[:100], cls.model_fields)
                hint = f"did you mean '{near}'?" if near else f"known are {', '.join(cls.model_fields)}"
                raise PydanticCustomError("unknown", "{hint}", {"name": name[:100], "hint": hint})
        return value


class FromTexts(BaseModel):
    """What the fields of a form or an address hold, which are texts."""

    @field_validator("limit", "per_branch", mode="before", check_fields=False)
    @classmethod
    def read_number(cls, text: Any) -> Any:
        """Return a whole number; what is none is refused then."""
        return int(text) if isinstance(text, str) and re.fullmatch("[+-]?[0-9]{1,18}", text) else text

    @field_validator("evidence", mode="before", check_fields=False)
    @classmethod
    def read_flag(cls, text: Any) -> bool:
        """Return whether it is a yes."""
        return text in ("1", "true")


class LabelRules(BaseModel):
    """Which labels are suggested, how narrow or broad, as in `SuggestOptions`."""

    only: list[str] | None = Field(
        None, max_length=10_000, description="Conditions, such as notation:33*: one of each kind must fit."
    )
    without: list[str] | None = Field(None, max_length=10_000, description="Conditions, none of which may fit.")
    hierarchy: str | None = Field(
        None, description="ranked; narrowest: no label beside one below it; all: each with those above it."
    )
    per_branch: int | None = Field(None, ge=1, description="The most labels below the same label at the top.")


class Asked(Closed):
    """What is asked of which tagger."""

    model: str | None = Field(None, description="Id of the tagger; by default the first.")
    limit: int | None = Field(MAX_LABELS, ge=1, le=1000, description="The most labels to suggest.")
    names_in: str | None = Field(
        None, description="Of the names, a code such as sv; without one, or a name in it: preferred names."
    )
    language: str | None = Field(None, description="Language of the text; recognised by default.")
    evidence: bool | None = Field(
        None, description="Say why: reasons by what they add, and stage by stage, with positions in the text."
    )


class AddressOptions(FromTexts, LabelRules, Asked):
    """The options that an address may hold."""


class SentSection(Closed):
    """A section of a document."""

    heading: SkipValidation[str | None] = None  # `to_document` says what is wrong with it
    level: SkipValidation[int | None] = None
    paragraphs: SkipValidation[list[str] | None] = None


class SentDocument(Closed):
    """A document. Its text, title, abstract or sections are needed."""

    id: str | int | None = None
    title: str | None = None
    abstract: str | None = None
    text: str | None = None
    sections: list[SentSection] | None = None


class SuggestFor(LabelRules, Asked, SentDocument):
    """A document, and the options of the request for suggestions."""

    model_config = ConfigDict(json_schema_extra={"example": {"text": EXAMPLE}})

    threshold: float | None = Field(None, ge=0, le=1, description="Least confidence; above 0 where it is estimated.")
    min_score: float | None = Field(None, description="Least score, on the tagger's own scale.")
    best_cut: bool | None = Field(
        None, description="As many labels as have the greatest expected F1, by their confidences."
    )
    thresholds: bool | None = Field(
        None, description="Only labels as sure as their own thresholds ask for, if the tagger has these."
    )

    @model_validator(mode="after")
    def check_content(self) -> Self:
        """Refuse a document without any content; it may be empty."""
        if not {"title", "abstract", "text", "sections"} & self.model_fields_set:
            problem = "'text' is a required property, or title, abstract or sections"
            raise PydanticCustomError("content", "{problem}", {"problem": problem})
        return self


class FileForm(Closed):
    """A form with a file."""

    model_config = ConfigDict(json_schema_extra={"example": {"file": "@notes.txt"}})

    file: Any = Field(None, json_schema_extra={"type": "string", "format": "binary"})


def answer(name: str, /, **fields: Any) -> dict[int | str, dict[str, Any]]:
    """Return what the description says of an answer with these fields, see `shape`."""
    return {200: {"model": shape(name, **fields)}}


def shape(name: str, /, **fields: Any) -> Any:
    """Return the model of a part of an answer: it describes and checks nothing, as answers are sent as they are.

    fields: of each its type, a list of the one type of its items, or a type and a `Field` with default and description.
    """
    given: dict[str, Any] = {
        each: kind if isinstance(kind, tuple) else (listed(kind), ...) for each, kind in fields.items()
    }
    return create_model(name, **given)


def listed(kind: Any) -> Any:
    """Return the type of a list of a shape, given as `[shape]`; any other type as it is."""
    return GenericAlias(list, tuple(kind)) if isinstance(kind, list) else kind


PROBLEM: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem",
        "content": {
            "application/problem+json": {
                "schema": shape("Problem", type=str, title=str, detail=str, status=int).model_json_schema()
            }
        },
    }
}
"How the description says that any request may end in a problem."

SPAN = shape("Span", start=int, end=int, text=str, weight=float)
EVIDENCE = shape("Evidence", stage=str, rank=int, score=float, spans=[SPAN])
REASON = shape("Reason", name=str, added=(float, 0.0), rank=(int, 0), remark=(str, ""))
ESTIMATE = shape("Estimate", by=str, features=dict[str, float])
SUGGESTED = shape(
    "Suggested",
    id=str,
    name=str,
    notation=(str, Field(description="Place in a classification, such as 595.79; empty where there is none.")),
    score=float,
    confidence=float | None,
    reasons=(
        listed([REASON]),
        Field([], description="Stages, or features of a learned combiner: what raises the score most comes first."),
    ),
    evidence=(listed([EVIDENCE]), []),
    estimate=(ESTIMATE | None, None),
    translated=(list[str], Field([], description="Translated names by which texts find the label too.")),
    language=(str, Field("", description="With names_in, of the name; empty where nothing says it.")),
)
NONE = "Probability that no label of the vocabulary fits; missing where it is not estimated."
VERSION = "The tagger that answered and its version, as in the header X-Model-Version."
SUGGESTIONS: Mapping[str, Any] = {
    "id": str,
    "none": (float, Field(0.0, description=NONE)),
    "suggestions": [SUGGESTED],
    "text": (str, ""),
    "meanings": (dict[str, str], Field({}, description="What the names of the reasons mean.")),
    "version": (str, Field(description=VERSION)),
}
"What is answered for a document."
