"""The HTTP interface as an ASGI application, to mount beside others or to give to any server: `application`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.core.extras import require
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from starlette.applications import Starlette


def application(*models: Path | str, token: str | None = None) -> "Starlette":
    """Return the application of saved taggers, without review pages. Its lifespan must be run: it loads the models.

    models: DIR or NAME=DIR each, as for `serve --model`; without any, TAGWRIGHT_MODEL names one, so that servers can
    call this without arguments. token: of clients; None: TAGWRIGHT_TOKEN, or whoever asks if that is unset. Needs the
    extra "serve". Raises TagwrightError.
    """
    require("serve", "fastapi", "uvicorn", "jinja2", "itsdangerous", "prometheus_client", "python_multipart")
    from tagwright.server import application as web
    from tagwright.server.access import Access
    from tagwright.server.serving import saved_models

    given = [str(model) for model in models] or [os.environ.get("TAGWRIGHT_MODEL", "")]
    if given == [""]:
        raise ConfigError("which tagger? give its folder, or name it in TAGWRIGHT_MODEL")
    access = Access.of(os.environ.get("TAGWRIGHT_TOKEN") if token is None else token, None)
    return web.application(saved_models(given), access=access)
