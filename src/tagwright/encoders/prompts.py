"""The instructions that an encoder was trained to read before a text: one before queries, one before documents.

The terms are those of the field, where a query is what is searched with and a document is what is searched. Tagwright
searches a vocabulary with a text: the text to be tagged is the query, and the labels are the documents. So
`SentenceTransformer.encode_query` and `encode_document` compute the same vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from tagwright.core.checked import show
from tagwright.errors import ConfigError

Role: TypeAlias = Literal["query", "document"]
"query: a text to be tagged, or a part of it. document: a label."


@dataclass(frozen=True)
class Prompts:
    """The prompts before texts. default: for texts that have no role. pooled: whether its tokens are pooled too."""

    query: str = ""
    document: str = ""
    default: str = ""
    pooled: bool = True

    @classmethod
    def of_model(cls, prompts: object, default_name: object, *, pooled: bool) -> Prompts:
        """From the settings of a sentence-transformers model; one that names neither role reads its default for both.

        Raises ValueError when they are not texts.

        >>> Prompts.of_model({"query": "query: ", "passage": "passage: "}, None, pooled=True).document
        'passage: '
        """
        named = prompts or {}
        if not isinstance(named, Mapping) or not all(isinstance(text, str | None) for text in named.values()):
            raise ValueError(f"the prompts of the model are {show(prompts, 100)}, expected names and texts")
        default = (named.get(default_name) if isinstance(default_name, str) else None) or ""
        query = named.get("query") or ""
        others = ("document", "passage", "corpus")  # in the order in which sentence-transformers looks for them
        document = next((named[name] for name in others if named.get(name)), "")
        if not query and not document:
            query = document = default
        return cls(query, document, default, pooled)

    def chosen(self, prompts: Mapping[str, str]) -> Prompts:
        """The same with these in place of the model's own; an empty text stands for none."""
        check_prompts(prompts)
        return replace(self, query=prompts.get("query", self.query), document=prompts.get("document", self.document))

    def of(self, role: Role | None) -> str:
        """Return the prompt before a text of this role."""
        return self.default if role is None else self.query if role == "query" else self.document

    @property
    def by_role(self) -> dict[str, str]:
        """Role -> prompt."""
        return {"query": self.query, "document": self.document}


NONE = Prompts()
"A model that reads texts as they are."


def check_prompts(prompts: Mapping[str, Any]) -> None:
    """Raise ConfigError for a role that does not exist."""
    for role in prompts:
        if role not in get_args(Role):
            raise ConfigError(
                f'prompts are for "query" (the texts to be tagged) and "document" (the labels), not for "{role}"'
            )
