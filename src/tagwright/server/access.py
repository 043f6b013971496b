"""Check access tokens: read them from a file, map them to holders and roles, and limit what each may send."""

import asyncio
import hmac
import ipaddress
import logging
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, Self, TypeAlias, get_args

from starlette.requests import Request
from starlette.types import Scope

from tagwright.errors import ConfigError, InputError
from tagwright.server.current_request import Limited, current
from tagwright.server.limits import Limits
from tagwright.server.problems import Problem
from tagwright.text.words import clean

_log = logging.getLogger(__name__)

REREAD_SECONDS = 0.5
"How often it is looked whether the file of tokens has changed."

MOST = 10
"Wrong tokens of one address within a minute."

ADDRESSES = 10_000
"Addresses that are remembered; of more, those whose first wrong token is oldest are forgotten."


class WrongTokens:
    """Count wrong tokens by address, over `seconds` from the first one. A network of IPv6 (/64) is one address."""

    def __init__(
        self,
        most: int = MOST,
        seconds: float = 60.0,
        addresses: int = ADDRESSES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._seconds, self._addresses, self._clock = most, seconds, addresses, clock
        self._counted: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._counted)

    def add(self, address: str) -> None:
        """Count a wrong token."""
        key, now = network(address), self._clock()
        begun, count = self._counted.get(key, (now, 0))
        if now >= begun + self._seconds:
            begun, count = now, 0
        if not count:
            self._counted.pop(key, None)  # so that the dictionary is in the order of the first wrong tokens
            if len(self._counted) >= self._addresses:
                del self._counted[next(iter(self._counted))]
        self._counted[key] = begun, count + 1

    def wait(self, address: str) -> int:
        """Seconds for which no token of this address is to be tried."""
        begun, count = self._counted.get(network(address), (0.0, 0))
        left = begun + self._seconds - self._clock()
        return max(0, math.ceil(left)) if count >= self._most else 0


def network(address: str) -> str:
    """Return the address, or its network for version 6, whose addresses all belong to one client."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:  # a socket of another kind
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    return str(parsed.ipv4_mapped or ipaddress.IPv6Address(int(parsed) >> 64 << 64))


Role: TypeAlias = Literal["suggest", "review", "admin"]
"Each may do what those before it may: ask for suggestions; review and add documents; train the model."

ROLES: tuple[Role, ...] = get_args(Role)

_LIMIT = re.compile(r"(requests|documents)=(\S*)\s*")

SHORTEST_TOKEN = 16
LONGEST_NAME = 60


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


@dataclass(eq=False)
class Access:
    """The tokens that give access; without holders no token is needed.

    wrong: counts wrong tokens. limits: counts what was sent with each. file: of the tokens, which is read again when it
    changes, and its content when it was last read.
    """

    holders: tuple[Holder, ...] = ()
    wrong: WrongTokens = field(default_factory=WrongTokens, repr=False)
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
        """Look again and again whether the file has changed, until cancelled."""
        while self.file is not None:
            await asyncio.sleep(REREAD_SECONDS)
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

    def holder(self, token: str, address: str) -> Holder | None:
        """Return the holder of a token. Tokens are compared in constant time.

        address: of the client. Raises Problem (429) after too many wrong tokens from it, even for a right token:
        otherwise an attacker could go on guessing and recognise the right one.
        """
        if self.is_open:
            return EVERYBODY
        if not token:
            return None
        if seconds := self.wrong.wait(address):
            detail = f"Too many wrong tokens; try again in {seconds} s"
            raise Problem(429, detail, headers={"Retry-After": str(seconds)})
        found = [each for each in self.holders if hmac.compare_digest(each.token.encode(), token.encode())]
        if not found:
            self.wrong.add(address)
        return next(iter(found), None)

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
    found = list[Holder]()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            holder = _holder(line, file, number)
            if any(holder.name == other.name or holder.token == other.token for other in found):
                raise InputError("the name or the token is also in a line above", file, number)
            found.append(holder)
    if not found:
        raise InputError("holds no tokens; write TOKEN ROLE NAME, a line for each", file)
    return found


def _fault(token: str) -> str:
    """Return the error of a token, or ''."""
    if len(token) < SHORTEST_TOKEN:
        return f"has fewer than {SHORTEST_TOKEN} characters: it could be guessed"
    return "" if token.isascii() else "has characters beyond ASCII, which no header can carry safely"


def _holder(line: str, file: Path, number: int) -> Holder:
    token, given, rest = [*line.split(maxsplit=2), "", ""][:3]
    role = next((role for role in ROLES if role == given), None)
    limits = dict[str, int]()
    while limit := _LIMIT.match(rest):
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


def address_of(scope: Scope) -> str:
    """Return the address of the client."""
    return scope["client"][0] if scope.get("client") else ""


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
        raise Problem(403, "The request comes from a page of another site")
