"""The request that is being answered: its id, client and user, for log lines, turns and the reply.

It stands in a context variable, since what computes or logs deep below a route needs it. `logs` begins it;
`application` adds language and client, `access` the token, `served_model` the model.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import dataclass, field

from tagwright.tagger import Suggestion


@dataclass
class CurrentRequest:
    """A request that is being answered, filled in on its way through the server.

    path: its address, which is not logged. root: where the application is mounted, such as /tags; "" at the top.
    client: what takes turns and shares memory: the name of a token's holder, or else the address. user: the reviewer.
    token: the name of its holder. language: code of that of pages; word: what they call a label. model: the id;
    version: the id with the number or date. documents, suggestions: how many were answered. held: what is released when
    the answer is sent.
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
    held: ExitStack = field(default_factory=ExitStack)

    def count(self, suggestions: Sequence[Sequence[Suggestion]]) -> None:
        """Count the suggestions for documents."""
        self.documents += len(suggestions)
        self.suggestions += sum(map(len, suggestions))


_current: ContextVar[CurrentRequest] = ContextVar("_current")


def get_current_request() -> CurrentRequest:
    """Return the request that is being answered; outside of one, an empty one."""
    return _current.get(None) or CurrentRequest()


def begin(request: CurrentRequest) -> None:
    """Let `get_current_request` return this request in what runs from now on in this task."""
    _current.set(request)
