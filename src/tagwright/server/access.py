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
from tagwright.review.events import person_of
from tagwright.server.current_request import Limited, get_current_request
from tagwright.server.languages import Text
from tagwright.server.problems import Problem, ask_later
from tagwright.text.words import clean

_log = logging.getLogger(__name__)

Role: TypeAlias = Literal["suggest", "review", "admin"]
"Each may do what those before it may: ask for suggestions; review and add documents; train the model."

ROLES: tuple[Role, ...] = get_args(Role)

SHORTEST_TOKEN = 16
LONGEST_NAME = 60

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


class Limits:
    """Limit the requests and documents that each token may send in any 60 seconds.

    refused: number of refused requests, by the limit that they exceeded. clock: seconds, which only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused = Counter[Limited]()
        self._clock, self._lock = clock, threading.Lock()
        self._sent: dict[tuple[str, Limited], deque[tuple[float, int]]] = {}
        self._totals = Counter[tuple[str, Limited]]()

    def spend(self, token: str, what: Limited, most: int, count: int = 1) -> None:
        """Count what is sent now with a token. most: its limit in a minute.

        Raises Problem, and counts nothing, for more: 429, which says when there is room for it, or 413 if one request
        exceeds the limit alone.
        """
        key = token, what
        with self._lock:
            now, sent = self._clock(), self._sent.setdefault(key, deque())
            while sent and sent[0][0] + 60 <= now:
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
            expiry = (begun + 60 for begun, size in sent for _ in range(size))  # of each item, the oldest first
            free = next(islice(expiry, excess - 1, None))
            seconds = math.ceil(free - now)
            seconds += now + seconds < free  # the difference is rounded
        if what == "requests":
            form = "With this token, %(most)s requests a minute are accepted; try again in %(seconds)s s"
        else:
            form = "With this token, %(most)s documents a minute are accepted; try again in %(seconds)s s"
        raise ask_later(429, Text(form, most=most, seconds=seconds), seconds)


@dataclass(frozen=True)
class Holder:
    """The holder of a token.

    name: for logs and reviews; "" for the one of --token, whose reviewers choose their names. requests, documents: how
    many may be sent in a minute; None: any number.
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

    def check(self, role: Role) -> None:
        """Raise Problem (403) unless the holder has the rights of a role."""
        if not self.may(role):
            raise Problem(403, Text("This needs a token with the role %(role)s", role=role))


EVERYBODY = Holder("", "admin", "")
"The holder of every request if no token is needed: all rights."


class Session(NamedTuple):
    """A browser that has logged in. id: random; reviewer: name; holder: of the token used to log in."""

    id: str
    reviewer: str
    holder: Holder


@dataclass(eq=False)
class Access:
    """The tokens that give access; without holders no token is needed.

    limits: counts what is sent with each token. file: of tokens, which is read again when it changes.
    """

    holders: tuple[Holder, ...] = ()
    limits: Limits = field(default_factory=Limits, repr=False)
    file: Path | None = None
    _content: bytes | None = field(default=None, repr=False)  # of the file when it was last read

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
        """Use the tokens of the file if it has changed. If they cannot be read, old ones stay, and the log says why."""
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
        """Note the holder of the current request, and count it. Raises Problem (429) for one too many in a minute."""
        request = get_current_request()
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
        """Return the holder of a token; `EVERYBODY` if none is needed; None for an unknown token.

        All tokens are compared, each in constant time: the time does not tell how near a guess is.
        """
        if self.is_open:
            return EVERYBODY
        holders = [holder for holder in self.holders if hmac.compare_digest(holder.token.encode(), token.encode())]
        return holders[0] if holders else None

    def has_named(self, name: str) -> bool:
        """Whether a token belongs to a holder of this name, or one that looks the same."""
        return bool(person_of(name)) and person_of(name) in {person_of(holder.name) for holder in self.holders}


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
            if any(person_of(holder.name) == person_of(other.name) or holder.token == other.token for other in holders):
                raise InputError("the name or the token is also in a line above", file, number)
            holders.append(holder)
    if not holders:
        raise InputError("holds no tokens; write TOKEN ROLE NAME, a line for each", file)
    return holders


def _fault(token: str) -> str:
    """Return what is wrong with a token; "" if nothing is."""
    if len(token) < SHORTEST_TOKEN:
        return f"has fewer than {SHORTEST_TOKEN} characters: it could be guessed"
    return "" if token.isascii() else "has characters beyond ASCII, which no header can carry safely"


def _holder(line: str, file: Path, number: int) -> Holder:
    """The holder in a line such as `TOKEN review requests=60 documents=1000 Ann Low`. Raises InputError."""
    token, role_name, rest = [*line.split(maxsplit=2), "", ""][:3]
    role = next((role for role in ROLES if role == role_name), None)
    limits = dict[str, int]()
    while limit := re.match(r"(requests|documents)=(\S*)\s*", rest):
        if not re.fullmatch("[1-9][0-9]{0,8}", limit[2]) or limit[1] in limits:
            raise InputError(f"expected {limit[1]}=NUMBER once, from 1 on, for how many a minute", file, number)
        limits[limit[1]], rest = int(limit[2]), rest[limit.end() :]
    name = " ".join(clean(rest).split())
    if role is None or not person_of(name):
        raise InputError(f"expected TOKEN ROLE NAME, the role one of {', '.join(ROLES)}", file, number)
    if problem := _fault(token):
        raise InputError(f"the token {problem}", file, number)
    if len(name) > LONGEST_NAME:
        raise InputError(f"the name has more than {LONGEST_NAME} characters", file, number)
    return Holder(name, role, token, **limits)


def network(address: str) -> str:
    """Return an address of IP version 4, or the network (/64) of one of version 6: it all belongs to one client."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket of another kind
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Address(int(parsed) >> 64 << 64))


def networks_of(proxies: str, user_header: str) -> list[Network]:
    """Return the networks of the proxies that may name a user in this header; none without a header.

    Raises ConfigError for invalid addresses, and for a header without proxies.
    """
    if not user_header:
        return []
    if not proxies:
        raise ConfigError(f"who may send {user_header}? name the addresses of the proxies, as --proxies 10.0.0.1")
    try:
        return [ipaddress.ip_network(address.strip()) for address in proxies.split(",")]
    except ValueError as error:
        raise ConfigError(f"--proxies: {error}; with --user-header, expected such as 10.0.0.1,::1") from None


def user_of(scope: Scope, header: str, proxies: Sequence[Network]) -> str:
    """Return the user whom a proxy names in a header; "" unless the connection comes from one of the proxies.

    Call it before `X-Forwarded-For` replaces the client of the scope. A header that comes twice is not believed: a
    proxy that adds its own may pass on that of a client.
    """
    if not proxies or not scope.get("client"):
        return ""
    try:
        address = ipaddress.ip_address(scope["client"][0])
    except ValueError:
        return ""
    peer = getattr(address, "ipv4_mapped", None) or address
    name, *others = Headers(scope=scope).getlist(header) or [""]
    if others or not any(peer in proxy for proxy in proxies):
        return ""
    with suppress(ValueError):  # Starlette reads headers as Latin-1, and proxies send them in UTF-8
        name = name.encode("latin-1").decode()
    return " ".join(clean(name).split())[:LONGEST_NAME]


def check_origin(request: Request) -> None:
    """Raise Problem (403) for a request from a page of another site, as the headers of the browser tell."""
    origin = request.headers.get("origin", "")
    elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if elsewhere or (origin and origin.partition("://")[2] != request.headers.get("host", "")):
        raise Problem(403, Text("The request comes from a page of another site"))
