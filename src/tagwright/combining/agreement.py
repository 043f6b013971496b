"""Judge names, words and meaning without labels: by how often they agree, and weigh them by it.

Stages are taken as annotators whose errors are independent. What two of them have in common among their first labels
then tells the quality of each of three: the triplet method of weak supervision (Fu et al. 2020, "Fast and Three-rious",
section 3). Two encoders share errors, so each is judged with names and words alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from tagwright.core.checked import AtLeastZero, Checked, Probability
from tagwright.types import Run

FIRST = 5
"Labels of each stage that are compared."

OFTEN = 2.0
"""How many times as often as meaning names must agree with words before meaning counts less. On 400 train documents of
tib and kirja each, 2 and 3 are equal and the best of 1, 1.25, 1.5, 2 and 3; those of mdn and arxiv have the usual
weights with any. Of equal ones the lowest is taken: a higher one hardly uses the estimates."""

PRIOR = 1.0
"So many documents are added on which names and meaning agree with words alike, so that few others change little."


@dataclass(frozen=True, kw_only=True)
class Agreements(Checked):
    """The mean share of the first labels that stages have in common, and of how many documents.

    names_words: of names and words. names, words: of names, or words, and each dense stage by its name.
    """

    documents: AtLeastZero = 0
    names_words: Probability = 0.0
    names: Mapping[str, Probability] = field(default_factory=dict)
    words: Mapping[str, Probability] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Run, words: Run, dense: Mapping[str, Run]) -> "Agreements":
        """Compare the runs of the stages over the same documents."""
        return cls(
            documents=len(names),
            names_words=agreement(names, words),
            names={name: agreement(names, run) for name, run in dense.items()},
            words={name: agreement(words, run) for name, run in dense.items()},
        )

    @property
    def qualities(self) -> dict[str, float]:
        """The estimated quality of "names", "words" and each dense stage, from 0 to 1.

        Of three stages that agree by .6 (1 and 2), .3 (1 and 3) and .2 (2 and 3), the first has sqrt(.6 * .3 / .2).

        >>> found = Agreements(documents=9, names_words=0.6, names={"dense": 0.3}, words={"dense": 0.2}).qualities
        >>> {name: round(quality, 3) for name, quality in found.items()}
        {'names': 0.949, 'words': 0.632, 'dense': 0.316}
        """
        names, words, both = sum(self.names.values()), sum(self.words.values()), self.names_words
        qualities = {"names": _quality(both, names, words), "words": _quality(both, words, names)}
        return qualities | {stage: _quality(self.names[stage], self.words[stage], both) for stage in self.names}

    @property
    def reason(self) -> str:
        """The finding, in a line."""
        estimated = ", ".join(f"{name} {quality:.2f}" for name, quality in self.qualities.items())
        weak = any(self.share(dense) < 1 for dense in self.words)
        said = "names agree with words here, meaning does not" if weak else "meaning agrees with words here"
        return f"{said} (qualities estimated without labels: {estimated})"

    def share(self, dense: str) -> float:
        """The share of its usual weight that suits a dense stage: 1, or less where names agree with words far oftener.

        Names agree with words by .45, meaning by .15: three times as often, and (2 / 3)^2 is .444.

        >>> Agreements(documents=10**9, names_words=0.45, words={"dense": 0.15}).share("dense").__round__(3)
        0.444
        """
        added = PRIOR / max(self.documents, 1)
        often = (self.names_words + added) / (self.words[dense] + added)
        return min(1.0, (OFTEN / often) ** 2)

    def weights(self, usual: Mapping[str, float], words: str) -> dict[str, float]:
        """The weights that suit the documents: as usual, but for a dense stage with which words hardly agree.

        That counts less, but no less than words. usual: stage -> weight. words: the stage that compares words.
        """
        least = {dense: min(usual[dense], usual[words]) for dense in self.words}
        return {**usual, **{dense: max(least[dense], usual[dense] * self.share(dense)) for dense in least}}


def agreement(first: Run, second: Run) -> float:
    """The mean share of the first five labels that two runs over the same documents have in common.

    >>> agreement(Run.from_rows([{1: 2.0, 2: 1.0}, {}]), Run.from_rows([{2: 1.0, 3: 0.5}, {3: 1.0}]))
    0.1
    """
    common = first.top(FIRST).held_by(second.top(FIRST)).sum()
    return float(common / (FIRST * max(len(first), 1)))


def _quality(with_one: float, with_other: float, of_these: float) -> float:
    return float(min(np.sqrt(with_one * with_other / of_these), 1.0)) if of_these else 0.0
