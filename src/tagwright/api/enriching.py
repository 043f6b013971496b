"""Write subjects into copies of catalogue records: those that reviewers accepted, and suggestions."""

import json
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from tagwright.catalogues.copies import check, read_records, write_copy
from tagwright.catalogues.subjects import NewSubject, OfRow, Provenance, suggested_by
from tagwright.catalogues.tables import FORMATS, write_table
from tagwright.core.progress import note
from tagwright.data.corpus import Corpus
from tagwright.data.subjects import recognise_source
from tagwright.data.vocabulary import Vocabulary
from tagwright.errors import InputError, TagwrightError, on_command_line, option
from tagwright.readers.limits import Reading
from tagwright.review.applied import LeftOut, Outcome, outcomes

Records = tuple[Corpus, Sequence[int]]
"The documents of a file of records, and the place of each; see `read_records`."


def enrich(
    records: Path,
    output: Path,
    names: Vocabulary,
    *,
    source: str = "",
    agency: str = "",
    names_in: str = "",
    reviews: Path | None = None,
    read: Records | None = None,
    reading: Mapping[str, Any] = {},
    suggestions: OfRow = lambda _: None,
    replace_gone: bool = False,
    changed_texts: bool = False,
    account: Callable[[LeftOut], object] | None = None,
) -> tuple[int, int, int]:
    """Copy records with their subjects: MARC (650) with where these come from (883), or a table with its other columns.

    See `write_copy` and `write_table`. Returns the numbers of records with new subjects, of these subjects, and of
    those of an earlier copy that were taken out. names: the vocabulary. source, agency: MARC's codes of the vocabulary
    and the library; without a source the ids tell it. names_in: the code of the language of the names, if one was asked
    for. reviews: a review file, whose accepted labels are written. suggestions: those to write of a row; beside
    reviews, those on which nothing is decided. read: the records, if they are read already. reading: format, columns
    and encoding, as the user names them. replace_gone, changed_texts: see `outcomes`. account: is told what of the
    reviews cannot be written, before anything is; None: the log tells it. Raises InputError and ConfigError.
    """
    file_format = check(records, output, reading)
    corpus, places = read or read_records(records, **reading)
    if not source and file_format not in FORMATS:
        source, address = recognise_source(names.ids)
        if source:
            note(f"the labels are recognised as {source}, by ids of {address}; {option('source')} names another")
    date = datetime.now(UTC).strftime("%Y%m%d")
    provenance = None if file_format in FORMATS else Provenance(source=source, agency=agency, date=date)
    of_row = suggestions
    if reviews:
        decided, left_out = outcomes(corpus, reviews, names, replace_gone=replace_gone, changed_texts=changed_texts)
        (account or partial(LeftOut.log, vocabulary=names))(left_out)
        of_row = partial(_rank_reviewed_first, corpus, decided, names, suggestions, names_in or names.language_of_names)
    if provenance is None:
        rows = {place: row for row, place in enumerate(places)}

        def new(line: int) -> Sequence[NewSubject]:
            if (row := rows.get(line)) is None:
                return ()
            had = {position for _, _, position, _ in names.subjects(corpus[row])}
            return [subject for subject in of_row(row) or () if names.index[subject.id] not in had and not subject.kept]

        how = Reading(columns=reading.get("columns") or {}, encoding=reading.get("encoding") or "")
        return *write_table(records, output, file_format, new, names, source, how), 0
    suggested = suggested_by(of_row, corpus.ids, places)
    return write_copy(records, output, suggested, provenance, frozenset(places), file_format)


def _rank_reviewed_first(
    corpus: Corpus, decided: Mapping[int, Outcome], names: Vocabulary, others: OfRow, names_in: str, row: int
) -> Sequence[NewSubject] | None:
    """The accepted subjects of a document, then those suggestions on which nothing is decided.

    To keep what a record came with writes nothing.
    """
    if (outcome := decided.get(row)) is None:
        return others(row)
    had = {position for _, _, position, _ in names.subjects(corpus[row])}
    accepted = [
        NewSubject.of(
            names[names.index[label]], assigned="1" if suggested else "2", date=date, names_in=names_in
        )._replace(kept=label in outcome.unpressed and names.index[label] in had)
        for label, (suggested, date) in outcome.accepted.items()
    ]
    return [*accepted, *(subject for subject in others(row) or () if subject.id not in outcome.settled)]


PROGRAM = "from tagwright.api.enriching import main; main()"
"What a process runs that enriches the records of others."


def main() -> None:
    """Enrich as the JSON on the command line says; print what is left out, or what the problem is, as JSON."""
    logging.basicConfig(format="%(message)s")
    arguments, left_out = json.loads(sys.argv[1]), [LeftOut({}, {})]
    paths = {name: Path(arguments.pop(name)) for name in ("records", "output", "names", "reviews")}
    records, output, names = paths["records"], paths["output"], Vocabulary.load(paths["names"])
    answer: dict[str, object] = {"problem": "", "line": None, "of_file": False}
    with on_command_line() if arguments.pop("is_command") else nullcontext():
        try:
            enrich(records, output, names, reviews=paths["reviews"], account=left_out.append, **arguments)
        except InputError as error:
            answer |= {"problem": error.problem, "line": error.line, "of_file": True}
        except TagwrightError as error:
            answer["problem"] = str(error)
    print(json.dumps({**answer, "left_out": left_out[-1]._asdict()}))  # noqa: T201
