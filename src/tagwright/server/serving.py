"""Run the server with the options of `tagwright serve`."""

import asyncio
import json
import logging
import re
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from tagwright.api.options import ZERO_SHOT
from tagwright.auto.combination import check_can_learn
from tagwright.core.checked import show
from tagwright.core.display import plural
from tagwright.core.versions import in_use, saved_at
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import ConfigError
from tagwright.readers.documents.files import open_sources
from tagwright.review.decisions import Decisions
from tagwright.review.documents import ReviewedDocuments, text_id
from tagwright.review.events import Decision
from tagwright.review.file import ReviewFile
from tagwright.server.annif import sent_metadata
from tagwright.server.application import application
from tagwright.server.follower import Follower, language_of, load
from tagwright.server.options import ServerOptions
from tagwright.server.predictor import Workers
from tagwright.server.review.page import ReviewPages
from tagwright.server.review.refit import Refitter, refit_combiner
from tagwright.server.review.review import Review
from tagwright.server.served_model import ServedModel
from tagwright.tagger import Tagger
from tagwright.tagger.acceptance import SuggestOptions
from tagwright.text.words import clean
from tagwright.types import Document

_log = logging.getLogger(__name__)

CONNECTIONS = 1000
"Connections beyond which requests are refused (503)."


def saved_models(
    models: Sequence[str],
    *,
    labels: Vocabulary | None = None,
    settings: SuggestOptions = SuggestOptions(),
) -> list[ServedModel]:
    """Load the taggers to serve. models: DIR or NAME=DIR each, of a tagger or a folder of them.

    labels: the vocabulary to suggest from; None: that of each tagger. settings: see `ServedModel`. Raises
    ConfigError for an invalid name, or one used twice.
    """
    served: dict[str, ServedModel] = {}
    for argument in models:
        name, folder = _name_and_folder(argument)
        id_ = name or re.sub(r"[^A-Za-z0-9._-]+", "-", folder.resolve().name).strip("-._") or "model"
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", id_):
            raise ConfigError(f"a model is called {id_!r}, expected letters, digits, and . _ - between them")
        if id_ in served:
            raise ConfigError(f'two models are called "{id_}": name one of them, as NAME={folder}')
        place = in_use(folder)
        tagger = load(place, labels)
        number, history = (place.name, folder) if place != folder else ("", None)
        language = language_of(tagger.vocabulary)
        served[id_] = ServedModel(id_, tagger, name or id_, language, saved_at(place), settings, number, history)
    return list(served.values())


def versions_folder(models: Sequence[str], reviews: Path | None, labels: Path | None) -> Path | None:
    """Return the folder of what reviewers train: that of --model if it is one of models, or else one beside --reviews.

    None without --reviews.
    """
    if reviews is None:
        return None
    if models and not labels:  # other labels would replace those of the versions
        folder = _name_and_folder(models[0])[1]
        if in_use(folder) != folder:
            return folder
    return reviews.with_name(f"{reviews.stem}-versions")


def use_trained(model: ServedModel, folder: Path) -> None:
    """Serve what an earlier server trained on decisions and saved, if it was trained from this model.

    folder: of the versions. Raises ModelError for a damaged one.
    """
    place = in_use(folder)
    if model.history == folder or place == folder:
        return
    tagger = Tagger.load(place)
    if json.loads(json.dumps(model.tagger.training)) in (tagger.training, tagger.training.get("before")):
        vocabulary = model.tagger.vocabulary
        model.swap(tagger.with_labels(vocabulary), saved_at(place), history=folder, number=place.name)
    else:
        _log.warning("%s: was trained from another model, and is not used", place)


def zero_shot_model(tagger: Tagger, settings: SuggestOptions) -> ServedModel:
    """Return the served model of an untrained tagger."""
    return ServedModel(ZERO_SHOT, tagger, "Zero-shot", language_of(tagger.vocabulary), settings=settings)


def serve(
    models: Sequence[ServedModel],
    options: ServerOptions,
    labels: Vocabulary | None = None,
    monitor: Path | None = None,
    versions: Path | None = None,
    reading: Mapping[str, Any] = {},
    *,
    tools: bool = False,
) -> None:
    """Answer requests until interrupted; requests under way are then finished.

    models: the suggestions of the first one are reviewed, and it is trained on decisions. labels: the vocabulary of the
    models, if it is not their own. monitor: where all suggestions are recorded. versions: the folder of what is
    trained, see `versions_folder`. reading: how the documents to review are read, see `open_sources`. tools: see
    `application`. Raises ConfigError for a port in use, InputError for documents that cannot be read.
    """
    follower = follower_of(models, options, labels)
    for model in models:
        model.log = monitor
        if options.workers:
            model.use_workers(Workers(options.workers))
    review, refitter = open_review(models[0], options, reading), None
    if review and versions:
        try:
            check_can_learn(models[0].tagger)
            refitter = Refitter(review, refit_combiner, versions)
        except ConfigError as error:
            _log.warning("what reviewers decide is stored, and not learned from: %s", error)

    async def learn(model: ServedModel, documents: Sequence[Mapping[str, Any]], client: str) -> None:
        assert review
        await asyncio.to_thread(store_learnt, review.file, model, documents, client)
        if refitter and model.id == review.model.id:
            await refitter.start_if_due()

    pages = ReviewPages(review, options.access, refitter, follower) if review else None
    app = application(models, access=options.access, learn=learn if options.learn else None, pages=pages,
                      hosts=own_names(options), follower=follower, tools=tools, word=options.word)  # fmt: skip
    # Uvicorn ends what is under way, then sends itself the signal again: without this the file would stay open.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if follower is not None and hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: follower.ask())
    try:
        _run(app, options, models, tools=tools)
    finally:
        signal.signal(signal.SIGTERM, before)
        if review is not None:
            review.file.close()


def follower_of(models: Sequence[ServedModel], options: ServerOptions, labels: Vocabulary | None) -> Follower | None:
    """Return the follower of the models that have versions, and of the one that reviewers train; None without any.

    Raises ConfigError for --watch then.
    """
    trained = models[:1] if options.reviews else ()
    if followed := [model for model in models if model.history is not None or model in trained]:
        return Follower(followed, labels, 1.0 if options.watch else None)
    if options.watch:
        raise ConfigError("--watch follows the file `current` of a folder of models; give such a folder as --model")
    return None


def open_review(model: ServedModel, options: ServerOptions, reading: Mapping[str, Any] = {}) -> Review | None:
    """Return the review, with the documents of --documents; None without --reviews. Raises InputError.

    reading: as for `serve`.
    """
    if options.reviews is None:
        return None
    file = ReviewFile(options.reviews)
    review = Review(model, file, options.random_share, options.order, options.blind_share, options.show)
    known = model.tagger.vocabulary.has
    sources = open_sources(*options.documents, is_label=known, **reading) if options.documents else ()
    *_, changed = review.documents.add(document for _, documents in sources for _, document in documents)
    if changed:
        _log.warning(
            "%s in %s with another text, so the new texts are documents of their own (first: %s)",
            f"{plural(len(changed), 'id')} {'is' if len(changed) == 1 else 'are'} known", options.reviews,
            show(changed[0]),
        )  # fmt: skip
    return review


def _run(app: Starlette, options: ServerOptions, models: Sequence[ServedModel], *, tools: bool) -> None:
    listening = listen(options.host, options.port)
    config = uvicorn.Config(
        app, log_config=None, log_level="warning", access_log=False, server_header=False, ws="none",
        limit_concurrency=CONNECTIONS, timeout_keep_alive=15, timeout_graceful_shutdown=30,
    )  # fmt: skip
    address = f"http://{options.host}:{listening.getsockname()[1]}"
    print(f"Serving {', '.join(model.id for model in models)} at {address}/v1/", flush=True)  # noqa: T201
    if options.reviews is not None:
        print(f"Review at {address}/review", flush=True)  # noqa: T201
    if tools:
        print(f"Tools for assistants at {address}/mcp", flush=True)  # noqa: T201
    uvicorn.Server(config).run(sockets=[listening])


def store_learnt(file: ReviewFile, model: ServedModel, sent: Sequence[Mapping[str, Any]], client: str) -> None:
    """Store labelled documents of a client: their texts and metadata, then their subjects as accepted labels.

    A client may use an id again for another text, such as one that numbers each batch from 1: that is another document.
    Subjects that the vocabulary lacks are left out, as Annif does; the log says how many, but not which: subjects tell
    of the document.
    """
    index = model.tagger.vocabulary.index
    documents, decisions, subject_count, missing = list[Document](), list[Decision](), 0, 0
    for content in sent:
        text = clean(content["text"]).strip()  # as it is read again
        id_ = clean(content.get("document_id") or "") or text_id(text)
        documents.append(Document(id_, abstract=text, metadata=sent_metadata(content.get("metadata", {}))))
    ids, *_ = ReviewedDocuments(file).add(documents)
    for content, id_ in zip(sent, ids, strict=True):
        subjects = [subject["uri"] for subject in content.get("subjects", ())]
        subject_count += len(subjects)
        missing += sum(uri not in index for uri in subjects)
        verdict = partial(Decision, document=id_, reviewer=client, model=model.version)
        decisions += (verdict(action="accept", label=uri) for uri in dict.fromkeys(subjects) if uri in index)
        decisions.append(verdict(action="done"))
    if missing:
        _log.warning("%d of %d subjects are not in the vocabulary and are left out", missing, subject_count)
    Decisions(file).add_all(decisions)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises ConfigError for an address that cannot be used."""
    try:
        listening = socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        # Connections inherit it. Otherwise the end of an answer waits 40 ms for the client to confirm its beginning:
        # asyncio sets it only where a socket says that its protocol is TCP, and this one does not.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise ConfigError(f"cannot listen on {host}, port {port}: {error.strerror}; give another --port") from None


def own_names(options: ServerOptions) -> frozenset[str] | None:
    """Return the host names of this machine if only it may send requests; None if a token or nothing is required."""
    if not options.access.is_open or options.insecure:
        return None
    return frozenset({"localhost", "127.0.0.1", "[::1]", options.host.lower()})


def _name_and_folder(argument: str) -> tuple[str, Path]:
    """The two parts of NAME=DIR; "" and the folder for DIR alone, which may have a = in its name if it exists."""
    name, _, folder = argument.rpartition("=") if not Path(argument).exists() else ("", "", argument)
    return name, Path(folder)
