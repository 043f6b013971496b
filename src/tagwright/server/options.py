"""The options of a server, as `tagwright serve` declares them."""

import ipaddress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from tagwright.core.extras import require
from tagwright.errors import ConfigError
from tagwright.review import Order
from tagwright.review.blind import SHARE
from tagwright.review.recall import RANDOM_SHARE, SUGGESTIONS

if TYPE_CHECKING:  # the command line starts without a web server
    from tagwright.server.access import Access

LogFormat: TypeAlias = Literal["text", "json"]

Word: TypeAlias = Literal["label", "subject"]


@dataclass(frozen=True, kw_only=True)
class Listening:
    """Where a server listens, and whom it answers. Raises ConfigError where everybody could reach it unasked."""

    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 8765
    token: Annotated[
        str | None, typer.Option(envvar="TAGWRIGHT_TOKEN", help="Token that clients send: Authorization: Bearer TOKEN.")
    ] = field(default=None, repr=False)  # no secret in a log
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with lines of TOKEN ROLE NAME; roles: suggest, review, admin."),
    ] = None
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept requests from other machines without a token.")
    ] = False

    def __post_init__(self) -> None:
        require("serve", "fastapi", "uvicorn", "jinja2", "itsdangerous", "prometheus_client", "python_multipart")
        if self.access.is_open and not self.insecure and not _is_own(self.host):
            raise ConfigError(
                f"{self.host} can be reached by other machines: give a --token or --tokens FILE, or --insecure if that "
                "is meant"
            )

    @cached_property
    def access(self) -> "Access":
        """The tokens that clients need. Raises ConfigError for the token, InputError for the file."""
        from tagwright.server.access import Access

        return Access.of(self.token, self.tokens)


@dataclass(frozen=True, kw_only=True)
class ServerOptions(Listening):
    """The options of a server: what it also stores and follows. Needs the extra "serve".

    Raises ConfigError for options that contradict each other.
    """

    learn: Annotated[bool, typer.Option("--learn", help="Store the labelled documents that clients send.")] = False
    reviews: Annotated[
        Path | None,
        typer.Option(metavar="FILE.sqlite", help="Serve a review page, and store its decisions in this file."),
    ] = None
    documents: Annotated[list[str], typer.Option(metavar="DOCS", help="Documents to review; may be repeated.")] = field(
        default_factory=list
    )
    order: Annotated[Order, typer.Option(help="Order of the documents to review.")] = "random"
    random_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of documents with a random candidate, to estimate recall.")
    ] = RANDOM_SHARE
    blind_share: Annotated[
        float,
        typer.Option(min=0, max=1, help="Share of documents whose suggestions are hidden until labels are given."),
    ] = SHARE
    show: Annotated[
        int,
        typer.Option(min=1, max=SUGGESTIONS, help="Suggestions that a review shows at once; the others need a click."),
    ] = 10
    word: Annotated[Word, typer.Option(help="The word for a label on pages in English.")] = "label"
    workers: Annotated[
        int, typer.Option(min=0, help="Worker processes per model; 0: compute in the server process.")
    ] = 0
    watch: Annotated[
        bool,
        typer.Option("--watch", help="Switch to another model, without a pause, when the file `current` names it."),
    ] = False
    log_format: Annotated[
        LogFormat,
        typer.Option(help="Format of the log; json: a line for each message and each answered request."),
    ] = "text"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.learn or self.documents) and self.reviews is None:
            given = "--learn" if self.learn else "--documents"
            raise ConfigError(f"where are decisions to be kept? give --reviews FILE.sqlite with {given}")


def _is_own(host: str) -> bool:
    """Whether only this machine reaches the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
