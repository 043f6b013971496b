"""`Vocabulary`: ordered labels, read from JSON lines, tables, SKOS or lists of names."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, overload

import numpy as np

from tagwright import registry
from tagwright.core.checked import find_nearest, is_missing, show
from tagwright.core.display import FIRST, html_table, list_first, plural
from tagwright.core.saved import read_state, write_state
from tagwright.data.hierarchy import Hierarchy
from tagwright.data.label_conditions import LabelConditions
from tagwright.data.stored_labels import StoredLabels, labels_state
from tagwright.data.subjects import (
    bare_id,
    is_address,
    last_part,
    main_code,
    names_of_source,
    read_reference,
    recognise_source,
    source_of,
    with_sources,
)
from tagwright.data.text_languages import TextLanguages, frequent_languages
from tagwright.data.texts import Table
from tagwright.errors import ConfigError, InputError, option
from tagwright.text.words import clean
from tagwright.types import Document, Label, Longs, Mask, Run

T = TypeVar("T")

Format: TypeAlias = Literal["jsonl", "tsv", "csv", "xlsx", "names", "turtle", "rdfxml", "ntriples"]

Field: TypeAlias = Literal[
    "notation", "types", "schemes", "collections", "exact", "translated", "languages", "replaces"
]
"A field of a label that holds texts; with languages, pairs of a code and a name."

Unknown: TypeAlias = Literal["warn", "error", "ignore"]
"What to do about a document's label that the vocabulary lacks: warn and leave it out, raise, or leave it out."

_log = logging.getLogger(__name__)

ARROW = " > "
"The separator of the names in a path."


class Vocabulary(Sequence[Label]):
    """Labels in a fixed order.

    A `Run` refers to labels by position, a file by id. A label given by its name alone has the name as its id. ids: the
    id of each label; index: the position of each id. Raises InputError when there is no label, an id occurs twice, or a
    label has no name.

    >>> birds = Vocabulary([Label("1", ("Birds", "Aves")), Label("2", ("Owls",), broader=("1",))])
    >>> birds.index["2"], birds[1].name, birds.resolve("aves")
    (1, 'Owls', 0)
    """

    def __init__(self, labels: Iterable[Label | str]) -> None:
        self._labels: Sequence[Label] = _as_labels(labels)
        # Sequence.index would look for a Label; here callers look for an id.
        self.index: Mapping[str, int] = {  # type: ignore[assignment]
            label.id: position for position, label in enumerate(self._labels)
        }
        self.ids: Sequence[str] = tuple(self.index)
        if not self._labels:
            raise InputError("the vocabulary is empty, expected at least one label")
        if len(self.ids) < len(self._labels):
            _, twice = first_duplicate(self._labels)
            raise InputError(f"two labels have the id {show(self._labels[twice].id)}; every label needs its own")
        for label in self._labels:
            if not label.names or not all(name.strip() for name in label.names):
                raise InputError(
                    f"label {show(label.id)} has the names {show(label.names)}, expected one or more texts"
                )

    @classmethod
    def of(cls, labels: Labels, *, language: str = "", **columns: str) -> Vocabulary:
        """Labels from memory: names, Labels, records, a table of pandas, polars or Arrow, a mapping; or a file.

        columns: of a table or of records, field -> column if the names differ: id, name, names (several),
        description, broader, notation; without ids, the name is the id. A mapping is from ids to names, each a text or
        a list; or, if its values are texts of six words or more on average and no key has a digit, from names to
        descriptions. language: of the names to take from a file. Raises InputError with the row, and for a column that
        does not exist.

        >>> described = Vocabulary.of([{"topic": "Bees", "about": "They fly."}], name="topic", description="about")
        >>> described[0].text, Vocabulary.of({"Bees": "Insects that fly and make honey of nectar."})[0].name
        ('Bees. They fly.', 'Bees')
        """
        if not columns and isinstance(labels, Vocabulary):
            return labels
        if not columns and isinstance(labels, list | tuple) and all(isinstance(each, Label | str) for each in labels):
            return Vocabulary(labels)
        made: Vocabulary = registry.reader("to_vocabulary")(labels, language, columns=columns)
        return made

    @classmethod
    def read(
        cls,
        path: Path | str,
        *,
        language: str | None = None,
        input_format: Format | None = None,
        encoding: str = "",
    ) -> Vocabulary:
        """Read labels from a file, plain or gzip; the format is inferred from the name unless it is given.

        JSON lines: `{"id", "names": [preferred, ...], "description", "broader": [ids]}`, `"name"` for a single name,
        names in several languages as `"names": {"en": [preferred, ...], "de": [...]}`, and descriptions as
        `"descriptions": {"en": [...], ...}`; `notation`; the lists `types`, `schemes`, `collections`, `related`,
        `exact`, `close`; or the Extreme Classification repository's `{"uid", "title", "content"}`, to which its
        documents refer by position. TSV without header: id or `<uri>`, name, notation. TSV, CSV, xlsx with header: `id`
        or `uri`; `names`, several separated by `|` or `;`, or `name`, or one `label_LANGUAGE` per language, or
        `names_LANGUAGE` for several; `description`, `description_LANGUAGE`; `notation`, and the lists, separated
        likewise; without ids, the name is the id; a URI without a name is left out as deprecated. Columns and keys may
        have the usual other names of `readers.headers`, and parents be given by notation or name. What is left out is
        logged. Plain text: one name a line, Google's product taxonomy (`1 - Animals > Birds`), or an outline by
        indentation (`term_lists.read_names`); PECOS's output-items.txt, AttentionXML's train_labels.txt. SKOS (extra
        `skos`): Turtle, RDF/XML, N-Triples; parsed labels are cached under the hash of the file.

        language: of the names to search for, in a file in several languages, by code or name, several as "fi+sv", or
        "all"; labels without a name in it keep one in another language. The names and descriptions in all languages are
        kept as well, each with its code. Without one, English is taken, or else the first language of
        the file; a note on stderr says which.
        encoding: of a file that is not UTF-8 and does not say so itself: cp1252, latin-1. Raises InputError with file
        and line for anything wrong in the file, ConfigError for an unknown format or a missing language.
        """
        read: Vocabulary = registry.reader("read_labels")(
            path, language=language, input_format=input_format, encoding=encoding
        )
        return read

    def write(self, path: Path | str) -> None:
        """Write a file in one step, in the format of its name as for `read`, gzip if it ends in `.gz`.

        Read again, JSON lines, CSV, TSV and Excel workbooks give equal labels. SKOS keeps names
        with or without a language, but not the order of alternative ones; other ids become URIs, as the log says.
        Raises ConfigError for a format that cannot be written and an id that TSV cannot hold, TagwrightError when the
        file cannot be written.
        """
        registry.reader("write_labels")(self, path)

    def save(self, folder: Path) -> None:
        """Write arrays into an existing folder, for `load`."""
        write_state(folder, "vocabulary", self.state())

    @classmethod
    def load(cls, folder: Path) -> Vocabulary:
        """Memory-map what `save` wrote: nothing is read until it is asked for. Raises ModelError when it is damaged."""
        return cls.from_state(read_state(folder, "vocabulary"))

    def state(self) -> dict[str, Any]:
        """Return what a saved vocabulary is made of."""
        return labels_state(self._labels, _fold_name)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Vocabulary:
        """Make the vocabulary of a saved state."""
        vocabulary = cls.__new__(cls)
        vocabulary._labels = labels = StoredLabels(state)
        vocabulary.index, vocabulary.ids = labels.by_id, labels.by_id.texts
        return vocabulary

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[list[Label]]]:
        return Vocabulary, (list(self),)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        first = [" ".join(self[place].name.split())[:40] for place in range(min(3, len(self)))]
        rest = ["..."] if len(self) > len(first) else []
        return f"Vocabulary of {plural(len(self), 'label')}: {', '.join(first + rest)}"

    def _repr_html_(self) -> str:
        rows = [[label.name, label.id, label.notation] for label in self[:FIRST]]
        title = f"Vocabulary of {plural(len(self), 'label')}"
        return html_table([["label", "id", "notation"], *rows], title, words=("id", "notation"))

    @overload
    def __getitem__(self, position: int | str) -> Label: ...
    @overload
    def __getitem__(self, position: slice) -> Vocabulary: ...
    def __getitem__(self, position: int | str | slice) -> Label | Vocabulary:
        """The label at a position, or with an id; of a slice a vocabulary. Raises ConfigError for an unknown id.

        >>> Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",))])["2"].name
        'Owls'
        """
        if isinstance(position, slice):
            return Vocabulary(self._labels[position])
        if isinstance(position, str) and position not in self.index:
            raise ConfigError(f"no label has the id {show(position)}{self._nearest(position)}")
        return self._labels[self.index[position] if isinstance(position, str) else position]

    def __iter__(self) -> Iterator[Label]:
        return iter(self._labels)

    @property
    def is_translated(self) -> bool:
        """Whether labels are also searched by translated names: see `translation`."""
        return any(names for _, names in self.texts("translated"))

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages in which labels have names, sorted; none if the file does not state them.

        >>> birds = Label("1", ("Birds",), languages=(("sv", "Fåglar"), ("en", "Birds")))
        >>> Vocabulary([birds, Label("2", ("Owls",))]).languages
        ('en', 'sv')
        """
        return tuple(sorted({code for _, code, _ in self._tagged()}))

    @cached_property
    def replacements(self) -> Mapping[str, tuple[str, ...]]:
        """Id of a discontinued concept -> ids of the labels that replace it, according to the file."""
        found = dict[str, tuple[str, ...]]()
        for position, replaced in self.texts("replaces"):
            for old in replaced:
                found[old] = (*found.get(old, ()), self.ids[position])
        return found

    @cached_property
    def frequent_languages(self) -> list[str]:
        """The languages in which at least a fifth of the labels have a name, the most frequent first."""
        return frequent_languages((names for _, names in self.texts("languages")), len(self))

    @cached_property
    def language_of_names(self) -> str:
        """The code of the language of most of the first preferred names; blank if it is not recognised."""
        first = self[:1000]
        counts = Counter(code for label in first for code, name in label.languages if name == label.name)
        return next((code for code, _ in counts.most_common(1)), "")

    @cached_property
    def text_languages(self) -> TextLanguages:
        """The names for which a text is searched, by its language."""
        return TextLanguages(self)

    def restrict(self, only: Iterable[str] = (), without: Iterable[str] = ()) -> Vocabulary:
        """Only the labels that fulfil conditions, in the order of this vocabulary.

        only, without: as in `SuggestOptions`; ids are conditions too. Raises ConfigError for one that no label fulfils.

        >>> birds = Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",), broader=("1",)), Label("3", ("Fish",))])
        >>> birds.restrict(["branch:1"], without=["1"]).ids
        ('2',)
        """
        left = self.conditions.allowed(tuple(only), tuple(without))
        return Vocabulary(label for label, is_left in zip(self._labels, left.tolist(), strict=True) if is_left)

    @cached_property
    def conditions(self) -> LabelConditions:
        """The index of labels by conditions such as `notation:33*`."""
        return LabelConditions(self)

    def resolve(self, value: str) -> int | None:
        """The position of a label given as id, `<uri>`, preferred name or other name, None if there is no such label.

        Names are compared without case; an ambiguous name, which several labels prefer, or several have and none
        prefers, matches none; then it may be a notation. In a catalogue's reference, `<id> <id> name`, an id
        counts first, also by its last part or as an exact match, then the name. Names in other than
        the searched languages count last. `subjects` tells which subjects of records are labels.
        """
        value = value.strip()
        for label_id in (value, bare_id(value)):
            if label_id in self.index:
                return self.index[label_id]
        position = self._with_name(value)
        return self._referred(value) if position is None else position

    @cached_property
    def source(self) -> str:
        """MARC's code of this vocabulary, such as "gnd", if its ids show it; else blank."""
        return recognise_source(self.ids)[0]

    @cached_property
    def _source_names(self) -> frozenset[str]:
        return names_of_source(self.ids)

    def subjects(self, document: Document) -> Iterator[tuple[str, str, int | None, str]]:
        """Yield each label of a document: its text, its code, its position, and the code of another vocabulary.

        A subject of another vocabulary, by its code or the form of its id, is no label here, whatever its name; nor is
        a subdivided heading the main one. If the ids of these labels do not show their vocabulary, a subject with a
        code is one of them by its id alone, unless the user has named the code (`--columns labels=CODE`). A subject
        without a code is found as `resolve` does.

        >>> bees = Vocabulary([Label("http://www.yso.fi/onto/yso/p1", ("Bees",))])
        >>> record = Document("1", labels=("Bees", "<http://id.loc.gov/authorities/subjects/sh1> Bees", "Bees--Flight"))
        >>> [(position, other) for _, _, position, other in bees.subjects(record)]
        [(0, ''), (None, 'lcsh'), (None, '')]
        """
        for text, code, chosen in with_sources(document):
            yield text, code, *self.subject(text, code, chosen)

    def subject(self, text: str, code: str = "", chosen: str = "") -> tuple[int | None, str]:
        """The position of one subject, and the code of its vocabulary, if that is another one.

        code: that of its vocabulary. chosen: the one that the user has named. Both may be blank.
        """
        code = main_code(code)
        ids, name = read_reference(text)
        if not ids and not code:
            return self.resolve(text), ""
        if not ids and is_address(name):
            ids, name = [name], ""
        found = next((place for each in ids if (place := self._with_id(each, code)) is not None), None)
        own = self._source_names if self.source else {*self._source_names, main_code(chosen)}
        if code and code not in own and (self.source or found is None):
            return None, code
        if found is not None:
            return (None if self._is_part(found, name) else found), ""
        others = (other for each in ids if (other := source_of(each)) and other not in own)
        if other := next(others, ""):
            return None, other
        return (self._referred(name) if name else None), ""

    def _with_id(self, label_id: str, code: str) -> int | None:
        """The label with the id of a record's subject, also by its last part, unless that is of another vocabulary."""
        for id_ in (label_id, label_id.removeprefix(f"({code})")):
            if id_ in self.index:
                return self.index[id_]
        position = self._last_parts.get(last_part(label_id)) if last_part(label_id) else None
        if position is None:
            return None
        told = {source_of(self.ids[position]), source_of(label_id)} - {""}
        return position if len(told) < 2 else None

    def _is_part(self, position: int, heading: str) -> bool:
        """Whether a subdivided heading is narrower than the label, whose name is the main heading alone."""
        names = {_fold_name(name) for name in self._labels[position].all_names}
        main, subdivision, _ = heading.partition("--")
        return bool(subdivision) and _fold_name(main) in names and _fold_name(heading) not in names

    def has(self, value: str) -> bool:
        """Whether the value is a label, as `resolve` finds it."""
        return self.resolve(value) is not None

    def gold(self, documents: Iterable[Document], *, unknown: Unknown = "error") -> Run:
        """The labels of the documents as a Run, one row each; a label counts once, given by id or name (`resolve`).

        Subjects of other vocabularies are no labels (`subjects`) and are counted in the log. A label that the
        vocabulary lacks is split at separators if all parts are labels, as in "Bees; Honey". unknown: what to do
        about others that it lacks, and names that several labels share; a warning gives the number of each, the first
        few, and the first document. Raises InputError naming document and label for "error".
        """
        missing, first, others = Counter[str](), dict[str, str](), Counter[str]()
        strict = unknown == "error"
        rows = (set(self._gold(document, None if strict else missing, first, others)) for document in documents)
        run = Run.from_rows(rows)
        if others and unknown != "ignore":
            self._say_others(others, len(run.labels), missing.total())
        if missing and unknown == "warn":
            self._say_left_out(missing, missing.total() + len(run.labels), first)
        return run

    def _say_left_out(self, missing: Counter[str], of: int, first: Mapping[str, str]) -> None:
        """Warn in a line of labels that are left out, and in another of those of which several share the name.

        first: label -> the document in which it is met first.
        """
        ambiguous = self.ambiguous(missing)
        unknown = [label for label in missing if label not in ambiguous]
        shared = [f"{name} ({', '.join(ids)})" for name, ids in ambiguous.items()]
        kinds = ("not in the vocabulary", unknown, unknown), ("ambiguous", shared, [*ambiguous])
        for problem, names, labels in kinds:
            if count := sum(missing[label] for label in labels):
                left_out = f"{problem} and are left out: {list_first(names)} (first: document {show(first[labels[0]])})"
                _log.warning("%s of %s gold labels are %s", f"{count:,}", f"{of:,}", left_out)

    def _say_others(self, others: Counter[str], found: int, unknown: int) -> None:
        """Log how many subjects are of other vocabularies."""
        codes = list_first([f"{code} {count:,}" for code, count in others.most_common()], 5)
        remedy = option("columns", f"labels={next(iter(others))}", python=f'labels="{next(iter(others))}"')
        unclear = f"which one these labels are, their ids do not tell; {remedy} says it"
        why = f"these labels are {self.source}" if self.source else unclear
        _log.warning(
            "labels: %s found, %s unknown, %s of another vocabulary (%s): %s", f"{found:,}", f"{unknown:,}",
            f"{others.total():,}", codes, why,
        )  # fmt: skip

    def has_all(self, cells: Iterable[str]) -> bool:
        """Whether the cells of a column hold ids and names of two labels or more, and nothing else.

        >>> birds = Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",))])
        >>> birds.has_all(["1; owls", "2"]), birds.has_all(["1; 3", "2"]), birds.has_all(["1"])
        (True, False, False)
        """
        parts = {part.strip() for cell in cells for part in re.split(r"[;|\r\n]", cell)} - {""}
        return len(parts) > 1 and all(
            part in self.index or bare_id(part) in self.index or self._with_name(part) is not None for part in parts
        )

    def ambiguous(self, names: Collection[str]) -> dict[str, list[str]]:
        """Name -> the ids of the labels that share it, of those names that several labels have.

        >>> Vocabulary([Label("1", ("Mercury",)), Label("2", ("Mercury",))]).ambiguous(["mercury", "Venus"])
        {'mercury': ['1', '2']}
        """
        unknown = {name: _fold_name(name) for name in names if self.resolve(name) is None}
        places, shared = {folded: set[int]() for folded in unknown.values()}, set[str]()
        for folded, found in places.items():
            if isinstance(self._labels, StoredLabels):
                found |= {label for label, _ in self._labels.named(folded, _fold_name)}
            elif self._names.get(folded, -1) is None:
                shared.add(folded)
            if self._names_by_language.get(folded, -1) is None:
                shared.add(folded)
        for place, label in enumerate(self if shared else ()):
            for folded in shared.intersection(map(_fold_name, label.all_names)):
                places[folded].add(place)
        several = {name: sorted(places[folded]) for name, folded in unknown.items() if len(places[folded]) > 1}
        return {name: [self.ids[place] for place in found] for name, found in several.items()}

    def _tagged(self) -> Iterator[tuple[int, str, str]]:
        """The position of the label, the code and the name of each name whose language is known."""
        return ((position, code, name) for position, pairs in self.texts("languages") for code, name in pairs)

    def own(self, documents: Sequence[Document]) -> Longs:
        """(documents,) the label that has the id of the document, such as a page that is a label too; -1 for none.

        >>> birds = Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",))])
        >>> birds.own([Document("2"), Document("3")]).tolist()
        [1, -1]
        """
        positions = (self.index.get(document.id, -1) for document in documents)
        return np.fromiter(positions, np.int64, len(documents))

    def broader(self, position: int) -> list[int]:
        """The positions of the labels directly above this one; ids that are not in the vocabulary are skipped."""
        return [self.index[label_id] for label_id in self._labels[position].broader if label_id in self.index]

    @cached_property
    def links(self) -> Run:
        """The labels directly above each label, a row for each; without ids that are not in the vocabulary."""
        if isinstance(self._labels, StoredLabels):
            return self._labels.links()
        index, size = self.index, len(self)
        above = ((row, parent) for row, label in enumerate(self._labels) for parent in label.broader if parent in index)
        rows, labels = np.divmod(np.unique(np.array([row * size + index[each] for row, each in above], np.int64)), size)
        return Run(np.searchsorted(rows, np.arange(size + 1)), labels.astype(np.int32), np.ones(len(rows), np.float32))

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """All labels above each label."""
        return Hierarchy(self.links)

    def branch(self, tops: Sequence[int] | Longs) -> Mask:
        """(labels,) true for these labels and all labels below them.

        >>> birds = Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",), broader=("1",)), Label("3", ("Fish",))])
        >>> birds.branch([0]).tolist()
        [True, True, False]
        """
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import breadth_first_order

        root, rows, above = len(self), self.links.rows, self.links.labels  # above all these labels
        edges = np.append(np.full(len(tops), root), above), np.append(tops, rows)
        below = csr_array((np.ones(len(edges[0]), np.int8), edges), (root + 1, root + 1))
        below_tops = np.zeros(root + 1, np.bool_)
        below_tops[breadth_first_order(below, root, return_predecessors=False)] = True
        return below_tops[:-1]

    def path(self, position: int, language: str = "") -> tuple[str, ...]:
        """The preferred names from the top down to this label, along the first broader label of each.

        language: code of the language of the names; a label without one in it keeps its preferred name.

        >>> birds = Vocabulary([Label("1", ("Birds",)), Label("2", ("Owls",), broader=("1",))])
        >>> birds.path(1)
        ('Birds', 'Owls')
        """
        upwards, above = dict[int, None](), [position]
        while above and above[0] not in upwards:
            upwards[above[0]] = None
            above = self.broader(above[0])
        return tuple(self._labels[place].name_in(language) for place in reversed(upwards))

    def shown_name(self, position: int, *, whole: bool = False) -> str:
        """The preferred name, or the path to it, separated by " > ", if requested or if another label shares the name.

        >>> zoo = [Label("1", ("Birds",)), Label("2", ("Eggs",), broader=("1",)), Label("3", ("Eggs",))]
        >>> Vocabulary(zoo).shown_name(1)
        'Birds > Eggs'
        """
        name = self._labels[position].name
        return ARROW.join(self.path(position)) if whole or self._with_name(name) is None else name

    def cycle(self) -> tuple[str, ...]:
        """The ids along a cycle of broader links, ending where it begins; empty when the links form a hierarchy."""
        try:
            TopologicalSorter({position: self.broader(position) for position in range(len(self))}).prepare()
        except CycleError as error:
            return tuple(self.ids[position] for position in reversed(error.args[1]))
        return ()

    @cached_property
    def _names(self) -> Mapping[str, int | None]:
        """Folded name -> position, None where it is ambiguous; a preferred name has precedence over any other name."""
        others = ((_fold_name(name), position) for position, label in enumerate(self) for name in label.names[1:])
        preferred = ((_fold_name(label.name), position) for position, label in enumerate(self))
        return {**find_unambiguous(others), **find_unambiguous(preferred)}

    @cached_property
    def _names_by_language(self) -> Mapping[str, int | None]:
        """Folded name in any language -> position, as `_names`: the first name in a language is preferred."""
        names = [(position, code, _fold_name(name)) for position, code, name in self._tagged()]
        preferred = {(position, code): name for position, code, name in reversed(names)}
        first = find_unambiguous((name, position) for (position, _), name in preferred.items())
        return {**find_unambiguous((name, position) for position, _, name in names), **first}

    @cached_property
    def _last_parts(self) -> Mapping[str, int | None]:
        """Last part of an id -> position, None where several ids share it."""
        return find_unambiguous((last_part(label_id), position) for position, label_id in enumerate(self.ids))

    @cached_property
    def _by_text(self) -> Mapping[str, Mapping[str, int | None]]:
        """Notation, or id of the same concept in another vocabulary -> position, None where several labels have it."""
        fields: tuple[Field, ...] = ("notation", "exact")
        return {
            name: find_unambiguous((text, at) for at, texts in self.texts(name) for text in texts) for name in fields
        }

    def texts(self, field: Field) -> Iterator[tuple[int, Sequence[Any]]]:
        """The position of each label that has texts in this field, and the texts."""
        labels = self._labels
        listed = labels.each(field) if isinstance(labels, StoredLabels) else (getattr(label, field) for label in labels)
        return ((place, [texts] if isinstance(texts, str) else texts) for place, texts in enumerate(listed) if texts)

    def _with_name(self, name: str) -> int | None:
        folded, labels = _fold_name(name), self._labels
        return labels.with_name(folded, _fold_name) if isinstance(labels, StoredLabels) else self._names.get(folded)

    def _referred(self, value: str) -> int | None:
        """The label of a notation or a reference."""
        ids, name = read_reference(value)
        known: Iterator[int | None] = chain(
            (self.index.get(id_) for id_ in ids),
            (self._last_parts.get(part) for part in filter(None, map(last_part, ids))),
            (self._by_text["exact"].get(id_) for id_ in ids),
            (self._by_text["notation"].get(text) for text in [name] if text),
            (self._with_name(text) for text in [name] if text),
            (self._names_by_language.get(_fold_name(text)) for text in [name] if text),
        )
        return next((position for position in known if position is not None), None)

    def _gold(
        self, document: Document, missing: Counter[str] | None, first: dict[str, str], others: Counter[str]
    ) -> Iterator[int]:
        """The known labels of a document; unknown ones are counted in `missing`, or else an error.

        first: gets the document in which an unknown label is met first. others: counts subjects of other vocabularies.
        """
        for label, code, position, other in self.subjects(document):
            if position is not None:
                yield position
            elif other:
                others[other] += 1
            elif not code and (several := self._several(label)):
                yield from several
            elif missing is not None:
                missing[label] += 1
                first.setdefault(label, document.id)
            else:
                ids = self.ambiguous([label]).get(label)
                shared = f"ambiguous, the name of {', '.join(ids)}; give an id" if ids else ""
                problem = shared or f"not in the vocabulary{self._nearest(label)}"
                raise InputError(f"document {show(document.id)} has the label {show(label)}, which is {problem}")

    def _several(self, text: str) -> list[int]:
        """The labels in a text that are all in the vocabulary, between separators; none where one is not.

        doccano writes `#` between them.
        """
        for mark in (mark for mark in ";|\n#," if mark in text):
            positions = [self.resolve(part) for part in text.split(mark) if part.strip()]
            if positions and None not in positions:
                return [position for position in positions if position is not None]
        return []

    def _nearest(self, label_id: str) -> str:
        """A hint for an error message."""
        near = find_nearest(label_id, self.ids)
        return f"; did you mean {show(near)}?" if near else ""


def label_test(vocabulary: Callable[[], Vocabulary]) -> Callable[[str], bool]:
    """Whether a text is a label of a vocabulary, which is read when the first text is to be tested."""
    known = cache(vocabulary)
    return lambda text: known().has(text)


def _as_labels(items: Iterable[Label | str]) -> tuple[Label, ...]:
    """Labels are kept; a name becomes a label with the name as its id. Null and NaN are counted and left out.

    Raises InputError for anything else.
    """
    if isinstance(items, str):
        raise InputError(f"the labels are the text {show(items)}, expected a list of names or of labels")
    every = list(enumerate(items, 1))
    if blank := [str(position) for position, item in every if is_missing(item)]:
        _log.warning("labels: %s without a name left out: %s", plural(len(blank), "row"), list_first(blank))
    return tuple(_as_label(item, position) for position, item in every if not is_missing(item))


def _as_label(item: object, position: int) -> Label:
    if isinstance(item, Label):
        return item
    if not isinstance(item, str):
        raise InputError(f"label {position} is {show(item)}, expected a name or a Label(id, names)")
    name = clean(item).strip()
    return Label(name, (name,))


def first_duplicate(labels: Sequence[Label]) -> tuple[int, int]:
    """The positions of the first two labels with one id, twice 0 where there are none; for a million, a second."""
    first = dict[str, int]()
    twice = ((first[label.id], i) for i, label in enumerate(labels) if first.setdefault(label.id, i) != i)
    return next(twice, (0, 0))


def find_unambiguous(names: Iterable[tuple[str, T]]) -> dict[str, T | None]:
    """Name -> the only label that has it, as a position or id; None for a name of several."""
    labels: dict[str, T | None] = {}
    for name, label in names:
        if labels.setdefault(name, label) != label:
            labels[name] = None
    return labels


def _fold_name(name: str) -> str:
    return " ".join(clean(name).casefold().split())


Labels: TypeAlias = (
    Vocabulary
    | Iterable[Label | str | Mapping[str, Any]]
    | Mapping[str, str]
    | Mapping[str, Sequence[str]]
    | Table
    | Path
    | str
)
"The forms in which labels are accepted; a single text is the name of a file."
