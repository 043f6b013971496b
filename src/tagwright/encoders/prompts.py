"""The instructions that an encoder was trained to read before a text: one before queries, one before documents.

The terms are those of the field, where a query is what is searched with and a document is what is searched. Tagwright
searches a vocabulary with a text: the text to be tagged is the query, and the labels are the documents. So
`SentenceTransformer.encode_query` and `encode_document` compute the same vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

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
    def of_model(cls, prompts: Mapping[str, str | None], default_name: str | None, *, pooled: bool) -> Prompts:
        """From the settings of a sentence-transformers model; one that names neither role reads its default for both.

        >>> Prompts.of_model({"query": "query: ", "passage": "passage: "}, None, pooled=True).document
        'passage: '
        """
        default = (prompts.get(default_name) if default_name else None) or ""
        query = prompts.get("query") or ""
        others = ("document", "passage", "corpus")  # in the order in which sentence-transformers looks for them
        document = next((text for name in others if (text := prompts.get(name))), "")
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
    def left_out(self) -> bool:
        """Whether there are prompts whose tokens are not pooled, which only sentence-transformers can do."""
        return not self.pooled and any((self.query, self.document, self.default))

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
