"""Draw training pairs and triples of documents that metadata join (MICoL 3.3.2, FuTex 3.1), and mix sources of pairs.

A pair of documents has the groups of both, so that neither is its own negative; the group of the first decides whether
it is for validation. A pair of a document and a short text, such as a keyword, has the groups of both too; there the
group of the text decides.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import count as numbers
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.random import Generator

from tagwright.data.paragraphs import SHORTEST, is_long
from tagwright.errors import ConfigError
from tagwright.graph.neighbours import Neighbours
from tagwright.papers.pairs import Key, Source, group_of, group_of_document, of_documents
from tagwright.training.batching import is_validation
from tagwright.types import Document, Label, Longs, Pair, PairSource, Run

T = TypeVar("T")

View: TypeAlias = Callable[[Document, Key], str]
"The training text of a document; the integers seed a random choice."

KEPT = 1 << 17
"Titles and abstracts that stay in memory, about 200 MB."

ROUNDS = 1 << 16
"The most restarts of a source in an epoch of a mixture."


def metadata_pairs(
    documents: Sequence[Document],
    neighbours: Neighbours,
    count: int,
    *,
    by_value: bool = False,
    validation: float = 0.0,
    view: View | None = None,
    seed: int = 0,
) -> Source:
    """(d, d+): `count` documents that have a neighbour, and one neighbour of each (MICoL A.3.1), drawn anew each epoch.

    d+ is uniform over N_M(d) (Eq. 15), or with by_value as `Neighbours.draw_by_value` has it. The text of a document is
    its title and abstract, or that of `view`. validation: the share of groups that the trainer keeps for validation
    under this seed; their documents are then no d+ of training pairs, so that no validation document is trained on.

    Raises InputError when the meta-path joins no two documents, ConfigError when those it joins have no text.
    """
    sample = lru_cache(1)(partial(neighbours.sample, count, seed=seed, by_value=by_value))
    read = _reader(documents, view)

    def draw(block: range, key: Key) -> Iterator[Pair]:
        drawn = zip(*(places[block.start : block.stop] for places in sample(epoch=key[-1])), strict=True)
        for item, (here, there) in enumerate(drawn, block.start):
            anchor, positive = read(int(here)), read(int(there))
            d, d_plus = _texts(view, (anchor, positive), (*key, item))
            if d and d_plus and _is_apart(anchor, positive, validation, seed):
                yield Pair(d, d_plus, group_of_document(anchor), other=group_of_document(positive))

    return Source(count, draw, seed).checked(_no_text(neighbours))


def metadata_triples(
    documents: Sequence[Document],
    neighbours: Neighbours,
    count: int,
    *,
    by_value: bool = False,
    validation: float = 0.0,
    view: View | None = None,
    seed: int = 0,
) -> PairSource:
    """The pairs of `metadata_pairs`, each with a negative: a random document d- (MICoL A.3.1), never d nor in N_M(d).

    A document whose neighbours are nearly all others may give none. Raises as `metadata_pairs` does, and ConfigError
    when no document has a negative.
    """
    read = _reader(documents, view)

    @lru_cache(1)
    def sampled(epoch: int) -> tuple[Longs, Longs, Longs]:
        anchors, positives = neighbours.sample(count, seed=seed, epoch=epoch, by_value=by_value)
        return anchors, positives, _random_negatives(neighbours, anchors, np.random.default_rng((seed, epoch, 1)))

    def draw(epoch: int) -> Iterator[Pair]:
        for item, places in enumerate(zip(*(drawn.tolist() for drawn in sampled(epoch)), strict=True)):
            anchor, positive, negative = map(read, places)
            d, d_plus, d_minus = _texts(view, (anchor, positive, negative), (seed, epoch, item))
            apart = all(_is_apart(anchor, other, validation, seed) for other in (positive, negative))
            if d and d_plus and d_minus and places[-1] >= 0 and apart:
                yield Pair(d, d_plus, group_of_document(anchor), negative=d_minus)

    if next(draw(0), None) is None:
        raise ConfigError(f"{_no_text(neighbours)}, or none has a document that it is not joined with as a negative")
    return draw


def value_pairs(documents: Sequence[Document], field: str, *, seed: int = 0) -> Source:
    """(document, value) for every value of a metadata field of texts, such as keywords; the group is the value's.

    Pairs a long text with a short one, as a document and a label are. In a batch, another value of the document can be
    a negative, if a pair of another document has it. Raises ConfigError when there is no such pair.

    >>> bees = Document("1", "Bees", "They fly.", metadata={"keyword": ("insect", "wing")})
    >>> sorted(pair.positive for pair in value_pairs([bees], "keyword")(epoch=0))
    ['insect', 'wing']
    """
    problem = f'none of {len(documents)} documents has both text and metadata "{field}"; name a field of short texts'
    return _short_pairs(documents, lambda document, _: document.metadata.get(field, ()), seed, problem)


def name_pairs(documents: Sequence[Document], labels: Sequence[Label], run: Run, *, seed: int = 0) -> Source:
    """(document, name of a label) for every suggestion of the run, such as the labels whose names a document holds.

    Raises ConfigError when there is no such pair.
    """
    problem = f"none of {len(documents)} documents has both text and a label that it names"
    return _short_pairs(
        documents, lambda _, place: [labels[each].name for each in run[place][0].tolist()], seed, problem
    )


def with_negatives(pairs: PairSource, *, seed: int = 0) -> Callable[[int], Iterator[Pair]]:
    """The pairs with negatives: that of each is the positive of a pair of another group, never one of its anchor.

    So negatives resemble positives, for instance in length. Neighbours of the anchor can be among them: a source that
    knows the neighbours gives better triples. All pairs of an epoch are in memory.
    """

    def triples(epoch: int) -> Iterator[Pair]:
        drawn, own = list(pairs(epoch)), defaultdict[str, set[str]](set)
        for pair in drawn:
            own[pair.anchor].add(pair.positive)
        rng = np.random.default_rng((seed, epoch))
        for pair in drawn:
            others = (drawn[i] for i in rng.integers(len(drawn), size=10).tolist())
            foreign = (o.positive for o in others if o.group != pair.group and o.positive not in own[pair.anchor])
            negative = next(foreign, None)
            if negative is not None:
                yield Pair(pair.anchor, pair.positive, pair.group, negative=negative)

    return triples


def mix_sources(parts: Mapping[Callable[[int], Iterable[T]], float], count: int) -> Callable[[int], Iterator[T]]:
    """A source that alternates: `count` items an epoch, evenly mixed in proportion to the weights.

    A source that ends is restarted. Raises ConfigError for a weight that is not positive, or an empty source. Of
    weights 2 and 1, the first source gives two of three:

    >>> "".join(mix_sources({lambda epoch: "aA": 2.0, lambda epoch: "b": 1.0}, 6)(0))
    'abAabA'
    """
    if not parts or min(parts.values()) <= 0:
        raise ConfigError(f"a mixture with the weights {list(parts.values())}; expected positive numbers")
    shares = np.array(list(parts.values())) / sum(parts.values())

    def draw(epoch: int) -> Iterator[T]:
        streams, drawn = [_repeat_source(source, epoch) for source in parts], np.zeros(len(parts))
        for number in range(1, count + 1):
            behind = int(np.argmax(number * shares - drawn))
            drawn[behind] += 1
            yield next(streams[behind])

    return draw


def text_of(document: Document) -> str:
    """The training text of a document: title and abstract, or all of it if there is neither."""
    return (document.title_and_abstract or document.text).strip()


def _texts(view: View | None, documents: Sequence[Document], key: Key) -> list[str]:
    return [view(document, (*key, end)) if view else text_of(document) for end, document in enumerate(documents)]


def _reader(documents: Sequence[Document], view: View | None) -> Callable[[int], Document]:
    """A function that reads a document.

    Titles and abstracts stay in memory if nothing else is read, since they recur.
    """
    if view:
        return documents.__getitem__

    @lru_cache(KEPT)
    def read(index: int) -> Document:
        document = documents[index]
        if not document.title_and_abstract.strip():
            return document
        return Document(document.id, document.title, document.abstract)

    return read


def _random_negatives(neighbours: Neighbours, documents: Longs, rng: Generator) -> Longs:
    """For each of these documents another one that is not a neighbour; -1 where none is found."""
    drawn, pending = np.full(len(documents), -1), np.arange(len(documents))
    for _ in range(100):  # a negative that is a neighbour is redrawn as often
        others = rng.integers(len(neighbours), size=len(pending))
        near = neighbours.joins(documents[pending], others) | (others == documents[pending])
        drawn[pending[~near]] = others[~near]
        pending = pending[near]
        if not len(pending):
            break
    return drawn


def _is_apart(anchor: Document, other: Document, validation: float, seed: int) -> bool:
    """Whether a pair does not train on a validation document as its d+."""
    here, there = (is_validation(group_of_document(end), validation, seed) for end in (anchor, other))
    return here or not there


def _short_pairs(
    documents: Sequence[Document], values: Callable[[Document, int], Iterable[str]], seed: int, problem: str
) -> Source:
    def of_document(document: Document, place: int, _: Key) -> Iterator[Pair]:
        if text := text_of(document):
            own, short = group_of_document(document), values(document, place)
            yield from (Pair(text, value, group_of(value), other=own) for value in short if value.strip())

    return of_documents(documents, of_document, seed).checked(problem)


def _no_text(neighbours: Neighbours) -> str:
    return f'none of the documents that meta-path "{neighbours.expression}" joins has text'


def _repeat_source(source: Callable[[int], Iterable[T]], epoch: int) -> Iterator[T]:
    for number in numbers():
        empty = True
        for item in source(epoch * ROUNDS + number):
            empty = False
            yield item
        if empty:
            raise ConfigError("a mixture with a source that has no pairs; leave it out")


def one_paragraph(*, abstract: float = 0.5, shortest: int = SHORTEST) -> View:
    """Title and abstract with this probability, otherwise any paragraph (including title and abstract), uniformly.

    abstract: 0 as FuTex 3.1 has it; 0.5 as its published code does. shortest: words; shorter paragraphs are left out.
    The same document and key give the same paragraph; a document without text gives "".
    """

    def draw(document: Document, key: Key) -> str:
        rng, first = np.random.default_rng(key), document.title_and_abstract.strip()
        if first and rng.random() < abstract:
            return first
        texts = [text for text in (first, *(text for part in document.sections for text in part.paragraphs)) if text]
        drawn: list[str] = [texts[place] for place in rng.permutation(len(texts)).tolist()]
        # Only drawn paragraphs are counted: counting the words of a whole paper would dominate the time.
        kept = next((text for text in drawn if text is first or is_long(text, shortest)), None)
        return (kept or next(iter(drawn), "")).strip()

    return draw
