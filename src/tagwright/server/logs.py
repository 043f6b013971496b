"""How the server writes its log: as text, or as a line of JSON for each message.

The message of an exception is not written, since it may quote a document. Its type and the lines of code are.
"""

import asyncio
import errno
import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from tagwright.core.display import escaped
from tagwright.server import request_log
from tagwright.server.current_request import current
from tagwright.server.options import LogFormat

_log = logging.getLogger(__name__)


@contextmanager
def logged(form: LogFormat) -> Iterator[None]:
    """Write all messages to stderr, from warnings on; as JSON, also a line for each answered request."""
    handler, root, requests = logging.StreamHandler(), logging.getLogger(), logging.getLogger(request_log.__name__)
    handler.setFormatter(_Formatter(form))
    level = requests.level
    requests.setLevel(logging.INFO if form == "json" else logging.WARNING)
    logging.captureWarnings(True)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        logging.captureWarnings(False)
        requests.setLevel(level)


def once_a_minute(clock: Callable[[], float] = time.monotonic) -> Callable[[], bool]:
    """Return a function that is true at its first call, and then at most once a minute: for warnings that recur.

    clock: seconds, which only grow.
    """
    due = clock()

    def is_due() -> bool:
        nonlocal due
        if (now := clock()) < due:
            return False
        due = now + 60
        return True

    return is_due


_no_room = once_a_minute()


def log_failures(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log a failure that no request waits for; asyncio itself would write the message of its exception.

    A lack of open files or memory is one line, once a minute: in a flood, connections fail by the thousand.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        if _no_room():
            _log.error("no connection can be accepted (%s); raise the limit of open files", error.strerror)
        return
    _log.error("%s", context["message"], exc_info=error)


class _Formatter(logging.Formatter):
    """Write a message with the id of its request, as a line of text or of JSON."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        message, request = record.getMessage(), current().id
        failure = _traceback(record.exc_info[1]) if record.exc_info else ""
        if self._form == "text":
            return escaped(message) + (f"\n{failure}" if failure else "") + (f" [request {request}]" if request else "")
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "request": request,
            "message": message,
            **getattr(record, "fields", {}),
        }
        return json.dumps({**entry, **({"exception": failure} if failure else {})})


def _traceback(error: BaseException | None) -> str:
    """Return the lines of code and the types of an exception and of its causes, first ones first, without messages."""
    parts, seen = list[str](), set[int]()
    while error is not None and id(error) not in seen:  # causes may form a circle
        seen.add(id(error))
        lines = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{lines}{type(error).__module__}.{type(error).__qualname__}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(parts))
