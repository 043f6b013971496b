"""The command `serve`: suggestions over HTTP, for clients of Annif and others."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tagwright.app.arguments import Arranged, Chosen, Conditions, LabelFile, Language, MonitorLog, Quiet, Settings
from tagwright.core.extras import require
from tagwright.errors import ConfigError


def serve(
    conditions: Conditions,
    arranged: Arranged,
    model: Annotated[
        list[str],
        typer.Option(
            "--model", metavar="[NAME=]DIR", help="A saved tagger, or a folder of `tagwright models`; may be repeated."
        ),
    ] = [],  # noqa: B006
    labels: LabelFile = None,
    language: Language = "",
    settings: Settings = [],  # noqa: B006
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 for a free one.")] = 8765,
    token: Annotated[
        str | None, typer.Option(envvar="TAGWRIGHT_TOKEN", help="The token of clients: Authorization: Bearer TOKEN.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A file of tokens, TOKEN ROLE NAME a line; roles: suggest, review, admin."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept requests from other machines without a token.")
    ] = False,
    learn: Annotated[bool, typer.Option("--learn", help="Store the labelled documents that clients send.")] = False,
    reviews: Annotated[
        Path | None,
        typer.Option(metavar="FILE.sqlite", help="Serve a review page, and store its decisions in this file."),
    ] = None,
    documents: Annotated[list[str], typer.Option(metavar="DOCS", help="Documents to review; may be repeated.")] = [],  # noqa: B006
    order: Annotated[
        Literal["given", "random", "length", "uncertainty"],
        typer.Option(help="Order of the documents to review; see tagwright sample."),
    ] = "random",
    random_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of documents with a random candidate, to estimate recall.")
    ] = 0.2,
    workers: Annotated[
        int, typer.Option(min=0, help="Worker processes per model; 0: compute in the server process.")
    ] = 0,
    save_to: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Save the first model here when reviewers have trained it, and serve it from here the next time. By "
            "default, it replaces what --model names; what is made of --labels is not kept.",
        ),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Follow the promotions of `tagwright models FOLDER`, without a pause.")
    ] = False,
    log_format: Annotated[
        Literal["text", "json"],
        typer.Option(help="Format of the log; json: a line for each message and each answered request."),
    ] = "text",
    audit: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append a line of JSON for each answered document: time, who, model, digest of the text, labels.",
        ),
    ] = None,
    user_header: Annotated[
        str, typer.Option(metavar="NAME", help="Header in which --proxies name the user, as X-Forwarded-User.")
    ] = "",
    proxies: Annotated[
        str,
        typer.Option(
            metavar="ADDRESSES",
            envvar="FORWARDED_ALLOW_IPS",
            help="Proxies to believe, separated by commas: X-Forwarded-For (default: of 127.0.0.1), --user-header.",
        ),
    ] = "",
    drain: Annotated[
        float, typer.Option(min=0, help="Seconds for which requests are accepted after SIGTERM, with /ready 503.")
    ] = 0.0,
    monitor: MonitorLog = None,
    _quiet: Quiet = False,
) -> None:
    """Suggest labels over HTTP, as Annif does: its clients work unchanged. Needs the extra "serve"."""
    require("serve", "starlette", "uvicorn", "h11", "jinja2", "python_multipart")
    from tagwright.app import inputs
    from tagwright.combining.acceptance import SuggestOptions
    from tagwright.data.vocabulary import to_vocabulary
    from tagwright.server import serving
    from tagwright.server.access import Access
    from tagwright.server.logs import logged
    from tagwright.server.review.refit import refit_combiner

    options = serving.ServerOptions(
        host=host, port=port, access=Access.of(token, tokens), insecure=insecure, learn=learn, reviews=reviews,
        documents=documents, order=order, random_share=random_share, workers=workers,
        save_to=save_to, watch=watch, log_format=log_format, audit=audit, user_header=user_header, proxies=proxies,
        drain=drain, monitor=monitor,
    )  # fmt: skip
    if model and settings:
        raise ConfigError("--set changes the zero-shot method; a saved tagger (--model) keeps its configuration")
    defaults = SuggestOptions(**vars(conditions), **vars(arranged))
    with logged(log_format):
        vocabulary = to_vocabulary(labels, language) if model and labels else None
        if model:
            models = serving.saved_models(model, learns=learn, labels=vocabulary, settings=defaults)
        else:
            made = inputs.tagger(Chosen(labels, language, settings=settings))
            models = [serving.zero_shot_model(made, learns=learn, settings=defaults)]
        if save_to is not None:
            serving.use_trained(models[0], save_to)
        options = replace(options, save_to=serving.place_to_save(model, options, labels))
        serving.serve(models, options, refit_combiner, vocabulary)
