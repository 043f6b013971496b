"""Recommend methods to use.

Two methods are the best to begin with: zero_shot, and `auto` from twenty labelled documents on. Others are the best at
one thing, on data that allow it. docs/which-method.md compares the methods, with their figures.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

FEW_LABELLED = 20
"Labelled documents from which a learned combiner was better than fixed weights of the stages on most corpora."

ENOUGH = 1000
"Documents from which RTS, MICoL and FuTex learned in the tables of docs/results, at least."


class Advice(NamedTuple):
    """A method to use. command: the arguments of `tagwright` that run it. why: the reason, as part of a sentence."""

    method: str
    command: str
    why: str


DataCounts: TypeAlias = Mapping[str, int]
"""What a method learns from -> how much of it the data hold. labelled, titled, sections: documents with labels, with a
title and a text, with sections. linked: documents with the metadata field that joins most of them. per label: the mean
number of documents of a label. rare: labels of few documents."""

METHODS: Sequence[tuple[DataCounts, Advice]] = (
    (
        {"titled": ENOUGH},
        Advice(
            "rts",
            "train rts DOCS... --labels FILE --fuse --output DIR",
            "finds more of the right labels among the first hundred; the first five are as good as zero_shot's",
        ),
    ),
    (
        {"linked": ENOUGH},
        Advice(
            "micol",
            "train micol DOCS... --labels FILE --output DIR",
            "improves its encoder the most, by shared metadata; the suggestions are no better than zero_shot's",
        ),
    ),
    (
        {"sections": ENOUGH},
        Advice(
            "futex",
            "train futex DOCS... --labels FILE --output DIR",
            "the first suggestion is right more often on full papers; the first five are about as good as zero_shot's",
        ),
    ),
    (
        {"labelled": ENOUGH, "per label": 100},
        Advice(
            "svm",
            "train svm DOCS... --labels FILE --output DIR",
            "with so many documents for each label one quick stage without an encoder is nearly as good as auto",
        ),
    ),
    (
        {"labelled": ENOUGH, "rare": 500},
        Advice(
            "depl",
            "train depl DOCS... --labels FILE --output DIR --set variant=depl_cls",
            "of the published methods the best on rare labels; it can suggest labels that no document has",
        ),
    ),
)
"""The least counts that a published method needs to be the best at something. What `train auto` tries: see
auto/out_of_fold.py."""


def next_step(labelled: int) -> str:
    """Say how many more documents to label; return an empty text if many are labelled already.

    labelled: the number of labelled documents.

    >>> next_step(40)
    'label 260 more documents (page "Few labelled documents")'
    >>> next_step(151)
    ''
    """
    # The smaller of the two sizes measured on that page that at least doubles what is labelled.
    wanted = next((size for size in (50, 300) if size >= max(1, 2 * labelled)), 0)
    return (
        f'label {wanted - labelled} {"more " * bool(labelled)}documents (page "Few labelled documents")'
        if wanted
        else ""
    )


def best_at(counts: DataCounts) -> list[Advice]:
    """Return the published methods for which there is enough to learn from, with what each is best at.

    >>> [advice.method for advice in best_at({"sections": 2000})]
    ['futex']
    """
    return [advice for needs, advice in METHODS if all(counts.get(name, 0) >= least for name, least in needs.items())]


def advise(labelled: int) -> Advice:
    """Return the method to begin with for this number of labelled documents.

    >>> advise(19).method, advise(20).method
    ('zero_shot', 'auto')
    """
    page = 'page "Which method when"'  # by its title, since pages are not installed
    if labelled < FEW_LABELLED:
        why = (
            f"fewer than {FEW_LABELLED} labelled documents (here {labelled}): no method that is trained without labels "
            f"is clearly better in the first five ({page})"
        )
        return Advice("zero_shot", "suggest DOCS... --labels FILE", why)
    why = (
        f"{FEW_LABELLED} labelled documents or more (here {labelled:,}): it learns from them how far to trust each "
        f"stage, the SVM among them, and is better than any method alone ({page})"
    )
    return Advice("auto", "train auto DOCS... --labels FILE --output DIR", why)
