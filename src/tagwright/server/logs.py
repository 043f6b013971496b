"""How the server writes its log: as text, or as a line of JSON for each message.

No message of an exception is written, since it may quote a document: its type and the lines of code say where it was.
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
from types import TracebackType
from typing import Any, TypeAlias

from tagwright.core.display import escaped
from tagwright.server import request_log
from tagwright.server.current_request import current
from tagwright.server.options import LogFormat

_log = logging.getLogger(__name__)


@contextmanager
def logged(form: LogFormat) -> Iterator[None]:
    """Write all messages to stderr, from warnings on; as JSON, also a line for each answered request."""
    handler, root, requests = logging.StreamHandler(), logging.getLogger(), logging.getLogger(request_log.__name__)
    handler.setFormatter(_Json() if form == "json" else _Text())
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
    """Return what tells whether it is time to say the same thing again: at first, and then once a minute."""
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

    Too many open files are said in one line, and seldom: a flood of connections fails by the thousand.
    """
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
        if _no_room():
            _log.error("no connection can be accepted (%s); raise the limit of open files", error.strerror)
        return
    _log.error("%s", context["message"], exc_info=error)


class _Text(logging.Formatter):
    """The message with the id of its request."""

    def format(self, record: logging.LogRecord) -> str:
        request, raised = current().id, f"\n{_traceback(record.exc_info)}" if record.exc_info else ""
        return escaped(record.getMessage()) + raised + (f" [request {request}]" if request else "")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "request": current().id,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = _traceback(record.exc_info)
        return json.dumps(entry)


_Raised: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def _traceback(raised: _Raised) -> str:
    """The lines of code and the types of an exception and of those before it, without their messages."""
    error, parts, seen = raised[1], list[str](), set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        lines = "".join(traceback.format_tb(error.__traceback__))
        parts.append(f"Traceback (most recent call last):\n{lines}{type(error).__module__}.{type(error).__qualname__}")
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(reversed(parts))
