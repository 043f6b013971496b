"""Shared by the commands: read documents, and make or load a tagger."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagwright.app.arguments import Chosen, Reading
from tagwright.core.checked import build
from tagwright.core.display import plural
from tagwright.core.progress import hint, silence, silence_log
from tagwright.core.saved import VOCABULARY, read_state
from tagwright.data.corpus import Corpus, repeated_id
from tagwright.data.text_languages import with_names_in
from tagwright.data.vocabulary import Vocabulary, label_test
from tagwright.data.vocabulary_changes import report_changes
from tagwright.errors import ConfigError, InputError, note_left_out
from tagwright.readers.documents.columns import parse_columns
from tagwright.readers.documents.files import open_sources
from tagwright.readers.documents.records import Located
from tagwright.readers.labels.files import to_vocabulary
from tagwright.tagger import Tagger
from tagwright.text.language import AUTO, check, declared_languages
from tagwright.types import Document

_log = logging.getLogger(__name__)

NAMED = 10
"Documents that cannot be read and are named one by one; the others are counted."


def tagger(chosen: Chosen, documents: Sequence[Document] = ()) -> Tagger:
    """The saved tagger, with another vocabulary if one is given, or else the zero-shot method.

    documents: to be tagged; stages for the language of the first are made at once.
    """
    if not chosen.model:
        return _zero_shot(chosen, documents[:1])
    loaded = _with_labels(chosen.model, chosen) if chosen.labels else Tagger.load(chosen.model)
    return _with_language_model(loaded, chosen.settings) if chosen.settings else loaded


def _with_labels(model: Path, chosen: Chosen) -> Tagger:
    """The saved tagger with the labels of the file, and a report of what changes. Raises ConfigError."""
    check(chosen.language or AUTO)
    labels = _labels_of_file(chosen.labels, chosen.language)
    loaded = Tagger.load(model)
    if chosen.language in ("", AUTO) and not loaded.languages and (own := declared_languages(loaded.vocabulary)):
        labels = Vocabulary(with_names_in(label, [each.code for each in own]) for label in labels)
    report_changes(loaded.vocabulary, labels)
    return loaded.with_labels(labels)


def _zero_shot(chosen: Chosen, first: Sequence[Document]) -> Tagger:
    """The zero-shot method for the labels of the file, after a line that says how it is made."""
    from tagwright.api.options import ZERO_SHOT, configuration
    from tagwright.app.options import values_of
    from tagwright.tagger.zero_shot import fit

    config = configuration(ZERO_SHOT, values_of(None, chosen.settings), chosen.language)
    made = fit(_labels_of_file(chosen.labels, config.language), config, first, by_language=True)
    hint(f"no --model, so the zero-shot method, which needs no training: stages and weights {made.description}")
    return made


def fitted_tagger(chosen: Chosen, documents: Sequence[Document]) -> Tagger:
    """Return the tagger; the zero-shot method with weights that suit the documents, unless --set names weights."""
    from tagwright.app.options import values_of
    from tagwright.tagger.zero_shot import with_fitted_weights

    made = tagger(chosen, documents)
    if chosen.model or "weights" in values_of(None, chosen.settings):
        return made
    return with_fitted_weights(made, documents)


def _with_language_model(loaded: Tagger, settings: Sequence[str]) -> Tagger:
    """The tagger, the first candidates of which a language model ranks again. Raises ConfigError for other settings."""
    from tagwright.app.options import values_of
    from tagwright.llm.options import LlmOptions
    from tagwright.tagger.fuse import with_model

    values = values_of(None, settings)
    table = values.get("llm")
    options = build(LlmOptions, table, "llm.") if isinstance(table, Mapping) else LlmOptions()
    if set(values) != {"llm"} or not options.model:
        raise ConfigError(
            "a saved tagger (--model) keeps its configuration; --set can only add a language model that ranks its "
            "first labels again: --set llm.model=NAME, and other llm options"
        )
    return with_model(loaded, options)


def read(docs: Sequence[str], reading: Reading, chosen: Chosen) -> Corpus:
    """The documents, all of which are read and checked. chosen: as for `sources`. Raises ConfigError, InputError."""
    return Corpus.build(sources(docs, reading, chosen))


def _label_test(chosen: Chosen) -> Callable[[str], bool] | None:
    """Whether a text is a label of the tagger or the file that is chosen; None for none."""

    def known() -> Vocabulary:
        with silence(), silence_log("tagwright"):  # the command reads it again, and then says what is to be said
            return vocabulary(chosen)

    return label_test(known) if chosen.labels or chosen.model else None


def documents_to_tag(docs: Sequence[str], reading: Reading, chosen: Chosen) -> Iterator[Document]:
    """Yield the documents one by one, without lines and rows that cannot be read. chosen: as for `sources`.

    These are logged, and the command ends with exit code 3. Raises the first of their errors at the end unless of some
    file at least as many were read as were not: every file is something else then. Raises InputError for an id that
    occurs twice.
    """
    damaged = dict[str, InputError]()  # by message, as formats are guessed from lines that are then read again
    read_of = Counter[str]()
    places = dict[str, str]()

    def collect(error: InputError) -> bool:
        if error.line is None:  # of several files, those that cannot be read are reported as everywhere
            return False
        damaged.setdefault(str(error), error)
        return True

    try:
        for file, documents in sources(docs, reading, chosen, collect):
            for line, document in documents:
                place = f"{file}:{line}" if line else file
                if first := places.get(document.id):
                    by_line = first.endswith(f":{document.id}") and place.endswith(f":{document.id}")
                    raise repeated_id(document.id, first, place, by_line=by_line)
                places[document.id] = place
                read_of[file] += 1
                yield document
    except InputError as error:
        of_whole_file = error.path and error.line is None  # no document of it could be read
        raise next(iter(damaged.values()), error) if of_whole_file else error from None
    damaged_of = Counter(str(error.path) for error in damaged.values())
    if damaged and not any(count >= damaged_of[file] for file, count in read_of.items()):
        raise next(iter(damaged.values()))
    for problem in list(damaged)[:NAMED]:
        _log.warning("%s", problem)
    if damaged:
        _log.warning("%s left out: not readable", plural(len(damaged), "document"))
        note_left_out(damaged.values())


def sources(
    docs: Sequence[str], reading: Reading, chosen: Chosen, collect: Callable[[InputError], object] | None = None
) -> Iterator[tuple[str, Iterator[Located]]]:
    """Yield the readable documents of each file. chosen: whose labels tell columns of labels from others.

    collect: gets the errors of what cannot be read, see `readers.limits.Reading`.
    """
    return open_sources(*docs, **options_of(reading), is_label=_label_test(chosen), collect=collect)


def options_of(given: Reading) -> dict[str, Any]:
    """Return how documents are read, as `Corpus.read` takes it."""
    columns = parse_columns(given.columns)
    return {"input_format": given.input_format or None, "columns": columns, "encoding": given.encoding}


def vocabulary(chosen: Chosen) -> Vocabulary:
    """The labels of a file or of a saved tagger, which is not loaded itself."""
    if chosen.model and not chosen.labels:
        return Vocabulary.from_state(read_state(chosen.model, "tagger")[VOCABULARY])
    return _labels_of_file(chosen.labels, chosen.language)


def _labels_of_file(labels: Path | None, language: str) -> Vocabulary:
    if labels is None:
        raise ConfigError("which labels? give a vocabulary (--labels FILE) or a saved tagger (--model DIR)")
    return to_vocabulary(labels, language)
