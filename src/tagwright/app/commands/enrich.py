"""The command `enrich`: copies of catalogue records with suggested or accepted subjects."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagwright.app.arguments import Cut, Named, Quiet
from tagwright.core.checked import shown
from tagwright.core.outputs import Written
from tagwright.errors import ConfigError

if TYPE_CHECKING:
    from tagwright.catalogues.subjects import NewSubject, OfRow
    from tagwright.data.corpus import Corpus
    from tagwright.data.vocabulary import Vocabulary
    from tagwright.review.export import Outcome
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.types import Run

_log = logging.getLogger(__name__)


def enrich(
    records: Annotated[Path, typer.Argument(metavar="RECORDS", help="MARC 21: ISO 2709 or MARCXML.")],
    chosen: Named,
    cut: Cut,
    output: Annotated[Path, Written(), typer.Option("--output", help="The copy to write.")],
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="CODE",
            help="MARC's code of the vocabulary: gnd, lcsh; local for others. By default, the ids tell it.",
        ),
    ] = "",
    agency: Annotated[str, typer.Option(metavar="CODE", help="MARC's code of the library that adds them.")] = "",
    run: Annotated[Path | None, typer.Option(help="A run file with the suggestions, instead of tagging.")] = None,
    reviews: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sqlite",
            help="A file of `tagwright serve --reviews`: write the accepted subjects; records without a review stay as "
            "they are.",
        ),
    ] = None,
    undecided: Annotated[
        bool, typer.Option("--open", help="--reviews: suggestions without a verdict too, of --run or the tagger.")
    ] = False,
    _quiet: Quiet = False,
) -> None:
    """Copy catalogue records with subjects (650) and where they come from (883). Needs the extra "marc".

    Subjects that an earlier copy added are replaced, those of cataloguers stay.
    """
    from tagwright.app import inputs
    from tagwright.catalogues.copies import check, read_records, write_copy
    from tagwright.catalogues.subjects import Provenance, of_run, recognised, suggested_by
    from tagwright.core.display import many
    from tagwright.core.progress import note
    from tagwright.review.export import outcomes
    from tagwright.tagger import batches
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.types import Run

    if undecided and not reviews:
        raise ConfigError("--open says what becomes of the suggestions beside --reviews; without it, all are written")
    if reviews and run and not undecided:
        raise ConfigError("--reviews writes accepted subjects only; --open adds the others of --run")
    options = SuggestOptions(**vars(cut))
    check(records, output)
    corpus, places = read_records(records)
    tagger = None if run or (reviews and not undecided) else inputs.tagger(chosen, corpus)
    if tagger:
        tagger.check(options)
        vocabulary = tagger.vocabulary
    else:
        vocabulary = inputs.in_languages_of(corpus, chosen, inputs.vocabulary(chosen))
    names = inputs.with_asked_names(chosen, vocabulary)
    if not source:
        source, address = recognised(names.ids)
        if source:
            note(f"the labels are recognised as {source}, by ids of {address}; --source names another vocabulary")
    provenance = Provenance(source=source, agency=agency, date=datetime.now(UTC).strftime("%Y%m%d"))
    decided = outcomes(corpus, reviews) if reviews else {}
    of_row: OfRow = lambda _: None  # noqa: E731
    if run:
        of_row = of_run(_of_file(run, corpus, vocabulary, options), names)
    elif tagger:
        of_row = of_run(Run.concat([tagger.best(batch, options) for batch in batches(corpus)]), names)
    if reviews:
        _say_unknown(decided, names)
        of_row = partial(_reviewed, decided, names, of_row)
    enriched, added, replaced = write_copy(records, output, suggested_by(of_row, corpus.ids, places), provenance)
    taken_out = f", {replaced:,} of an earlier copy taken out" if replaced else ""
    print(f"{many(added, 'subject')} added to {many(enriched, 'record')}{taken_out}: {output}")


def _of_file(run: Path, corpus: Corpus, vocabulary: Vocabulary, options: SuggestOptions) -> Run:
    """The suggestions of a run file."""
    from tagwright.data.run_files import read_run
    from tagwright.tagger.cut import cut

    own = vocabulary.own(corpus) if options.exclude_self else None
    return cut(vocabulary, read_run(run, corpus.ids, vocabulary.index), options, own)


def _reviewed(
    decided: Mapping[int, Outcome], names: Vocabulary, others: OfRow, row: int
) -> Sequence[NewSubject] | None:
    """The accepted subjects of a document, then those suggestions on which nothing is decided."""
    from tagwright.catalogues.subjects import NewSubject

    if (outcome := decided.get(row)) is None:
        return others(row)
    accepted = [
        NewSubject.of(names[names.index[label]], assigned="1" if suggested else "2", date=date)
        for label, (suggested, date) in outcome.accepted.items()
        if label in names.index
    ]
    return [*accepted, *(each for each in others(row) or () if each.id not in outcome.settled)]


def _say_unknown(decided: Mapping[int, Outcome], names: Vocabulary) -> None:
    """Log how many accepted labels the vocabulary lacks."""
    labels = [label for outcome in decided.values() for label in outcome.accepted]
    if unknown := [label for label in labels if label not in names.index]:
        problem = "%d of %d accepted labels are left out: the vocabulary lacks them (first: %s)"
        _log.warning(problem, len(unknown), len(labels), shown(unknown[0]))
