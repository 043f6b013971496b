"""The request that is being answered: its id, client, user and limits, for log lines, audit entries and the reply.

It stands in a context variable, since what computes or logs deep below a route needs it. `logs` begins it;
`application` adds language and client, `access` the token, `served_model` the model.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tagwright.server.audit import Audit
from tagwright.tagger import Suggestion
from tagwright.types import Document

Limited: TypeAlias = Literal["requests", "documents"]
"What a token may send only so many of in a minute."


@dataclass
class CurrentRequest:
    """A request that is being answered, filled in on its way through the server.

    path: its address, which is not logged. root: where the application is mounted, such as /tags; "" at the top.
    client: what takes turns and shares memory: the name of a token's holder, the user that a proxy names, or else the
    address. user: the reviewer, or the user that a proxy names. token: the name of its holder. language: code of that
    of pages; word: what they call a label. model: the id; version: the id with the number or date. documents,
    suggestions: how many were answered. spend: counts requests or documents against the limits of the token; raises
    Problem (413, 429). audit: where answers are recorded, if anywhere. held: what is released when the answer is sent;
    is_alone: see `Turns.alone`.
    """

    id: str = ""
    path: str = ""
    root: str = ""
    client: str = ""
    user: str = ""
    token: str = ""
    language: str = "en"
    word: str = "label"
    model: str = ""
    version: str = ""
    documents: int = 0
    suggestions: int = 0
    spend: Callable[[Limited, int], None] = lambda *_: None
    audit: Audit | None = None
    held: AsyncExitStack = field(default_factory=AsyncExitStack)
    is_alone: bool = False

    @property
    def who(self) -> str:
        """The user, or else the holder of the token; "" if neither is known."""
        return self.user or self.token

    async def record(self, documents: Sequence[Document], suggestions: Sequence[Sequence[Suggestion]]) -> None:
        """Count suggestions, and write them to the audit log, before they are sent. Raises StorageError."""
        self.documents += len(documents)
        self.suggestions += sum(map(len, suggestions))
        if self.audit is not None:
            head = {"request": self.id, "who": self.who, "model": self.model, "version": self.version}
            await asyncio.to_thread(self.audit.add, head, documents, suggestions)


_current: ContextVar[CurrentRequest] = ContextVar("_current")


def get_current_request() -> CurrentRequest:
    """Return the request that is being answered; outside of one, an empty one."""
    return _current.get(None) or CurrentRequest()


def begin(request: CurrentRequest) -> None:
    """Let `get_current_request` return this request in what runs from now on in this task."""
    _current.set(request)
