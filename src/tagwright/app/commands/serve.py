"""The command `serve`: suggestions over HTTP, for clients of Annif and others."""

from typing import Annotated

import typer

from tagwright.app.arguments import Arranged, Chosen, Conditions, LabelFile, Language, MonitorLog, Quiet, Settings
from tagwright.errors import ConfigError
from tagwright.server.options import ServerOptions


def serve(
    *,
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
    options: ServerOptions,
    monitor: MonitorLog = None,
    _quiet: Quiet = False,
) -> None:
    """Suggest labels over HTTP, as Annif does: its clients work unchanged. Needs the extra "serve"."""
    from tagwright.app import inputs
    from tagwright.data.vocabulary import to_vocabulary
    from tagwright.server import serving
    from tagwright.server.logs import logged
    from tagwright.server.review.refit import refit_combiner
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.types import Document

    if model and settings:
        raise ConfigError("--set changes the zero-shot method; a saved tagger (--model) keeps its configuration")
    defaults = SuggestOptions(**vars(conditions), **vars(arranged))
    with logged(options.log_format):
        versions = serving.versions_folder(model, options, labels)
        vocabulary = to_vocabulary(labels, language) if model and labels else None
        if model:
            models = serving.saved_models(model, learns=options.learn, labels=vocabulary, settings=defaults)
        else:
            # what reviewers train is saved, and so is what workers load: names in one choice of languages
            is_saved = options.reviews is not None or options.workers
            made = inputs.tagger(Chosen(labels, language, settings=settings), [] if is_saved else [Document("")])
            models = [serving.zero_shot_model(made, learns=options.learn, settings=defaults)]
        for folder in dict.fromkeys((options.save_to, versions)):
            if folder is not None:
                serving.use_trained(models[0], folder)
        serving.serve(models, options, refit_combiner, vocabulary, monitor, versions)
