"""The command `enrich`: copies of catalogue records with suggested or accepted subjects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tagwright.app.arguments import Cut, Named, Quiet, Reading, ReplaceGone, refuse
from tagwright.core.outputs import Written


def enrich(
    records: Annotated[
        Path, typer.Argument(metavar="RECORDS", help="MARC 21 (ISO 2709, MARCXML), or a table: CSV, TSV, Excel.")
    ],
    reading: Reading,
    chosen: Named,
    cut: Cut,
    output: Annotated[Path, Written(like="records"), typer.Option("--output", help="The copy to write.")],
    source: Annotated[
        str,
        typer.Option(
            "--source",
            metavar="CODE",
            help="MARC code of the vocabulary: gnd, lcsh; local for others. By default derived from the ids.",
        ),
    ] = "",
    agency: Annotated[str, typer.Option(metavar="CODE", help="MARC code of the library that adds subjects.")] = "",
    run: Annotated[Path | None, typer.Option(help="A run file with the suggestions, instead of tagging.")] = None,
    reviews: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.sqlite",
            help="A file of `tagwright serve --reviews`: write the accepted subjects; records without a review stay "
            "unchanged.",
        ),
    ] = None,
    replace_gone: ReplaceGone = False,
    changed_texts: Annotated[
        bool,
        typer.Option("--changed-texts", help="--reviews: also use decisions on records whose text has changed since."),
    ] = False,
    undecided: Annotated[
        bool, typer.Option("--open", help="--reviews: also write open suggestions of --run or the tagger.")
    ] = False,
    _quiet: Quiet = False,
) -> None:
    """Add subjects (650) and their provenance (883) to a copy of catalogue records, or of a table with all its columns.

    In MARC (extra "marc"), subjects that an earlier copy added are replaced; those of cataloguers stay.
    """
    from tagwright.api import enriching
    from tagwright.app import inputs, shown_names
    from tagwright.catalogues.copies import check, read_records
    from tagwright.catalogues.subjects import of_run
    from tagwright.core.display import plural
    from tagwright.readers.run_files import keep_matching, read_run
    from tagwright.tagger import batches
    from tagwright.tagger.acceptance import SuggestOptions
    from tagwright.tagger.cut import cut_ranking
    from tagwright.types import Run

    accepted_only = bool(reviews) and not undecided
    refuse(
        {
            "--open says what becomes of the suggestions beside --reviews; without it, all are written": undecided
            and not reviews,
            "--replace-gone and --changed-texts say what becomes of decisions; name their file, --reviews": not reviews
            and (replace_gone or changed_texts),
            "--reviews writes accepted subjects only; --open adds the others of --run": run and accepted_only,
        }
    )
    options, reading_options = SuggestOptions(**vars(cut)), inputs.options_of(reading)
    check(records, output, reading_options)
    corpus, places = read_records(records, **reading_options)
    tagger = None if run or accepted_only else inputs.tagger(chosen, corpus)
    if tagger:
        tagger.check(options)
        vocabulary = tagger.vocabulary
    else:
        vocabulary = shown_names.in_languages_of(corpus, chosen, inputs.vocabulary(chosen))
    language = shown_names.asked_names(chosen, vocabulary)
    printed_vocabulary = shown_names.named_in(language, vocabulary)
    suggestions: Run | None = None
    if run:
        digests = dict[str, str]()  # `read_run` fills it
        ranking = keep_matching(read_run(run, corpus.ids, vocabulary.index, digests), corpus, digests, run)
        own = vocabulary.own(corpus) if options.exclude_self else None
        suggestions = cut_ranking(vocabulary, ranking, options, own)
    elif tagger:
        suggestions = Run.concat([tagger.best(batch, options) for batch in batches(corpus)])
    of_row = (lambda _: None) if suggestions is None else of_run(suggestions, printed_vocabulary, language)
    enriched, added, replaced = enriching.enrich(
        records, output, printed_vocabulary, source=source, agency=agency, names_in=language,
        read=(corpus, places), reading=reading_options, suggestions=of_row,
        reviews=reviews, replace_gone=replace_gone, changed_texts=changed_texts,
    )  # fmt: skip
    taken_out = f", {replaced:,} of an earlier copy taken out" if replaced else ""
    print(f"{plural(added, 'subject')} added to {plural(enriched, 'record')}{taken_out}: {output}")
