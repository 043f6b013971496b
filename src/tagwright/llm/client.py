"""Send requests to a language model side by side, within a budget, and keep the answers in the cache.

Nothing is sent but to the address in $TAGWRIGHT_LLM, with the key in $TAGWRIGHT_LLM_KEY; redirects and proxies are not
followed. No message or log holds text of a request or an answer.
"""

import functools
import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tagwright.core.cache import user_cache
from tagwright.core.checked import build
from tagwright.core.extras import require
from tagwright.core.progress import bar, note
from tagwright.encoders.cache import keeps_documents
from tagwright.errors import ConfigError
from tagwright.llm.options import LlmOptions

ADDRESS, KEY = "TAGWRIGHT_LLM", "TAGWRIGHT_LLM_KEY"
"The variables that hold the address of the server and the key to it."

KIND = "language model"
"What answers are in the cache."

LARGEST = 1 << 20
"Bytes of an answer."

MANY = 20
"From this many calls on, their cost is predicted and shown."

FAILURES, PAUSE = 5, 60.0
"After this many failures one after the other, no call is made for so many seconds."

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A question to the model. content: plain JSON, the user's message. schema: of the answer, in JSON Schema.

    questions: by their ids, for a decision model, which answers each by the probability of yes; the content is then
    what it decides about, and there are no instructions and no schema.
    """

    instructions: str
    content: Mapping[str, Any]
    schema: Mapping[str, Any]
    questions: Mapping[str, str] = field(default_factory=dict)


class NoAnswerError(Exception):
    """A call without an answer.

    again: whether it may help to make it once more. server: whether the next call will probably fail too.
    """

    def __init__(self, why: str, *, again: bool = False, server: bool = False) -> None:
        super().__init__(why)
        self.again, self.server = again, server or again


class Client:
    """A language model at an address. Threads may share it; all of them together make `parallel` calls at a time.

    key: sent as a bearer token. delay: seconds before a call is repeated the first time. calls: made so far. Raises
    ConfigError for an address that is not of HTTP.
    """

    def __init__(self, address: str, key: str, options: LlmOptions, delay: float = 1.0) -> None:
        require("a language model", "httpx")
        self.options, self._delay, self.calls = options, delay, 0
        self._failures, self._silent = 0, 0.0  # failures one after the other; no call before this time
        self._address, self._key = _check_address(address), key
        self._lock, self._slots = threading.Lock(), threading.BoundedSemaphore(options.parallel)

    def ask(self, requests: Sequence[Request], check: Callable[[str, int], T | None], without: str) -> list[T | None]:
        """Return `check` of each answer, by its text and the place of the request; None without a valid answer.

        check: None for an answer that cannot be used. without: what happens to a request then, for the warning.
        """
        keys = [self._key_of(request) for request in requests]
        places = {key: place for place, key in reversed([*enumerate(keys)])}  # each request once
        answers = {key: check(text, places[key]) for key, text in self._known(set(keys)).items()}
        wanted = sorted(place for key, place in places.items() if answers.get(key) is None)
        failures = dict[str, int]()

        def call(place: int) -> None:
            try:
                text = self._call(requests[place])
            except NoAnswerError as error:
                with self._lock:
                    failures[str(error)] = failures.get(str(error), 0) + keys.count(keys[place])
                return
            answers[keys[place]] = answer = check(text, place)
            if keeps_documents() and answer is not None:  # one that cannot be used is asked for again
                user_cache().put(KIND, {keys[place]: text.encode()})

        self._run(call, wanted)
        replies = [answers.get(key) for key in keys]
        if invalid := len(requests) - sum(failures.values()) - sum(reply is not None for reply in replies):
            failures["no valid answer"] = invalid
        if failures:
            why, count = "; ".join(sorted(failures)), f"{sum(failures.values()):,} of {len(requests):,}"
            _log.warning("the language model answered nothing for %s, which %s (%s)", count, without, why)
        return replies

    def _run(self, call: Callable[[int], None], places: Sequence[int]) -> None:
        """Make the calls side by side, and show what they cost. The first of many is made alone, to see how long."""
        before, started, side_by_side = self.calls, time.monotonic(), self.options.parallel
        if many := len(places) >= MANY:
            call(places[0])
            seconds = (time.monotonic() - started) * len(places) / side_by_side
            note(f"language model: {len(places):,} calls, about {seconds:.0f} s with {side_by_side} at a time")
        rest, pool = places[many:], ThreadPoolExecutor(side_by_side)
        try:
            with bar("language model", len(rest)) as done:
                for _ in pool.map(call, rest):
                    done(1)
        finally:
            pool.shutdown(cancel_futures=True)
        if many:
            note(f"language model: {self.calls - before:,} calls, {time.monotonic() - started:.0f} s")

    def _call(self, request: Request) -> str:
        """The text of the answer. Raises NoAnswerError after all attempts, and where the budget is used up."""
        attempt = 0
        while True:
            with self._slots:
                self._count_call()
                failed = False
                try:
                    return self._post(request)
                except NoAnswerError as error:
                    failed = error.server
                    if not error.again or attempt == self.options.retries:
                        raise
                finally:
                    self._count_failure(failed=failed)
            time.sleep(self._delay * 2**attempt)
            attempt += 1

    def _count_call(self) -> None:
        """Count a call before it is made, so that calls side by side stay within the budget. Raises NoAnswerError."""
        with self._lock:
            if self.options.calls is not None and self.calls >= self.options.calls:
                raise NoAnswerError(f"the budget of calls is used up: llm.calls={self.options.calls}")
            if time.monotonic() < self._silent:
                raise NoAnswerError("the server failed repeatedly")
            self.calls += 1

    def _count_failure(self, *, failed: bool) -> None:
        with self._lock:
            self._failures = self._failures + 1 if failed else 0
            if self._failures >= FAILURES:
                self._failures, self._silent = 0, time.monotonic() + PAUSE

    def _post(self, request: Request) -> str:
        """One call, see `_read_answer`. Raises NoAnswerError.

        What the server says of an error is not shown: it may repeat the document.
        """
        import httpx

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        headers |= {"Content-Type": "application/json", "Accept-Encoding": "identity"}  # what is packed may be large
        until, body = time.monotonic() + self.options.timeout, bytearray()
        path = "systemone" if request.questions else "chat/completions"
        try:
            with self._http.stream(
                "POST", f"{self._address}/{path}", content=self._body(request), headers=headers
            ) as response:
                if response.status_code != httpx.codes.OK:
                    status = response.status_code
                    again = status in (408, 429) or status >= 500
                    server = status not in (400, 413, 422)  # too long or not understood: another request may be
                    raise NoAnswerError(f"{self._address} answered {status}", again=again, server=server)
                for part in response.iter_raw():
                    body += part
                    if len(body) > LARGEST:
                        raise NoAnswerError(f"an answer is larger than {LARGEST:,} bytes")
                    if time.monotonic() > until:
                        raise NoAnswerError(f"no answer within {self.options.timeout:g} s", again=True)
        except httpx.TimeoutException:
            raise NoAnswerError(f"no answer within {self.options.timeout:g} s", again=True) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NoAnswerError(f"{self._address}: {type(error).__name__}", again=True) from None
        return _read_answer(body, decides=bool(request.questions))

    @functools.cached_property
    def _http(self) -> Any:
        import httpx

        return httpx.Client(timeout=self.options.timeout, follow_redirects=False, trust_env=False)

    def _body(self, request: Request) -> bytes:
        options = self.options
        if request.questions:
            questions = {id_: {"type": "noul", "instructions": text} for id_, text in request.questions.items()}
            return json.dumps({"model": options.model, "state": request.content, "questions": questions}).encode()
        if options.response == "systemone":
            raise ConfigError("a decision model (llm.response=systemone) writes no texts; name another model for them")
        formats: dict[str, dict[str, Any]] = {
            "json_schema": {"json_schema": {"name": "answer", "strict": True, "schema": request.schema}},
            "json_object": {"schema": request.schema},
        }
        # as JSON, no text in the user's message can end where it is not to end
        said = {"system": request.instructions, "user": json.dumps(request.content, ensure_ascii=False)}
        body = {
            **options.parameters,
            "model": options.model,
            "messages": [{"role": role, "content": content} for role, content in said.items()],
            "max_tokens": options.answer,
            "response_format": {"type": options.response, **formats[options.response]},
        }
        return json.dumps(body).encode()

    def _key_of(self, request: Request) -> bytes:
        """The key of an answer in the cache: all that is sent, but neither the address nor the key to it."""
        return hashlib.blake2b(self._body(request), digest_size=16).digest()

    def _known(self, keys: set[bytes]) -> dict[bytes, str]:
        cached = user_cache().get(KIND, keys) if keeps_documents() else {}
        return {key: text.decode() for key, text in cached.items()}


def client(options: LlmOptions) -> Client:
    """The client for these options in this process, with the budget used so far. Raises ConfigError without address."""
    address = os.environ.get(ADDRESS, "").strip()
    if not address:
        raise ConfigError(
            f'the language model "{options.model}" has no address; set {ADDRESS} to that of its server, such as '
            "http://127.0.0.1:8080/v1"
        )
    key = os.environ.get(KEY, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{KEY} holds characters that no key has; expected letters, digits and signs in one line")
    with _MAKING:  # one budget for all threads
        return _share_client(address, key, json.dumps(asdict(options)))


def ask_if_possible(
    options: LlmOptions, requests: Sequence[Request], check: Callable[[str, int], T | None], without: str
) -> list[T | None]:
    """`Client.ask`; no answers and one warning without an address, since a saved tagger must work there too."""
    try:
        asking = client(options)
    except ConfigError as error:
        _warn_once(str(error))
        return [None] * len(requests)
    return asking.ask(requests, check, without)


@functools.cache
def _warn_once(problem: str) -> None:
    _log.warning("%s; documents are tagged without it", problem)


_MAKING = threading.Lock()


@functools.cache
def _share_client(address: str, key: str, options: str) -> Client:
    return Client(address, key, build(LlmOptions, json.loads(options)))


def _check_address(address: str) -> str:
    """The address without its last slash. Raises ConfigError, which does not show a password in it."""
    try:
        parts = urlsplit(address)
        good = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        good = good and parts.username is None and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"{ADDRESS} is no address of a server; expected one such as http://127.0.0.1:8080/v1")
    return address.rstrip("/")


def _read_answer(body: bytearray, *, decides: bool) -> str:
    """The text of a chat completion, empty for a refusal; or the answers of a decision model, as JSON.

    Raises NoAnswerError for anything else.
    """
    try:
        answer = json.loads(body)
        if decides:
            return json.dumps(answer["answers"])
        text: str = answer["choices"][0]["message"]["content"] or ""
        return text.encode("utf-8", "replace").decode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        problem = "an answer holds no decisions" if decides else "an answer is no chat completion"
        raise NoAnswerError(problem) from None
