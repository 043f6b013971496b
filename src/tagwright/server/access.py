"""Check access tokens and sessions: who holds them, and which role they give.

Against guessing stand tokens of at least 16 characters, which are compared in constant time. No session is stored: a
cookie holds a random number, the name and a signature.
"""

import hmac
import secrets
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Literal, NamedTuple, Self, TypeAlias, get_args

from itsdangerous import BadData, URLSafeTimedSerializer
from starlette.requests import Request

from tagwright.errors import ConfigError, InputError
from tagwright.review.events import person_of
from tagwright.server.languages import Text
from tagwright.server.problems import Problem
from tagwright.text.words import clean

Role: TypeAlias = Literal["suggest", "review", "admin"]
"Each may do what those before it may: ask for suggestions; review and add documents; train the model."

ROLES: tuple[Role, ...] = get_args(Role)

SECONDS = 7 * 24 * 3600
"How long a session lasts."

SHORTEST_TOKEN = 16
LONGEST_NAME = 60


@dataclass(frozen=True)
class Holder:
    """The holder of a token.

    name: for logs and reviews; "" for the one of --token, whose reviewers choose their names.
    """

    name: str
    role: Role
    token: str = field(repr=False)  # no secret in a log

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
    """A browser that has logged in. csrf: random, in each form; reviewer: name; holder: of the token used to log in."""

    csrf: str
    reviewer: str
    holder: Holder


@dataclass(frozen=True)
class Access:
    """The tokens that give access; without holders no token is needed.

    secret: known to the server alone, signs cookies; sessions last as long as it stays the same. The key is made of it
    and the holder's token: without the secret, no holder can sign a cookie, and when a token changes, its sessions end.
    """

    holders: tuple[Holder, ...] = ()
    secret: bytes = field(default_factory=partial(secrets.token_bytes, 32), repr=False)

    @classmethod
    def of(cls, token: str | None = None, file: Path | None = None) -> Self:
        """Accept one token with all rights, the tokens of a file, or both.

        Raises ConfigError for the token, InputError for the file.
        """
        if token is not None and (problem := _fault(token)):
            raise ConfigError(f"the token {problem}")
        alone = [Holder("", "admin", token)] if token else ()
        return cls((*(read_tokens(file) if file else ()), *alone))

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

    def _signer(self, holder: Holder) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.secret, f"session {holder.token}", signer_kwargs={"digest_method": sha256})

    def issue(self, reviewer: str, holder: Holder) -> str:
        """Return the cookie of a new session."""
        return str(self._signer(holder).dumps([secrets.token_hex(16), reviewer]))

    def session(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None for one not issued here, or under the name of another token's holder.

        A token with a name reviews under that name, whatever the cookie says.

        >>> access = Access.of("a long enough token")
        >>> session = access.session(access.issue("Ann", access.holders[0]))
        >>> session.reviewer, session.holder.role, access.session("forged.0")
        ('Ann', 'admin', None)
        """
        for holder in self.holders or (EVERYBODY,):
            with suppress(BadData):
                csrf, reviewer = self._signer(holder).loads(cookie, max_age=SECONDS)
                if not holder.name and self.has_named(reviewer):
                    return None
                return Session(csrf, holder.name or reviewer, holder)
        return None

    def has_named(self, name: str) -> bool:
        """Whether a token belongs to a holder of this name, or one that looks the same."""
        return bool(person_of(name)) and person_of(name) in {person_of(holder.name) for holder in self.holders}


OPEN = Access()
"No token is needed."


def read_tokens(file: Path) -> list[Holder]:
    """The tokens of a file, `TOKEN ROLE NAME` a line; # begins a comment.

    Raises InputError, which names the line and never shows what it holds.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise InputError("the tokens cannot be read: expected a file in UTF-8", file) from None
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
    """The holder in a line such as `TOKEN review Ann Low`. Raises InputError."""
    token, role_name, rest = [*line.split(maxsplit=2), "", ""][:3]
    role = next((role for role in ROLES if role == role_name), None)
    name = " ".join(clean(rest).split())
    if role is None or not person_of(name) or len(name) > LONGEST_NAME:
        form = f"TOKEN ROLE NAME, the role one of {', '.join(ROLES)}, the name of at most {LONGEST_NAME} characters"
        raise InputError(f"expected {form}", file, number)
    if problem := _fault(token):
        raise InputError(f"the token {problem}", file, number)
    return Holder(name, role, token)


def check_origin(request: Request) -> None:
    """Raise Problem (403) for a request from a page of another site, as the headers of the browser tell."""
    origin = request.headers.get("origin", "")
    elsewhere = request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")
    if elsewhere or (origin and origin.partition("://")[2] != request.headers.get("host", "")):
        raise Problem(403, Text("The request comes from a page of another site"))
