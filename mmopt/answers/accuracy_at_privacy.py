"""``mmopt.accuracy``: how accurate each answer will be at a privacy, before any data is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mmopt.answers.default_strategy import Solve, allowed_offer, default_strategy
from mmopt.answers.what_is_asked import PrivacyLike, asked
from mmopt.driver import solve
from mmopt.mechanism import Plan
from mmopt.mechanism.accuracy import check_confidence
from mmopt.mechanism.accuracy_columns import accuracy_columns
from mmopt.notebook import Tabular
from mmopt.report import accuracy_by_group, accuracy_by_query, display, privacy_rows
from mmopt.report.accuracy_chart import accuracy_figure
from mmopt.request import WorkloadLike
from mmopt.results import AnySolution, Frame
from mmopt.strategies import NeighboursLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Accuracy", "accuracy"]


@dataclass(frozen=True, eq=False)
class Accuracy(Tabular):
    """How accurate the answers of a release will be; it holds for a release of the same plan.

    words : one line: what was chosen, and what else there is.
    """

    plan: Plan
    solution: AnySolution
    confidence: float
    words: str

    @property
    def chosen(self) -> str:
        """The line that a notebook and ``mmopt accuracy`` show as "chosen": ``words``."""
        return self.words

    @property
    def rmse(self) -> float:
        """The root mean square of the queries' standard errors, in counts: the plan's."""
        return self.plan.rmse

    @property
    def errors(self) -> Frame:
        """One row a query: ``mechanism.accuracy_columns``."""
        return accuracy_columns(self.plan, self.confidence)

    def frame(self) -> Frame:
        """``errors``."""
        return self.errors

    def plot(self) -> Figure:
        """A matplotlib figure of the half widths of all queries; OptionError where it is not installed."""
        return accuracy_figure(self.plan, self.confidence)

    def __repr__(self) -> str:
        return f"Accuracy({self.words})"

    def _repr_html_(self) -> str:
        by_group = accuracy_by_group(self.plan, self.confidence)
        rows = [("chosen", self.words), *privacy_rows(self.plan)]
        return display(by_group, rows, accuracy_by_query(self.plan, self.confidence))


def accuracy(
    workload: WorkloadLike,
    privacy: PrivacyLike = None,
    *,
    neighbours: NeighboursLike | None = None,
    unit: NeighboursLike | None = None,
    solution: AnySolution | None = None,
    confidence: float = 0.95,
    refuse: bool = False,
    solved: Solve = solve,
    say: Callable[[str], None] = lambda _: None,
) -> Accuracy:
    """How accurate a release at this privacy will be: of a solution, or of the default strategy.

    Parameters
    ----------
    workload, privacy, neighbours, unit : as for ``release``. Where every query has a target, these set the
        noise, and no more is spent than they need; then there need be no privacy.
    confidence : of the intervals.
    refuse : targets that cost more than the privacy allows, as a release does; else all that it allows is
        spent, and ``errors`` say which are missed.
    solved, say : as for ``default_strategy``.

    Raises
    ------
    PrivacyError : neither privacy nor targets. mmopt.Error : as ``solve`` and ``plan``.
    """
    check_confidence(confidence)
    what = asked(workload, privacy, neighbours, unit)
    if solution is not None:
        one, missed = allowed_offer(what.workload, solution, what.privacy, what.neighbours, refuse=refuse)
        words = "; ".join([f"{one.words}: {one.figure}", *missed])
        return Accuracy(one.plan, solution, confidence, words)
    choice = default_strategy(what.workload, what.privacy, what.neighbours, solved, say, refuse=refuse)
    return Accuracy(choice.best.plan, choice.best.solution, confidence, choice.words)
