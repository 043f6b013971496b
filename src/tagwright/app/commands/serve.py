"""The command `serve`: suggestions over HTTP, for clients of Annif and others."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagwright.app import arguments
from tagwright.core.outputs import Written
from tagwright.core.progress import note
from tagwright.errors import ConfigError
from tagwright.server.options import ServerOptions

if TYPE_CHECKING:
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.server.served_model import ServedModel
    from tagwright.tagger.acceptance import SuggestOptions


def serve(
    *,
    reading: arguments.Reading,
    conditions: arguments.Conditions,
    model: Annotated[
        list[str],
        typer.Option("--model", metavar="[NAME=]DIR", help="A saved tagger, or a folder of them; may be repeated."),
    ] = [],  # noqa: B006
    labels: arguments.LabelFile = None,
    language: arguments.Language = "",
    settings: arguments.Settings = [],  # noqa: B006
    options: ServerOptions,
    monitor: Annotated[
        Path | None,
        Written(log=True, own=r"\{"),
        typer.Option(metavar="FILE", help="Append what is suggested, without the texts, for `tagwright monitor`."),
    ] = None,
    _quiet: arguments.Quiet = False,
) -> None:
    """Suggest labels over HTTP, as Annif does: its clients work unchanged. Needs the extra "serve"."""
    from tagwright.app import inputs
    from tagwright.server import serving
    from tagwright.server.logs import write_logs
    from tagwright.tagger.acceptance import SuggestOptions

    defaults = SuggestOptions(**vars(conditions))
    with write_logs(options.log_format):
        versions = serving.versions_folder(model, options.reviews, labels)
        chosen = arguments.Chosen(labels, language, settings=settings)
        models, vocabulary = models_to_serve(model, chosen, defaults)
        if versions:
            serving.use_trained(models[0], versions)
        serving.serve(models, options, vocabulary, monitor, versions, inputs.options_of(reading))


def models_to_serve(
    models: list[str], chosen: arguments.Chosen, defaults: "SuggestOptions"
) -> tuple[list["ServedModel"], "Vocabulary | None"]:
    """Return the saved taggers as served models, and the vocabulary given for them; or else the zero-shot method.

    models: [NAME=]DIR each. chosen: has no model. Raises ConfigError for settings beside saved taggers, and a line says
    that a language has no effect on them.
    """
    from tagwright.app import inputs
    from tagwright.readers.labels.files import to_vocabulary
    from tagwright.server import serving

    if not models:
        return [serving.zero_shot_model(inputs.tagger(chosen), defaults)], None
    if chosen.settings:
        raise ConfigError("--set changes the zero-shot method; a saved tagger (--model) keeps its configuration")
    if chosen.language and not chosen.labels:
        note(
            f"--language {chosen.language} has no effect on a saved tagger (--model), which recognises the language of "
            'each text; a request may say it ("language"), and that of names ("names_in")'
        )
    vocabulary = to_vocabulary(chosen.labels, chosen.language) if chosen.labels else None
    return serving.saved_models(models, labels=vocabulary, settings=defaults), vocabulary
