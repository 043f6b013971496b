"""Requests to every address of the server, whole or damaged, as the bytes that go over the wire."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MULTIPART = "multipart/form-data; boundary=limit"


class Request(NamedTuple):
    """method, target, headers and body, as they are meant to be."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    def wire(self, close: bool = False) -> bytes:
        """The request as it is sent, with the length of its body."""
        length = (("Content-Length", str(len(self.body))),) if self.body or self.method == "POST" else ()
        given = (("Host", "127.0.0.1"), *self.headers, *length, *((("Connection", "close"),) if close else ()))
        lines = [f"{self.method} {self.target} HTTP/1.1", *(f"{name}: {value}" for name, value in given), "", ""]
        return "\r\n".join(lines).encode("utf-8", "replace") + self.body


def samples(project: str, label: str, cookie: str = "", csrf: str = "") -> list[Request]:
    """A good request to each address. cookie, csrf: of a reviewer, for the pages of the review."""
    base, page = f"/v1/projects/{project}", "/review/documents/1"
    entered = (("Cookie", cookie),) if cookie else ()
    documents = [{"text": "Honey bees", "document_id": "1", "metadata": {"a": "b"}}, {"text": "Tax law"}]
    learnt = [{"text": "Honey bees", "document_id": "1", "subjects": [{"uri": label, "label": "Bees"}]}]
    suggest = {"title": "Bees", "text": "Honey", "limit": 3, "threshold": 0.1, "within": [label], "exclude": ["x"],
               "evidence": True, "sections": [{"heading": "Wings", "level": 1, "paragraphs": ["Four."]}]}  # fmt: skip
    form = {"csrf": csrf, "action": "accept", "label": label}
    return [
        *(Request("GET", target) for target in ("/v1/", "/v1/projects", "/v1/vocabs", base, "/health", "/metrics")),
        Request("POST", f"{base}/suggest", (("Content-Type", FORM),), b"text=Honey+bee&limit=3&threshold=.1&language="),
        Request("POST", f"{base}/suggest", (("Content-Type", MULTIPART),), part("text", "Honey bees")),
        _json(f"{base}/suggest-batch?limit=2&threshold=0.1&language=en", {"documents": documents}),
        _json(f"{base}/learn", learnt),
        _json("/v1/detect-language", {"text": "The quick brown fox", "languages": ["en", "fi"]}),
        Request("GET", "/api/models"),
        Request("GET", "/api/openapi.json"),
        Request("GET", "/api/labels?q=bee&limit=3"),
        _json("/api/suggest", suggest),
        _json("/api/suggest", {"abstract": "Honey", "branch": label}),
        Request("POST", "/api/files?limit=3", (("Content-Type", MULTIPART),), part("file", "Bees fly.", "a.unknown")),
        Request("GET", "/review", entered),
        Request("GET", "/review/enter"),
        _form("/review/enter", {"name": "Ann", "token": "wrong"}),
        *(Request("GET", f"/review/{place}", entered) for place in ("overview", "differences")),
        Request("GET", f"{page}?q=bee", entered),
        Request("GET", f"{page}/labels?q=bee", entered),
        _form(page, form, entered),
        *(_form(page, {"csrf": csrf, "action": each}, entered) for each in ("undo", "skip", "done")),
        _form(page, {"csrf": csrf, "action": "note", "note": "Which?"}, entered),
        Request(
            "POST", "/review/upload", (("Content-Type", MULTIPART), *entered),
            part("csrf", csrf, end=b"") + part("files", "Bees fly.", "a.unknown"),
        ),
        _form("/review/refit", {"csrf": "wrong"}, entered),
        Request("GET", "/static/review.js"),
        Request("OPTIONS", f"{base}/suggest", (("Origin", "http://x.org"), ("Access-Control-Request-Method", "POST"))),
    ]  # fmt: skip


def damaged(request: Request, others: Sequence[Request], rng: random.Random) -> tuple[bytes, bool]:
    """The request with one to three things wrong, and whether it is one whole request all the same."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        request = rng.choice(_DAMAGES)(request, rng.choice(others), rng)
    sent = request.wire(close=True)
    if rng.random() < 0.9:
        return sent, True
    return rng.choice((_cut, _noisy, _chunked_badly, _twice))(sent, rng), False


def part(name: str, value: str, file: str = "", end: bytes = b"--limit--\r\n") -> bytes:
    """A part of a multipart form."""
    named = f'; filename="{file}"' if file else ""
    head = f'--limit\r\nContent-Disposition: form-data; name="{name}"{named}\r\n\r\n{value}\r\n'
    return head.encode() + end


def _json(target: str, content: object) -> Request:
    return Request("POST", target, (("Content-Type", JSON),), json.dumps(content).encode())


def _form(target: str, fields: dict[str, str], headers: tuple[tuple[str, str], ...] = ()) -> Request:
    return Request("POST", target, (("Content-Type", FORM), *headers), urlencode(fields).encode())


TOKENS = (
    *(b"null", b"true", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 400, b"0.1e-400", b"[]", b"{}", b'""'),
    *(b"[" * 5000, b'{"a":' * 3000, b'"\\ud800"', b"\xff\xfe", b"\x00", b"\xed\xa0\x80", b"\xe2\x80\xae", b"\n"),
    *(b"%", b"%00", b"%zz", b"&" * 500, b"=" * 500, b"+" * 5000, b"--limit", b"--limit--", b"\r\n\r\n", b'"', b"\\"),
    *(b"<script>alert(1)</script>", b"{{7*7}}", b"' OR 1=1 --", b"../../etc/passwd", b"*", b"(", b"NEAR("),
    *(b"\xf0\x9f\x90\x9d" * 300, b"a" * 30_000, b"text", b"limit", b"documents", b"subjects", b"uri", b"languages"),
    *(b"within", b"sections", b"paragraphs", b"label"),
)
TARGETS = (
    *("%2e%2e", "..", "%00", "//", "é", "#", "?", "/", "%2f", "/0", "/-1", "x" * 5000, "?limit=-1", "?q=%ff"),
    *("?q=" + "a" * 5000, "?limit=99999999999999999999", "?threshold=nan", "?language=zz", "?q=%22", "?q=*"),
    "?q=%F0%9F%90%9D",
)
HEADERS = (
    *(("Origin", "http://evil.org"), ("Sec-Fetch-Site", "cross-site"), ("Expect", "100-continue")),
    *(("Cookie", "tagwright_session=" + "a" * 3000), ("Cookie", "tagwright_session=W10=.0"), ("Range", "bytes=0-")),
    *(("Authorization", "Bearer "), ("Authorization", "Basic YTpi"), ("X-Forwarded-For", "127.0.0.1")),
    *(("Transfer-Encoding", "gzip"), ("Content-Encoding", "gzip"), ("Content-Length", "-1"), ("Host", "evil.org")),
    *(("Upgrade", "websocket"), ("Connection", "upgrade"), ("X-Long", "a" * 20_000), ("Accept", "*/*;q=x")),
    ("Content-Type", "multipart/form-data"),
)
TYPES = (
    *(FORM, JSON, MULTIPART, "multipart/form-data; boundary=", "text/plain", "", "application/json; charset=utf-7"),
    "é",
)
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", "X" * 300)

Damage = Callable[[Request, Request, random.Random], Request]


def _body_bytes(request: Request, other: Request, rng: random.Random) -> Request:
    """Pieces are removed, doubled, overwritten, or taken from another body."""
    content = bytearray(request.body)
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    piece = rng.choice((b"", content[start:end] * 2, bytes([rng.randrange(256)]), other.body[start:end]))
    content[start : rng.choice((start, end, start + 1))] = piece
    return request._replace(body=bytes(content))


def _body_token(request: Request, _: Request, rng: random.Random) -> Request:
    content = bytearray(request.body)
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    content[start : rng.choice((start, end))] = rng.choice(TOKENS)
    return request._replace(body=bytes(content))


def _target(request: Request, _: Request, rng: random.Random) -> Request:
    places = [place for place, sign in enumerate(request.target) if sign in "/?=&"] + [len(request.target)]
    place, token = rng.choice(places), rng.choice((*TARGETS, quote(rng.choice(TOKENS)[:2000])))
    return request._replace(target=request.target[:place] + token + request.target[place:])


def _headers(request: Request, _: Request, rng: random.Random) -> Request:
    return request._replace(headers=(*request.headers, rng.choice(HEADERS)))


def _type(request: Request, _: Request, rng: random.Random) -> Request:
    kept = tuple((name, value) for name, value in request.headers if name != "Content-Type")
    return request._replace(headers=(*kept, ("Content-Type", rng.choice(TYPES))))


def _method(request: Request, _: Request, rng: random.Random) -> Request:
    return request._replace(method=rng.choice(METHODS))


def _swapped(request: Request, other: Request, _: random.Random) -> Request:
    return request._replace(target=other.target, method=other.method)


_DAMAGES: Sequence[Damage] = (_body_bytes, _body_bytes, _body_token, _body_token, _target, _headers, _type, _method,
                              _swapped)  # fmt: skip


def _cut(sent: bytes, rng: random.Random) -> bytes:
    return sent[: rng.randrange(len(sent))]


def _noisy(sent: bytes, rng: random.Random) -> bytes:
    content = bytearray(sent)
    for _ in range(rng.choice((1, 3, 10))):
        content[rng.randrange(min(len(content), 200))] = rng.randrange(256)
    return bytes(content)


def _chunked_badly(sent: bytes, rng: random.Random) -> bytes:
    head, _, body = sent.partition(b"\r\n\r\n")
    lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length")]
    size = rng.choice((b"%x" % len(body), b"%x" % (len(body) + 5), b"-1", b"zz", b"ffffffffffffffff", b""))
    end = rng.choice((b"\r\n0\r\n\r\n", b"\r\n0\r\n", b"", b"\r\nzz\r\n\r\n"))
    return b"\r\n".join([*lines, b"Transfer-Encoding: chunked", b"", size + b"\r\n" + body]) + end


def _twice(sent: bytes, rng: random.Random) -> bytes:
    """Two requests on one connection, the second before the answer to the first."""
    return sent.replace(b"Connection: close\r\n", b"") + rng.choice((sent, sent[: len(sent) // 2]))
