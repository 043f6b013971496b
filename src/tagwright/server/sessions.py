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

COOKIE = "tagwright_session"
LONGEST_NAME = 60


class Session(NamedTuple):
    """Who reviews."""

    id: str
    reviewer: str


class Sessions:
    """Signs with a key that follows from the access token, so that a restart ends no session and a new token all.

    Without an access token everybody may come in, and the signature proves nothing; the number alone keeps other
    sites out.
    """

    def __init__(self, token: str | None) -> None:
        self._key = hmac.digest((token or "").encode(), b"tagwright sessions", "sha256")

    def issue(self, reviewer: str) -> str:
        """The cookie of a new session."""
        content = json.dumps([secrets.token_urlsafe(16), reviewer]).encode()
        text = base64.urlsafe_b64encode(content).decode()
        return f"{text}.{self._sign('session', text)}"

    def read(self, cookie: str) -> Session | None:
        """The session of a cookie; None for one that was not issued here.

        >>> sessions = Sessions("a long enough token")
        >>> sessions.read(sessions.issue("Ann")).reviewer, sessions.read("forged.0")
        ('Ann', None)
        """
        text, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign("session", text).encode(), signature.encode()):
            return None
        try:
            id_, reviewer = json.loads(base64.urlsafe_b64decode(text.encode()))
        except ValueError:
            return None
        return Session(str(id_), str(reviewer))

    def csrf(self, session: Session) -> str:
        """The token that forms of this session carry."""
        return self._sign("csrf", session.id)

    def fits(self, session: Session, token: str) -> bool:
        """Whether a form with this token belongs to the session."""
        return hmac.compare_digest(self.csrf(session).encode(), token.encode())

    def _sign(self, purpose: str, text: str) -> str:
        return hmac.new(self._key, f"{purpose} {text}".encode(), "sha256").hexdigest()
