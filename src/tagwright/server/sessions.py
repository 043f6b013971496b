"""Keep reviewers logged in, with signed cookies and CSRF tokens. No session is stored: cookies are signed.

A cookie holds a random number, the name and a signature. A form holds a token that follows from the number: another
site can neither read the cookie nor guess the token.
"""

import base64
import hmac
import json
import secrets
from typing import NamedTuple

from tagwright.server.access import EVERYBODY, Access, Holder
from tagwright.text.words import clean

COOKIE = "tagwright_session"


class Session(NamedTuple):
    """A reviewer, and the holder of the token used to log in."""

    id: str
    reviewer: str
    holder: Holder


class Sessions:
    """Sign and check cookies. secret: known to the server alone; sessions last as long as it stays the same.

    The key is made of the secret and the holder's token. Without the secret, a holder of a token cannot sign a cookie;
    when a token changes, its sessions end. A token with a name reviews under that name, whatever the cookie says.
    """

    def __init__(self, access: Access, secret: bytes) -> None:
        self.access, self._secret = access, secret

    def issue(self, reviewer: str, holder: Holder) -> str:
        """The cookie of a new session."""
        content = json.dumps([secrets.token_urlsafe(16), reviewer]).encode()
        text = base64.urlsafe_b64encode(content).decode()
        return f"{text}.{self._sign(holder, 'session', text)}"

    def read(self, cookie: str) -> Session | None:
        """Return the session of a cookie; None if it was not issued here, or if a token has its name by now.

        >>> sessions = Sessions(Access.of("a long enough token"), b"secret")
        >>> session = sessions.read(sessions.issue("Ann", sessions.access.holders[0]))
        >>> session.reviewer, session.holder.role, sessions.read("forged.0")
        ('Ann', 'admin', None)
        """
        text, _, signature = cookie.rpartition(".")
        holders = self.access.holders or (EVERYBODY,)
        holder = next((each for each in holders if _is_same(self._sign(each, "session", text), signature)), None)
        if holder is None:
            return None
        try:
            id_, reviewer = json.loads(base64.urlsafe_b64decode(text.encode()))
        except (ValueError, TypeError, RecursionError):
            return None
        reviewer = clean(str(reviewer))
        if not holder.name and self.access.has_named(reviewer):
            return None
        return Session(clean(str(id_)), holder.name or reviewer, holder)

    def csrf(self, session: Session) -> str:
        """The token that forms of this session carry."""
        return self._sign(session.holder, "csrf", session.id)

    def fits(self, session: Session, token: str) -> bool:
        """Whether a form with this token belongs to the session."""
        return _is_same(self.csrf(session), token)

    def _sign(self, holder: Holder, purpose: str, text: str) -> str:
        key = hmac.digest(self._secret, holder.token.encode(), "sha256")
        return hmac.digest(key, f"{purpose} {text}".encode(), "sha256").hex()


def _is_same(right: str, given: str) -> bool:
    return hmac.compare_digest(right.encode(), given.encode("utf-8", "replace"))
