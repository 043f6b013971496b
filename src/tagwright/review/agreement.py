"""Measure how far reviewers agree beyond chance."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations, permutations


def cohens_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> float | None:
    """Agreement of two reviewers: (observed - expected) / (1 - expected) (Cohen 1960).

    pairs: both verdicts on each item. 1 is full agreement, 0 that of chance; None where there is no item, or all
    verdicts are the same and chance alone explains them.

    Of four items they agree on three; the first accepts 2, the second 3: expected 2/4 3/4 + 2/4 1/4 = 0.5, observed
    0.75.

    >>> cohens_kappa([("yes", "yes"), ("yes", "yes"), ("no", "yes"), ("no", "no")])
    0.5
    """
    listed = list(pairs)
    if not listed:
        return None
    firsts, seconds = (Counter(side) for side in zip(*listed, strict=True))
    observed = sum(first == second for first, second in listed) / len(listed)
    expected = sum(firsts[value] * seconds[value] for value in firsts) / len(listed) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorffs_alpha(items: Iterable[Sequence[Hashable]]) -> float | None:
    """Agreement of any number of reviewers: 1 - observed / expected disagreement, nominal (Krippendorff 2004).

    items: the verdicts on each item; those with fewer than two do not count. None where there is nothing to compare.

    Items yes-yes, no-no, yes-no: of 6 verdicts 3 are yes; observed disagreement 2/6, expected 2 * 3 * 3 / (6 * 5) =
    0.6, so 1 - (1/3) / 0.6 = 4/9.

    >>> round(krippendorffs_alpha([("yes", "yes"), ("no", "no"), ("yes", "no"), ("no",)]), 4)
    0.4444
    """
    rated = [verdicts for verdicts in items if len(verdicts) > 1]
    totals = Counter(verdict for verdicts in rated for verdict in verdicts)
    count = sum(totals.values())
    expected = sum(totals[a] * totals[b] for a, b in permutations(totals, 2))
    if not expected:
        return None
    observed = sum(sum(a != b for a, b in permutations(verdicts, 2)) / (len(verdicts) - 1) for verdicts in rated)
    return 1 - observed * (count - 1) / expected


def pairwise_kappas(verdicts: Mapping[str, Mapping[Hashable, Hashable]]) -> dict[tuple[str, str], float | None]:
    """Cohen's kappa of each two reviewers over the items that both have judged: reviewer -> item -> verdict."""
    return {
        (a, b): cohens_kappa((verdicts[a][item], verdicts[b][item]) for item in verdicts[a].keys() & verdicts[b].keys())
        for a, b in combinations(sorted(verdicts), 2)
    }
