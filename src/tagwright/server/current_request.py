"""What is known of the request that is being answered: for its log line, its audit entries and its reply."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tagwright.server.audit import Audit
from tagwright.tagger import Suggestion
from tagwright.types import Document

Limited: TypeAlias = Literal["requests", "documents"]
"What a token may send a limited number of in a minute."


@dataclass
class CurrentRequest:
    """A request that is being answered. path: its address, which is not logged.

    client: with whom slots and memory are shared: the name of a token, whom a proxy names, or else the address.
    user: the reviewer, or whom a proxy names. token: the name of its holder. language: of the pages. model: the id;
    version: with its number or date. spend: counts what was sent against the limits of the token. audit: where answers
    are recorded.
    """

    id: str = ""
    path: str = ""
    client: str = ""
    user: str = ""
    token: str = ""
    language: str = "en"
    model: str = ""
    version: str = ""
    documents: int = 0
    suggestions: int = 0
    spend: Callable[[Limited, int], None] = lambda *_: None
    audit: Audit | None = None

    @property
    def who(self) -> str:
        """The user, or else the holder of the token; "" where nobody is known."""
        return self.user or self.token

    async def answered(self, documents: Sequence[Document], suggestions: Sequence[Sequence[Suggestion]]) -> None:
        """Record the suggestions for documents, before they are sent. Raises StorageError."""
        self.documents += len(documents)
        self.suggestions += sum(map(len, suggestions))
        if self.audit is not None:
            head = {"request": self.id, "who": self.who, "model": self.model, "version": self.version}
            await asyncio.to_thread(self.audit.add, head, documents, suggestions)


_current: ContextVar[CurrentRequest] = ContextVar("_current")


def current() -> CurrentRequest:
    """The request that is being answered; outside of one, an empty one."""
    return _current.get(None) or CurrentRequest()


def begin(request: CurrentRequest) -> None:
    """Let `current` return this request in what runs from now on in this task."""
    _current.set(request)
