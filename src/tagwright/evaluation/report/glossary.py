"""Each measure explained in one sentence, for readers who do not know it."""

from __future__ import annotations

from collections.abc import Iterable

from tagwright.evaluation.scores import split

SENTENCES = {
    "P": "Precision: of the first k suggestions, the share that is right.",
    "R": "Recall: of a document's right labels, the share that is among the first k suggestions.",
    "F1": "The harmonic mean of precision and recall of the first k suggestions of each document, averaged over the "
    "documents; the main measure of Annif.",
    "nDCG": "Like precision, but a right label counts more the earlier it stands; 100 is the best possible order.",
    "success": "The share of documents with at least one right label among the first k suggestions.",
    "macro-F1": "F1 of each label by itself, averaged over the labels: rare labels count as much as common ones.",
    "macro-F1-tail": "macro-F1 over the labels that 1 to 9 training documents have.",
    "PSP": "Precision in which rare labels count more than common ones (propensity-scored).",
    "PSnDCG": "nDCG in which rare labels count more than common ones (propensity-scored).",
    "macro-PSP": "PSP of each document, averaged over the documents.",
    "macro-PSnDCG": "PSnDCG of each document, averaged over the documents.",
    "raw-PSP": "PSP as printed by its authors, not divided by the greatest possible value.",
    "raw-PSnDCG": "PSnDCG as printed by its authors, not divided by the greatest possible value.",
    "coverage": "The share of the vocabulary that is suggested for any document among the first k.",
    "answered": "The share of documents with any suggestion at all.",
    "ECE": "Calibration error: how far confidence is from the share that is right, on average over ten groups of the "
    "first k suggestions that are equally sure; 0 is best.",
    "Brier": "The mean squared distance of the confidence of the first k suggestions from 100 where they are right and "
    "from 0 where they are wrong; 0 is best.",
    "AURC": "The share of wrong labels among the accepted when the surest are accepted first, averaged over how many "
    "of the first ten suggestions are accepted; low is good.",
    "AUGRC": "The share of suggestions that is both accepted and wrong, averaged in the same way: the few surest do "
    "not decide it; low is good.",
}
"Kind of measure -> its meaning."

SLICES = {
    "head": "the most frequent labels, which together are half of all labels of the training documents",
    "torso": "labels between head and tail",
    "tail": "labels that 1 to 9 training documents have",
    "seen": "labels that any training document has",
    "unseen": "labels that no training document has",
    "short": "the shortest third of the documents",
    "medium": "the middle third of the documents",
    "long": "the longest third of the documents",
}
"Slice -> what is in it."

_WHOLE = ("answered", "AURC", "AUGRC")
"Measures that have no k."


def sentence(name: str) -> str:
    """The sentence for one measure.

    >>> sentence("P@5")
    'Precision: of the first 5 suggestions, the share that is right.'
    """
    kind, k = split(name)
    if name == "P@1":
        return "Precision: the share of first suggestions that are right."
    return SENTENCES[kind].replace("first k", f"first {k}")


def explained(names: Iterable[str]) -> dict[str, str]:
    """The sentence for each kind of measure among the names, once.

    >>> list(explained(["P@1", "P@5", "answered"]))
    ['P@k', 'answered']
    """
    kinds = dict.fromkeys(split(name)[0] for name in names)
    return {kind if kind in _WHOLE else f"{kind}@k": SENTENCES[kind] for kind in kinds if kind in SENTENCES}
