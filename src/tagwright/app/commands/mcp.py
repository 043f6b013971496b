"""The command `mcp`: tools for assistants, on standard input and output or over HTTP."""

import os
from dataclasses import asdict
from typing import Annotated

import typer

from tagwright.app.arguments import Chosen, Conditions, LabelFile, Language, Model, Quiet, Settings, refuse
from tagwright.core.extras import require
from tagwright.server.options import Listening, ServerOptions


def mcp(
    *,
    conditions: Conditions,
    model: Model = None,
    labels: LabelFile = None,
    language: Language = "",
    settings: Settings = [],  # noqa: B006
    http: Annotated[bool, typer.Option("--http", help="Answer over HTTP at /mcp, not on standard input.")] = False,
    listening: Listening,
    _quiet: Quiet = False,
) -> None:
    """Offer assistants the tools suggest, explain and search_labels (MCP). Needs the extra "mcp"."""
    token = os.environ.get("TAGWRIGHT_TOKEN") or None  # set for other commands: no slip
    alone = "--host, --port, --token, --tokens and --insecure are options of a server over HTTP; add --http"
    refuse({alone: not http and listening != Listening(token=token)})
    require("mcp", "mcp")
    import asyncio

    from tagwright.app.commands.serve import models_to_serve
    from tagwright.server import serving
    from tagwright.server.logs import write_logs
    from tagwright.server.mcp import serve_stdio
    from tagwright.tagger.acceptance import SuggestOptions

    defaults = SuggestOptions(**vars(conditions))
    with write_logs("text"):
        chosen = Chosen(labels, language, settings=settings)
        models, _ = models_to_serve([str(model)] if model else [], chosen, defaults)
        if http:
            serving.serve(models, ServerOptions(**asdict(listening)), tools=True)
        else:
            asyncio.run(serve_stdio(models[0]))
