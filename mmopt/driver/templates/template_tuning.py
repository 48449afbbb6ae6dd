"""Tuning of a sub-workload with strategies in factors, as the slides show it for Laplace noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mmopt.driver.templates.every_template import templates
from mmopt.driver.weight_tuning import FoundStrategy, Tuned, tuned
from mmopt.errors import WorkloadError
from mmopt.workloads import Workload

__all__ = ["tune_templates"]


def tune_templates(
    workload: Workload,
    name: str,
    factors: Sequence[float],
    norm: int = 1,
    names: Sequence[str] = ("product",),
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> Iterator[Tuned]:
    """As ``mmopt.tune``, each strategy the best of these templates; errors as there and as ``templates``."""

    def solved(case: Workload, words: str) -> FoundStrategy:
        if report is not None:
            report(words)
        found = templates(case, norm, names, seed=seed)
        if found.best.strategy is None:
            raise WorkloadError(f"no template has a strategy: {found.best.reason}")
        return FoundStrategy(found.best.strategy, found.best.error, found.bound)

    return tuned(workload, name, factors, solved)
