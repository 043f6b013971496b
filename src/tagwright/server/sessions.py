"""Names of reviewers in, signed cookies and CSRF tokens out. Nothing is stored: the key alone tells what is genuine.

A cookie holds a random number, the name and a signature. A form holds a token that follows from the number: another
site can neither read the cookie nor guess the token.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
from typing import NamedTuple

from tagwright.server.access import EVERYBODY, Access, Holder
from tagwright.text.words import clean

COOKIE = "tagwright_session"


class Session(NamedTuple):
    """Who reviews, and whose token let them in."""

    id: str
    reviewer: str
    holder: Holder


class Sessions:
    """Signs with a key that follows from the holder's token: a restart ends no session, a changed token all of its own.

    Without tokens everybody may come in, and the signature proves nothing; the number alone keeps other sites out.
    """

    def __init__(self, access: Access) -> None:
        self._holders = access.holders or (EVERYBODY,)

    def issue(self, reviewer: str, holder: Holder) -> str:
        """The cookie of a new session."""
        content = json.dumps([secrets.token_urlsafe(16), reviewer]).encode()
        text = base64.urlsafe_b64encode(content).decode()
        return f"{text}.{_sign(holder, 'session', text)}"

    def read(self, cookie: str) -> Session | None:
        """The session of a cookie; None for one that was not issued here.

        >>> sessions = Sessions(Access.of("a long enough token"))
        >>> session = sessions.read(sessions.issue("Ann", sessions._holders[0]))
        >>> session.reviewer, session.holder.role, sessions.read("forged.0")
        ('Ann', 'admin', None)
        """
        text, _, signature = cookie.rpartition(".")
        signed = [each for each in self._holders if _is_same(_sign(each, "session", text), signature)]
        if not signed:
            return None
        try:
            id_, reviewer = json.loads(base64.urlsafe_b64decode(text.encode()))
        except (ValueError, TypeError, RecursionError):
            return None
        return Session(clean(str(id_)), clean(str(reviewer)), signed[0])

    def csrf(self, session: Session) -> str:
        """The token that forms of this session carry."""
        return _sign(session.holder, "csrf", session.id)

    def fits(self, session: Session, token: str) -> bool:
        """Whether a form with this token belongs to the session."""
        return _is_same(self.csrf(session), token)


def _sign(holder: Holder, purpose: str, text: str) -> str:
    key = hmac.digest(holder.token.encode(), b"tagwright sessions", "sha256")
    return hmac.new(key, f"{purpose} {text}".encode(), "sha256").hexdigest()


def _is_same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "replace"))
