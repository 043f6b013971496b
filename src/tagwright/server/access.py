"""Check access tokens: who holds them, which role they give, and how much may be sent with each in a minute.

Against guessing stand tokens of at least 16 characters, which are compared in constant time.
"""

import asyncio
import hmac
import ipaddress
import logging
import math
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from tagwright.errors import ConfigError, InputError
from tagwright.server.current_request import Limited, current
from tagwright.server.languages import Text
from tagwright.server.problems import Problem, later
from tagwright.text.words import clean

_log = logging.getLogger(__name__)

Role: TypeAlias = Literal["suggest", "review", "admin"]
"Each may do what those before it may: ask for suggestions; review and add documents; train the model."

ROLES: tuple[Role, ...] = get_args(Role)

SHORTEST_TOKEN = 16
LONGEST_NAME = 60

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Limits:
    """Counts what was sent with each token, so that no 60 seconds hold more than its limit. refused: by what it was."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = Counter[Limited]()
        self._clock, self._lock = clock, threading.Lock()
        self._sent: dict[tuple[str, Limited], deque[tuple[float, int]]] = {}
        self._totals = Counter[tuple[str, Limited]]()

    def spend(self, token: str, what: Limited, most: int, count: int = 1) -> None:
        """Count what comes now. Raises Problem, and counts nothing, where that would be more than `most` in a minute.

        It is 429, which says when to come again, or 413 if one request holds more than that.
        """
        key = token, what
        with self._lock:
            now, sent = self._clock(), self._sent.setdefault(key, deque())
            while sent and sent[0][0] <= now - 60:
                self._totals[key] -= sent.popleft()[1]
            excess = self._totals[key] + count - most
            if excess <= 0:
                sent.append((now, count))
                self._totals[key] += count
                return
            self.refused[what] += 1
            if count > most:
                form = "The request holds %(count)s documents; with this token, %(most)s a minute are accepted"
                raise Problem(413, Text(form, count=count, most=most))
            ends = (begun + 60 for begun, each in sent for _ in range(each))
            seconds = math.ceil(next(islice(ends, excess - 1, None)) - now)
        if what == "requests":
            form = "With this token, %(most)s requests a minute are accepted; try again in %(seconds)s s"
        else:
            form = "With this token, %(most)s documents a minute are accepted; try again in %(seconds)s s"
        raise later(429, Text(form, most=most, seconds=seconds), seconds)


@dataclass(frozen=True)
class Holder:
    """The holder of a token. name: "" if reviewers with this token choose their own names.

    requests, documents: how many may be sent in a minute; None: any number.
    """

    name: str
    role: Role
    token: str = field(repr=False)  # no secret in a log
    requests: int | None = None
    documents: int | None = None

    def may(self, role: Role) -> bool:
        """Whether the holder has the rights of a role.

        >>> [Holder("Ann", "review", "").may(role) for role in ("suggest", "review", "admin")]
        [True, True, False]
        """
        return ROLES.index(self.role) >= ROLES.index(role)


EVERYBODY = Holder("", "admin", "")
"The holder if no token is needed: all rights."


class Session(NamedTuple):
    """A reviewer, and the holder of the token used to log in."""

    id: str
    reviewer: str
    holder: Holder


@dataclass(eq=False)
class Access:
    """The tokens that give access; without holders no token is needed.

    limits: counts what was sent with each. file: of the tokens, which is read again when it changes, and its content
    when it was last read.
    """

    holders: tuple[Holder, ...] = ()
    limits: Limits = field(default_factory=Limits, repr=False)
    file: Path | None = None
    _content: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, token: str | None = None, file: Path | None = None) -> Self:
        """Accept one token with all rights, the tokens of a file, or both.

        Raises ConfigError for the token, InputError for the file.
        """
        if token is not None and (problem := _fault(token)):
            raise ConfigError(f"the token {problem}")
        content = _content(file) if file else None
        listed = read_tokens(content, file) if file else ()
        alone = [Holder("", "admin", token)] if token else ()
        return cls((*listed, *alone), file=file, _content=content)

    def reread(self) -> None:
        """Take the tokens of the file if it has changed. One that cannot be read changes nothing; the log says why."""
        if self.file is None or (content := _content(self.file)) == self._content:
            return
        self._content = content
        try:
            listed = read_tokens(content, self.file)
        except InputError as error:
            _log.error("%s; the tokens from before remain", error)
            return
        self.holders = (*listed, *(holder for holder in self.holders if not holder.name))  # and that of --token
        _log.warning("%s: has changed; %d tokens from now on", self.file, len(listed))

    async def follow(self) -> None:
        """Look twice a second whether the file has changed, until cancelled."""
        while self.file is not None:
            await asyncio.sleep(0.5)
            await asyncio.to_thread(self.reread)

    def admit(self, holder: Holder) -> None:
        """Let the current request be one of this holder. Raises Problem where that is one too many in this minute."""
        request = current()
        request.token, request.spend = holder.name, partial(self._spend, holder)
        request.client = holder.name or request.client
        request.spend("requests", 1)

    def _spend(self, holder: Holder, what: Limited, count: int) -> None:
        if (most := getattr(holder, what)) is not None:
            self.limits.spend(holder.token, what, most, count)

    @property
    def is_open(self) -> bool:
        """Whether no token is needed."""
        return not self.holders

    def holder(self, token: str) -> Holder | None:
        """Return the holder of a token, or everybody if none is needed. All are compared, in constant time."""
        if self.is_open:
            return EVERYBODY
        holders = [each for each in self.holders if hmac.compare_digest(each.token.encode(), token.encode())]
        return holders[0] if holders else None

    def has_named(self, name: str) -> bool:
        """Whether a token belongs to a holder of this name, ignoring case."""
        return bool(name) and name.casefold() in {each.name.casefold() for each in self.holders}


OPEN = Access()
"No token is needed."


def _content(file: Path) -> bytes | None:
    """The content of a file; None if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return None


def read_tokens(content: bytes | None, file: Path) -> list[Holder]:
    """The tokens in the content of a file, `TOKEN ROLE NAME` a line, with limits before the name; # begins a comment.

    Raises InputError, which names the line and never shows what it holds.
    """
    if content is None:
        raise InputError("the tokens cannot be read", file)
    try:
        lines = content.decode().splitlines()
    except ValueError:
        raise InputError("the tokens cannot be read: they are not in UTF-8", file) from None
    holders = list[Holder]()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            holder = _holder(line, file, number)
            if any(holder.name == other.name or holder.token == other.token for other in holders):
                raise InputError("the name or the token is also in a line above", file, number)
            holders.append(holder)
    if not holders:
        raise InputError("holds no tokens; write TOKEN ROLE NAME, a line for each", file)
    return holders


def _fault(token: str) -> str:
    """Return the error of a token, or ''."""
    if len(token) < SHORTEST_TOKEN:
        return f"has fewer than {SHORTEST_TOKEN} characters: it could be guessed"
    return "" if token.isascii() else "has characters beyond ASCII, which no header can carry safely"


def _holder(line: str, file: Path, number: int) -> Holder:
    token, named, rest = [*line.split(maxsplit=2), "", ""][:3]
    role = next((role for role in ROLES if role == named), None)
    limits = dict[str, int]()
    while limit := re.match(r"(requests|documents)=(\S*)\s*", rest):
        if not re.fullmatch("[1-9][0-9]{0,8}", limit[2]) or limit[1] in limits:
            raise InputError(f"expected {limit[1]}=NUMBER once, from 1 on, for how many a minute", file, number)
        limits[limit[1]], rest = int(limit[2]), rest[limit.end() :]
    name = " ".join(clean(rest).split())
    if role is None or not name:
        raise InputError(f"expected TOKEN ROLE NAME, the role one of {', '.join(ROLES)}", file, number)
    if problem := _fault(token):
        raise InputError(f"the token {problem}", file, number)
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has more than {LONGEST_NAME} characters", file, number)
    return Holder(name, role, token, **limits)


def network(address: str) -> str:
    """Return the address, or its network for version 6 (/64), whose addresses all belong to one client."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket of another kind
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Address(int(parsed) >> 64 << 64))


def networks_of(proxies: str, user_header: str) -> list[Network]:
    """The proxies that may name a user in this header; "" for none. Raises ConfigError."""
    if not user_header:
        return []
    if not proxies:
        raise ConfigError(f"who may send {user_header}? name the addresses of the proxies, as --proxies 10.0.0.1")
    try:
        return [ipaddress.ip_network(each.strip()) for each in proxies.split(",")]
    except ValueError as error:
        raise ConfigError(f"--proxies: {error}; with --user-header, expected such as 10.0.0.1,::1") from None


def user_of(scope: Scope, header: str, proxies: Sequence[Network]) -> str:
    """The user that one of these proxies names; "" without one. The client must be that of the connection.

    A header that comes twice is not believed: a proxy that adds its own may pass on that of a client.
    """
    if not proxies or not scope.get("client"):
        return ""
    try:
        address = ipaddress.ip_address(scope["client"][0])
    except ValueError:
        return ""
    peer = getattr(address, "ipv4_mapped", None) or address
    names = Headers(scope=scope).getlist(header)
    if len(names) != 1 or not any(peer in proxy for proxy in proxies):
        return ""
    with suppress(ValueError):  # Starlette reads headers as Latin-1, and proxies send them in UTF-8
        names = [names[0].encode("latin-1").decode()]
    return " ".join(clean(names[0]).split())[:LONGEST_NAME]


def holder_of(request: Request) -> Holder:
    """Return the holder of the token of an accepted request."""
    holder: Holder = request.state.holder
    return holder


def check_role(request: Request, role: Role) -> None:
    """Raise Problem unless the token that came with the request may do this."""
    if not holder_of(request).may(role):
        raise Problem(403, f"This needs a token with the role {role}")


def check_origin(request: Request) -> None:
    """Raise Problem for a request from a page of another site, by the headers of the browser."""
    origin = request.headers.get("origin", "")
    elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if elsewhere or (origin and origin.partition("://")[2] != request.headers.get("host", "")):
        raise Problem(403, Text("The request comes from a page of another site"))
