"""Draw training pairs of texts: RTS and its segments, the inverse cloze task, SimCSE, labels known or guessed.

A source gives the pairs of an epoch well shuffled: batches may take them in order. The draw for a document depends only
on the seed, the epoch and the document's position, not on how much is read at a time.

The group of a pair identifies its subject: a number made from a title or a label's name. So the pairs of one document,
of two documents with one title, and of a label and its duplicate share it, within a source and across.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate, chain, groupby
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator

from tagwright.core.checked import Checked
from tagwright.errors import ConfigError
from tagwright.text.words import sentence_spans
from tagwright.types import Document, Label, Pair, Run

Key: TypeAlias = tuple[int, ...]
"The integers that seed a random generator."

BLOCK = 32
"Neighbouring items that are read together: single documents take five times as long to read from disk."

WINDOW = 1 << 25
"""Characters of pairs that are shuffled together: tens of thousands of segments, so that a batch seldom holds many of
one block. Of whole texts, which are longer, a batch holds more neighbours than a full shuffle would."""


@dataclass(frozen=True)
class Source:
    """A PairSource: visits blocks of its items in an order drawn for the epoch, draws their pairs, and mixes them.

    items: the number of documents, labels or suggestions. draw: from a range of them and the key of the epoch to their
    pairs. full_shuffle: whether all pairs of an epoch are shuffled together, in memory. `a + b` is the source of the
    pairs of both, mixed.
    """

    items: int
    draw: Callable[[range, Key], Iterable[Pair]]
    seed: int = 0
    full_shuffle: bool = False

    def __call__(self, epoch: int) -> Iterator[Pair]:
        """The pairs of an epoch, the same for the same seed and epoch."""
        rng = np.random.default_rng((self.seed, epoch))
        blocks = self._blocks()
        pairs = self._draw((blocks[i] for i in rng.permutation(len(blocks)).tolist()), epoch)
        for window in [list(pairs)] if self.full_shuffle else _windows(pairs):
            yield from map(window.__getitem__, rng.permutation(len(window)).tolist())

    def __add__(self, other: "Source") -> "Source":
        """The pairs of both, under the seed of the first."""

        def draw(block: range, key: Key) -> Iterator[Pair]:
            yield from self.draw(range(block.start, min(block.stop, self.items)), key)
            yield from other.draw(range(max(block.start - self.items, 0), max(block.stop - self.items, 0)), key)

        return replace(self, items=self.items + other.items, draw=draw)

    def checked(self, reason: str) -> Self:
        """This source. Raises ConfigError with the reason when it has no pairs; reads no further than the first."""
        if next(self._draw(self._blocks(), epoch=0), None) is None:
            raise ConfigError(reason)
        return self

    def _blocks(self) -> list[range]:
        return [range(start, min(start + BLOCK, self.items)) for start in range(0, self.items, BLOCK)]

    def _draw(self, blocks: Iterable[range], epoch: int) -> Iterator[Pair]:
        return chain.from_iterable(self.draw(block, (self.seed, epoch)) for block in blocks)


def of_documents(
    documents: Sequence[Document], pairs: Callable[[Document, int, Key], Iterable[Pair]], seed: int
) -> Source:
    """The source of the pairs that a function makes of each document, its position and the key of the epoch."""

    def draw(block: range, key: Key) -> Iterator[Pair]:
        for place, document in enumerate(documents[block.start : block.stop], block.start):
            yield from pairs(document, place, key)

    return Source(len(documents), draw, seed)


@dataclass(frozen=True, kw_only=True)
class RtsOptions(Checked):
    """Which texts RTS pairs. Raises ConfigError when no pairs are possible."""

    segmentation: "Segmentation" = "random"
    "How text is cut; the other two are for comparison (RTS Table 5)."
    min_words: int = 40
    "L_min, the paper's for product texts; 80 for encyclopedia articles (RTS Table 3)."
    max_words: int = 80
    "L_max; in the paper always twice L_min (RTS 3.3)."
    title_pairs: bool = True
    "(title, segment); the paper leaves them out for articles, which often repeat their title (RTS 4.2.3)."
    segment_pairs: bool = True
    "(segment, segment)."
    label_pairs: bool = True
    "A label's name and description paired like title and text, or its text with itself."
    self_pairs: bool = False
    "(title, title), and (name, name) for a label's pairs, distinguished by dropout: only in the published code of RTS."
    full_shuffle: bool = False
    """Whether all pairs of an epoch are shuffled together, as in the paper. They are all in memory then; otherwise
    neighbouring documents are read together, and shuffled in windows of tens of thousands of pairs."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.min_words <= self.max_words:
            raise ConfigError(
                f"min_words is {self.min_words} and max_words {self.max_words}; "
                "expected min_words of at least 1 and at most max_words"
            )
        if not (self.title_pairs or self.segment_pairs or self.label_pairs):
            raise ConfigError("title_pairs, segment_pairs and label_pairs are all off; switch one on")


def rts_pairs(
    documents: Sequence[Document], labels: Sequence[Label], options: RtsOptions | None = None, *, seed: int = 0
) -> Source:
    """Pairs of titles and randomly cut segments of the text below them (RTS 3.2.1, 3.2.2), cut anew each epoch.

    A document with k segments gives k pairs (title, segment), and ceil(k / 2) pairs (segment, segment) in which every
    segment occurs; for odd k the last one is paired with segment 1; a single segment has no partner. A label gives the
    same pairs from its name and description or, if there are none, one pair of its text with itself, distinguished by
    dropout. Raises ConfigError when the documents lack what the pairs are made of.

    >>> twos = RtsOptions(min_words=2, max_words=2, segment_pairs=False)
    >>> source = rts_pairs([Document("1", "Bees", "They fly and sting.")], [], twos)
    >>> sorted(pair.positive for pair in source(epoch=0))
    ['They fly', 'and sting.']
    """
    options = options or RtsOptions()

    def of_document(document: Document, place: int, key: Key) -> Iterable[Pair]:
        title, text = document.title.strip(), _contents(document)
        group = group_of_document(document)
        own = [Pair(title, title, group)] if options.self_pairs and title else []
        return own + _structural_pairs(title, text, group, options, (*key, 1, place))

    def of_labels(block: range, key: Key) -> Iterator[Pair]:
        for item in block:
            label = labels[item]
            group = group_of(label.name)
            if options.self_pairs:
                yield Pair(label.name, label.name, group)
                continue
            own = _structural_pairs(label.name, label.description, group, options, (*key, 2, item))
            yield from own or [Pair(label.text, label.text, group)]

    pairs_of_labels = Source(len(labels) if options.label_pairs else 0, of_labels, seed, options.full_shuffle)
    if not (options.title_pairs or options.segment_pairs):
        return pairs_of_labels.checked("only label_pairs is on, and there are no labels")
    if options.title_pairs and not any(document.title.strip() for document in documents):
        raise ConfigError(f"title_pairs is on, but none of {len(documents)} documents has a title; switch it off")
    return pairs_of_labels + of_documents(documents, of_document, seed).checked(
        f"none of {len(documents)} documents gives a pair: title_pairs needs a title and text below it, "
        "segment_pairs text for two segments; lower min_words or switch on the other"
    )


def ict_pairs(
    documents: Sequence[Document], *, by_title: bool = True, without_title: float = 0.0, seed: int = 0
) -> Source:
    """Inverse cloze task as MACLR has it (4.2): (context, title), the context being all text below the title.

    by_title: whether documents of one title are one group. without_title: how often the title is taken out of a
    sentence of the context. Raises ConfigError when no document has both title and context.
    """

    def of_document(document: Document, place: int, key: Key) -> Iterator[Pair]:
        title, context = document.title.strip(), _contents(document)
        if without_title and title in context:
            sentences = [context[start:end] for start, end in sentence_spans(context)]
            taken = np.random.default_rng((*key, 3, place)).random(len(sentences)) < without_title
            context = " ".join(
                text.replace(title, "") if out else text for text, out in zip(sentences, taken, strict=True)
            )
        if title and context.strip():
            yield Pair(context, title, group_of_document(document) if by_title else place)

    return of_documents(documents, of_document, seed).checked(
        f"none of {len(documents)} documents has both a title and text below it; ICT pairs these"
    )


def labelled_pairs(documents: Sequence[Document], labels: Sequence[Label], run: Run, *, seed: int = 0) -> Source:
    """(document text, label text) for every suggestion of the run, in the group of the label.

    The run may hold gold labels (FS-XMC), or the best few of a stage as pseudo labels: `run.top(3)` in MACLR 4.3.
    Another right label of the same document is a negative if both are in a batch, as in Eq. 1 of MACLR (FS-XMC). Its
    Stage II sums over all pairs of a document instead. Raises ConfigError when the run is empty.
    """
    rows, chosen = run.rows, run.labels

    def draw(block: range, _: Key) -> Iterator[Pair]:
        for row, items in groupby(block, rows.__getitem__):
            text = documents[int(row)].text
            if text.strip():
                for label in (labels[int(chosen[item])] for item in items):
                    yield Pair(text, label.text, group_of(label.name))

    return Source(len(rows), draw, seed).checked(
        f"none of {len(documents)} documents has both text and a label to learn from"
    )


def sample_documents(documents: Sequence[Document], count: int, *, seed: int = 0) -> Sequence[Document]:
    """`count` documents drawn at random, in their order, or all if there are no more.

    The first documents are often alike.
    """
    if len(documents) <= count:
        return documents
    chosen = np.sort(np.random.default_rng(seed).permutation(len(documents))[:count])
    return [documents[position] for position in chosen.tolist()]


def group_of(text: str) -> int:
    """The group of this title or name: 63 bits of a hash, the same on every machine, ignoring case and spaces.

    >>> group_of("Honey  bee") == group_of("honey bee") != group_of("honey bees")
    True
    """
    return int.from_bytes(blake2b(" ".join(text.casefold().split()).encode(), digest_size=8).digest(), "big") >> 1


def group_of_document(document: Document) -> int:
    """Return the group of a document, by its title, or by its id without a title."""
    return group_of(document.title.strip() or document.id)


def _windows(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    window: list[Pair] = []
    characters = 0
    for pair in pairs:
        window.append(pair)
        characters += len(pair.anchor) + len(pair.positive)
        if characters >= WINDOW:
            yield window
            window, characters = [], 0
    yield window


def _structural_pairs(title: str, text: str, group: int, options: RtsOptions, key: Key) -> list[Pair]:
    if not text:
        return []
    rng = np.random.default_rng(key)
    pieces = segments(text, options.segmentation, options.min_words, options.max_words, rng)
    pairs = [Pair(title, piece, group) for piece in pieces] if options.title_pairs and title else []
    if options.segment_pairs:
        pairs += [Pair(pieces[i], pieces[j], group) for i, j in _partners(len(pieces), rng)]
    return pairs


def _partners(k: int, rng: Generator) -> Iterable[tuple[int, int]]:
    """ceil(k / 2) pairs of different numbers below k that cover all; for odd k the last pair ends in 0."""
    order = rng.permutation(k).tolist() if k > 1 else []
    if len(order) % 2:
        if order[-1] == 0:  # the partner must not be the last one itself
            order[0], order[-1] = order[-1], order[0]
        order.append(0)
    return zip(order[::2], order[1::2], strict=True)


def _contents(document: Document) -> str:
    """All text but the title."""
    return replace(document, title="").text


Segmentation: TypeAlias = Literal["random", "fixed", "natural"]
"random: lengths between the bounds, redrawn each time; fixed: their mean; natural: sentences (RTS 3.2.1, 4.5)."


def segments(text: str, kind: Segmentation, min_words: int, max_words: int, rng: Generator) -> list[str]:
    r"""Cut a text into segments (RTS 3.2.1).

    Words are separated by spaces; a segment joins its words with single spaces. When the last segment has fewer than
    min_words / 2 words, it is joined to the one before it. Sentences are left as they are, whatever their length. A
    text without words has no segments.

    Of five words cut in twos, the last is alone; cut in fours, it is shorter than 4 / 2.

    >>> import numpy as np
    >>> text, rng = "To be, or not\nto...", np.random.default_rng(0)
    >>> segments(text, "fixed", 2, 2, rng)
    ['To be,', 'or not', 'to...']
    >>> segments(text, "fixed", 4, 4, rng)
    ['To be, or not to...']
    >>> segments(text, "natural", 4, 4, rng)
    ['To be, or not', 'to...']
    """
    if kind == "natural":
        return [text[start:end] for start, end in sentence_spans(text)]
    words = text.split()
    if len(words) <= min_words:
        return [" ".join(words)] if words else []
    if kind == "fixed":
        mean = (min_words + max_words) // 2
        cuts = list(range(mean, len(words), mean))
    else:
        enough = rng.integers(min_words, max_words, size=len(words) // min_words + 1, endpoint=True)
        cuts = [end for end in accumulate(enough.tolist()) if end < len(words)]
    if cuts and len(words) - cuts[-1] < min_words / 2:
        cuts.pop()
    return [" ".join(words[start:end]) for start, end in zip([0, *cuts], [*cuts, len(words)], strict=True)]
