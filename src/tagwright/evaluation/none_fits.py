"""Measure how well a tagger tells documents that no label of its vocabulary fits from those that have one."""

from typing import Any, NamedTuple

import numpy as np

from tagwright.combining.confidence import LIKELY
from tagwright.core.display import plural
from tagwright.errors import ConfigError, InputError
from tagwright.evaluation.tables import Rows, percent
from tagwright.types import Floats, Run


class ToldApart(NamedTuple):
    """How well strangers, documents that no label fits, are told from documents with gold labels; shares from 0 to 1.

    area: under the ROC curve, 1 if every stranger looks more like one than every other document. missed: strangers that
    pass where 95% of the others do. said: strangers of which it is said that no label fits; wrongly: others.
    """

    strangers: int
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
            f"area under the curve, {plural(self.strangers, 'stranger')}": self.area,
            "strangers that pass where 95% of the others do": self.missed,
            "strangers: no label fits": self.said,
            "others: no label fits": self.wrongly,
        }
        return [["%", "no label fits"], *([name, percent(value)] for name, value in told.items())]


def tell_apart(fitting: Run, strangers: Run) -> ToldApart:
    """Measure it by the probabilities of two runs.

    Raises ConfigError where they have none, InputError without strangers.

    The probabilities of three of four pairs are in order. All documents with labels have .4 or less, as has one
    stranger of two; one has more than .5.

    >>> runs = (Run.from_rows([[1], [2]]), np.array([0.2, 0.4])), (Run.from_rows([[1], []]), np.array([0.3, 0.9]))
    >>> tell_apart(*(Run(run.indptr, run.labels, run.scores, None, none) for run, none in runs))
    ToldApart(strangers=2, area=0.75, missed=0.5, said=0.5, wrongly=0.0)
    """
    from sklearn.metrics import roc_auc_score

    if fitting.none is None or strangers.none is None:
        raise ConfigError("this tagger has no confidences, and cannot say whether any label fits; train it again")
    if not len(strangers):
        raise InputError("no strangers; name documents that no label fits")
    both: Floats = np.concatenate([fitting.none, strangers.none])
    area = roc_auc_score(np.repeat([0, 1], [len(fitting), len(strangers)]), both)
    passing = float((strangers.none <= np.quantile(fitting.none, 0.95)).mean())
    said, wrongly = (float((run.none > LIKELY).mean()) for run in (strangers, fitting) if run.none is not None)
    return ToldApart(len(strangers), float(area), passing, said, wrongly)
