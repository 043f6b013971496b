"""Combine stages by a weighted sum, also with the labels of another stage after it (FuTex 3.3). Steps of a ranking.

The weights may follow from how often names, words and meaning agree, without labels. Stages are taken as annotators
whose errors are independent. What two of them have in common among their first labels then tells the quality of each of
three: the triplet method of weak supervision (Fu et al. 2020, "Fast and Three-rious", section 3). Two encoders share
errors, so each is judged with names and words alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from tagwright.combining.fusion import Weight, append_labels, reciprocal_ranks, summed_evidence
from tagwright.combining.pool import CandidatePool
from tagwright.combining.steps import Contributions, Step
from tagwright.core.checked import AtLeastOne, AtLeastZero, Checked, NotNegative, Probability
from tagwright.errors import ConfigError
from tagwright.types import Floats, Run

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
    def of(cls, names: Run, words: Run, dense: Mapping[str, Run]) -> Self:
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


@dataclass(frozen=True, kw_only=True)
class WeightedSum(Checked, Step):
    """Ranks candidates by a weighted sum over the stages; a single stage keeps its own scores."""

    by: Literal["evidence", "ranks"] = "evidence"
    """evidence: every stage scores the candidates of all, and the logarithms of the evidence are added. ranks:
    reciprocal ranks are added."""

    weights: Mapping[str, NotNegative] = field(default_factory=dict)
    "Stage -> weight; 1 for a stage that is not named. A stage of weight 0 is not made to score."

    language_trust: Mapping[str, str] = field(default_factory=dict)
    """Stage -> the stage by whose trust its weight is multiplied, document by document: how well that one's encoder
    knows the language of the text. Where several encoders are judged, that is multiplied by their trust over the
    greatest, so that one that hardly knows the language is silent beside one that does."""

    agreements: Agreements = field(default_factory=Agreements)
    "The agreement of stages on the documents to which the weights were fitted; of none where they were not."

    rank_constant: NotNegative = 60.0
    "60 is the constant of Cormack et al. 2009; 0 gives FuTex Eq. 9."

    def weight(self, stage: str) -> float:
        """Return the weight of a stage."""
        return self.weights.get(stage, 1.0)

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> tuple[str, ...]:
        """Raise ConfigError if all stages have weight 0, or `language_trust` names a stage that is missing."""
        stages = (*retrievers, *rerankers)
        if unknown := set(self.language_trust.values()) - set(stages):
            names = ", ".join(sorted(unknown))
            raise ConfigError(f"language_trust names {names}, the stages are {', '.join(stages)}; name one of these")
        if not any(map(self.weight, stages)):
            raise ConfigError("every stage has weight 0: nothing ranks the candidates")
        return ()

    def apply(self, pool: CandidatePool, run: Run) -> Run:  # noqa: ARG002
        """Return the candidates under the weighted sum of all stages whose weight is not 0."""
        voters = self._voters(pool)
        if len(voters) == 1 and pool.run is pool.found.get(voters[0]):
            ranked = pool.run
        elif len(voters) == 1 and self.by != "ranks":
            self._weights(voters, pool)  # warns of texts in a language that the encoder does not know
            ranked = pool.run.rescored(pool.scores(voters[0]))
        else:
            ranked = self._sum(voters, self._weights(voters, pool), pool)
        pool.keep_evidence(lambda: self._evidence(pool, ranked))
        return ranked

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return what each stage adds to each score: together they are the score."""
        voters = self._voters(pool)
        if len(voters) > 1:
            weights = self._weights(voters, pool)
            sums = [self._sum([name], [weight], pool) for name, weight in zip(voters, weights, strict=True)]
        else:
            sums = [self.apply(pool, run)]
        added = [each.scores_of(pool.run).astype(np.float64) for each in sums]
        return Contributions(pool.run, tuple(voters), np.stack(added, axis=1))

    def _evidence(self, pool: CandidatePool, ranked: Run) -> Run:
        """Return the mean evidence of the stages, by weight, as scores. ranked: by this sum."""
        voters, total = self._voters(pool), ranked
        if self.by != "evidence" or len(voters) == 1:  # else the score is the sum of the evidence
            total = replace(self, by="evidence")._sum(voters, self._weights(voters, pool), pool)
        return replace(total, scores=total.scores / np.float32(sum(map(self.weight, voters))))

    def _voters(self, pool: CandidatePool) -> list[str]:
        """The stages that count."""
        return [name for name in pool.stages if self.weight(name)]

    def _sum(self, voters: Sequence[str], weights: Sequence[Weight], pool: CandidatePool) -> Run:
        if self.by == "ranks":
            return reciprocal_ranks(list(map(pool.ranking, voters)), weights, self.rank_constant, pool.run)
        distributions = [pool.stages[name].distribution for name in voters]
        return summed_evidence(pool.run, list(map(pool.scores, voters)), distributions, weights)

    def describe(self, stages: Collection[str], before: str = "") -> str:  # noqa: ARG002
        """Return the stages with their weights: "exact_match 0.5, tfidf 1; combined by evidence"."""
        weights = ", ".join(f"{name} {self.weight(name):.3g}" for name in stages)
        fitted = f"; fitted: {self.agreements.reason}" if self.agreements.documents else ""
        return f"{weights}; combined by {self.by}{fitted}" if len(stages) > 1 else weights

    def _weights(self, voters: Sequence[str], pool: CandidatePool) -> list[Weight]:
        """Return the weight of each stage, per candidate if trust differs."""
        judges = [name for name in pool.stages if name in self.language_trust.values()]
        alone = len(judges) == 1  # where another encoder may know the language, nothing is warned of
        trusted = _compare_trust({name: pool.trust(name, self.weight(name) if alone else 0.0) for name in judges})

        def weight(name: str) -> Weight:
            trust = trusted.get(self.language_trust.get(name, ""))
            return self.weight(name) if trust is None else self.weight(name) * trust[pool.run.rows]

        return list(map(weight, voters))


def _compare_trust(trusted: Mapping[str, Floats | None]) -> dict[str, Floats | None]:
    """The trust of each stage, (documents,), times its share of the greatest; itself for one stage.

    >>> found = _compare_trust({"dense": np.float32([0.2, 1.0]), "dense-2": np.float32([0.8, 0.9])})
    >>> {name: [round(share, 2) for share in each.tolist()] for name, each in found.items()}
    {'dense': [0.05, 1.0], 'dense-2': [0.8, 0.81]}
    """
    known = [trust for trust in trusted.values() if trust is not None]
    if len(known) < 2:
        return dict(trusted)
    most = np.max(known, axis=0)
    return {name: None if trust is None else trust * trust / most for name, trust in trusted.items()}


@dataclass(frozen=True, kw_only=True)
class AppendLabels(Checked, Step):
    """The labels of another stage follow those of the ranking (FuTex Example 3.1), scored 1 / rank.

    Confidences after it use the logarithm of the rank: a curve over 1 / rank fits them worse.
    """

    by: str = ""
    "The retriever whose labels follow in their own order; it counts for nothing else."

    keep: AtLeastOne | None = None
    "How many labels of the sum stay before those that follow; None: all. Those that do not stay come last."

    def check(self, retrievers: Collection[str], rerankers: Collection[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Raise ConfigError where the stage that follows is no retriever."""
        if self.by not in retrievers:
            raise ConfigError(f'by is "{self.by}", expected a retriever: {", ".join(retrievers)}')
        return (self.by,)

    def apply(self, pool: CandidatePool, run: Run) -> Run:
        """Return the labels of the ranking, then those of the stage that follows."""
        both = append_labels(run if self.keep is None else run.top(self.keep), pool.found[self.by])
        return append_labels(both, run)

    def explain(self, pool: CandidatePool, run: Run, before: Contributions) -> Contributions:  # noqa: ARG002
        """Return nothing: the scores are ranks."""
        return Contributions.nothing(run)

    def describe(self, stages: Collection[str], before: str) -> str:  # noqa: ARG002
        """Return what goes before, and what follows."""
        return f"{before}; followed by {self.by}"
