"""Relative error, by simulation on true data: for choosing between strategies. NOT private.

The relative error of an estimate is |estimate - true| / max(|true|, s). The sanity bound s keeps queries
that count next to nothing from deciding the mean; it is 0.1 % of the rows, as for Privelet (Xiao, Wang,
Gehrke: ICDE 2010), unless given. PVLDB 2012 reports average relative errors (Figure 3, Table 2) without a
definition.

The noise is numpy's, continuous, of the scale of a planned release, whose predicted errors are shown next to
the simulated ones. All plans, and all strategies with as many rows, get the same draws, times their scale.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mmopt.errors import OptionError
from mmopt.mechanism.measurement import checked_counts
from mmopt.mechanism.release_plan import Plan
from mmopt.numerics.arrays import Array
from mmopt.privacy.epsilon_delta_rho import Privacy
from mmopt.privacy.noise import Noise
from mmopt.privacy.rounding.integer_dense import unsupported
from mmopt.strategies import ComponentStrategy, Strategy, StrategyForm
from mmopt.workloads import Workload

# The default sanity bound as a part of the number of rows; it is one row at least.
SANITY = 1e-3

_ENTRIES = 2**22  # of the errors in memory at a time


@dataclass(frozen=True)
class GroupErrors:
    """The errors of some queries, in counts where not relative.

    relative : mean over queries and trials of the relative error; ``spread`` is the standard error of that
        mean, over the trials.
    expected : the mean of ``relative``, in closed form; None where there is none (Laplace noise).
    absolute : mean of |estimate - true|. rmse : root mean square of it; ``predicted`` : that before any data.
    """

    name: str
    queries: int
    relative: float
    spread: float
    expected: float | None
    absolute: float
    rmse: float
    predicted: float


@dataclass(frozen=True)
class Simulated:
    """Errors of one strategy under one privacy, on true data: never to be published.

    scale : the noise's, standard deviation (Gaussian) or scale (Laplace), on the strategy's queries.
    groups : those of the workload. whole : all queries.
    """

    privacy: Privacy | None
    noise: str
    scale: float
    sanity: float
    trials: int
    groups: tuple[GroupErrors, ...]
    whole: GroupErrors

    private = False


def simulate_errors(
    workload: Workload,
    strategy: StrategyForm,
    x: npt.ArrayLike,
    plans: Sequence[Plan],
    *,
    trials: int = 100,
    seed: int = 0,
    sanity: float | None = None,
) -> tuple[Simulated, ...]:
    """Simulate a strategy's errors on a data vector (n,), over trials, for each planned release. NOT private.

    Parameters
    ----------
    plans : of this strategy and workload. sanity : s above, in counts.

    Raises
    ------
    OptionError : fewer than two trials, no plan, or a sanity bound that is not positive.
    DataError : as ``measure``.
    WorkloadError : a strategy that does not support the workload, or one for another number of cells.
    TooLargeError : a strategy whose matrix does not fit in memory.
    """
    if trials < 2:
        raise OptionError(f"a simulation of {trials} trials has no spread, expected 2 or more")
    if not plans:
        raise OptionError("a simulation needs planned releases, found none")
    counts = checked_counts(x, workload.n)
    bound = max(1.0, SANITY * float(counts.sum())) if sanity is None else sanity
    if not (math.isfinite(bound) and bound > 0):
        raise OptionError(f"the sanity bound is {bound:g}, expected a number above 0")
    if not np.isfinite(variances := strategy.variances(workload)).all():
        raise unsupported()
    true = np.maximum(np.abs(workload.answers(counts)), bound)
    parts = [*workload.groups(), ("all queries", slice(0, workload.m))]
    # By noise at scale 1, for each trial and group: mean relative, absolute and squared error.
    means = {plan.law: np.zeros((trials, len(parts), 3)) for plan in plans}
    for noise, by_trial in means.items():
        for start, errors in _unit_errors(workload, strategy, noise, trials, seed):
            for at, (_, rows) in enumerate(parts):
                sizes = np.abs(errors[:, rows])
                figures = [
                    (sizes / true[rows]).mean(axis=1),
                    sizes.mean(axis=1),
                    np.square(sizes).mean(axis=1),
                ]
                by_trial[start : start + len(sizes), at] = np.column_stack(figures)

    def errors_of(at: int, plan: Plan) -> GroupErrors:
        """The errors of a group, the one at this place of ``parts``, at the scale of a plan."""
        noise, scale = plan.law, plan.noise
        name, rows = parts[at]
        by_trial, mean = means[noise], noise.continuous.mean
        roots = np.sqrt(noise.continuous.variance * variances)
        relative, absolute, squared = by_trial[:, at].mean(axis=0)
        return GroupErrors(
            name=name,
            queries=rows.stop - rows.start,
            relative=scale * float(relative),
            spread=scale * float(by_trial[:, at, 0].std(ddof=1)) / math.sqrt(trials),
            expected=None if mean is None else scale * mean * float((roots[rows] / true[rows]).mean()),
            absolute=scale * float(absolute),
            rmse=scale * math.sqrt(float(squared)),
            predicted=math.sqrt(float(np.square(plan.standard_errors[rows]).mean())),
        )

    return tuple(
        Simulated(
            privacy=plan.privacy,
            noise=plan.law.name,
            scale=plan.noise,
            sanity=bound,
            trials=trials,
            groups=tuple(errors_of(at, plan) for at in range(len(parts) - 1)),
            whole=errors_of(len(parts) - 1, plan),
        )
        for plan in plans
    )


def _unit_errors(
    workload: Workload, strategy: StrategyForm, noise: Noise, trials: int, seed: int
) -> Iterator[tuple[int, Array]]:
    """Errors (some trials, m) of the answers for noise of scale 1, with the number of the first trial.

    They are W A⁺ z, since the data cancel.
    """
    rng = np.random.default_rng(seed)
    step = max(1, _ENTRIES // max(workload.m, workload.n))
    for start in range(0, trials, step):
        drawn = noise.continuous.draw(rng, (min(step, trials - start), strategy.p))
        is_dense = isinstance(strategy, Strategy | ComponentStrategy)  # forms in factors take one at a time
        estimates = (
            strategy.estimate(drawn) if is_dense else np.stack([strategy.estimate(row) for row in drawn])
        )
        yield start, workload.answers(estimates.T).T
