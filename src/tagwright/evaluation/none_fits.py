"""Measure how well a tagger tells documents that no label of its vocabulary fits from those that have one."""

from typing import Any, NamedTuple

import numpy as np

from tagwright.combining.confidence import LIKELY
from tagwright.core.display import plural
from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.tables import Rows, percent
from tagwright.types import Floats, Run


class ToldApart(NamedTuple):
    """How well out-of-domain documents, which no label fits, are told from those with gold labels; from 0 to 1.

    documents: out of domain. area: under the ROC curve, 1 if each of these looks less fitting than every other. missed:
    those that pass where 95% of the others do. said: those of which it is said that no label fits; wrongly: others.
    """

    documents: int
    area: float
    missed: float
    said: float
    wrongly: float

    def to_json(self) -> dict[str, Any]:
        """Return the numbers."""
        return {name: round(value, 6) for name, value in self._asdict().items()}

    def rows(self) -> Rows:
        """Return the table, in percent."""
        told = {
            f"area under the curve, {plural(self.documents, 'document')} out of domain": self.area,
            "pass where 95% of the others do": self.missed,
            "no label fits, rightly": self.said,
            "no label fits, wrongly": self.wrongly,
        }
        return [["%", "no label fits"], *([name, percent(value)] for name, value in told.items())]


def tell_apart(fitting: Run, out_of_domain: Run) -> ToldApart:
    """Measure it by the probabilities of two runs.

    Raises ConfigError where they have none, InputError without documents out of domain.

    The probabilities of three of four pairs are in order. All documents with labels have .4 or less, as has one
    of two out of domain; one has more than .5.

    >>> runs = (Run.from_rows([[1], [2]]), np.array([0.2, 0.4])), (Run.from_rows([[1], []]), np.array([0.3, 0.9]))
    >>> tell_apart(*(Run(run.indptr, run.labels, run.scores, None, none) for run, none in runs))
    ToldApart(documents=2, area=0.75, missed=0.5, said=0.5, wrongly=0.0)
    """
    from sklearn.metrics import roc_auc_score

    if fitting.none is None or out_of_domain.none is None:
        raise ConfigError("this tagger has no confidences, and cannot say whether any label fits; train it again")
    if not len(out_of_domain):
        raise InputError("no documents out of domain; name some that no label fits")
    both: Floats = np.concatenate([fitting.none, out_of_domain.none])
    area = roc_auc_score(np.repeat([0, 1], [len(fitting), len(out_of_domain)]), both)
    passing = float((out_of_domain.none <= np.quantile(fitting.none, 0.95)).mean())
    said, wrongly = (float((run.none > LIKELY).mean()) for run in (out_of_domain, fitting) if run.none is not None)
    return ToldApart(len(out_of_domain), float(area), passing, said, wrongly)
