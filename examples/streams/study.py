"""Prefix sums of a stream in which a person may come back every b steps: banded strategies.

python examples/streams/study.py              64 and 256 steps, 4 and 16 apart: half a minute
python examples/streams/study.py --steps 32   others

The total squared error at noise of variance 1 per unit of squared sensitivity, for a person who is in any
number of steps, any two at least b apart. `equal columns` is what BandMF optimises (Choquette-Choo et al.,
NeurIPS 2023; jax_privacy): the same bands, columns of one length; its optimum is searched here by the same
steps. The last column is a bound over all strategies, banded or not.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.optimize

from mmopt import Workload, solve
from mmopt.solvers.banded_kernel import Banded

COLUMNS = ("n", "b", "banded", "gap", "equal columns", "/ banded", "bound over all")


def equal_columns(n: int, b: int) -> float:
    """The least error of a lower-triangular A with b bands and columns of one length."""
    problem = Banded(np.tri(n), np.ones((1, n)), b)
    start = problem.start()
    found = scipy.optimize.minimize(
        lambda x: _without_shares(problem, x),
        start[:-1],
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 10_000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-12},
    )
    return float(found.fun) * -(-n // b)


def _without_shares(problem: Banded, x: np.ndarray) -> tuple[float, np.ndarray]:
    value, slope = problem.value(np.append(x, 1.0))
    return value, slope[:-1]


def over_all(n: int, b: int, weights: np.ndarray) -> float:
    """A bound over all strategies at weights d (n,) >= 0 of the steps: as of banded_strategy, Y = diag(d).

    It holds for any X, as the squared sensitivity to steps with contributions of any sign is at least the sum
    of the diagonal over them: the mean over all signs.
    """
    nuclear = float(np.linalg.svd(np.tri(n) * np.sqrt(weights), compute_uv=False).sum())
    return nuclear**2 / float(np.convolve(weights, np.ones(min(b, n)), "valid").max())


def row(n: int, b: int) -> tuple[float, ...]:
    """The figures of n steps, b apart, in the order of ``COLUMNS``."""
    found = solve(Workload.from_matrix(np.tri(n)), "banded_strategy", givens={"b": b})
    assert found.gap is not None
    equal = equal_columns(n, b)
    bound = max(
        over_all(n, b, weights) for weights in (np.ones(n), np.diag(np.asarray(found.multipliers["Y"])))
    )
    return n, b, found.objective, found.gap, equal, equal / found.objective, max(bound, found.error_bound)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, nargs="+", default=[64, 256], help="lengths of the stream")
    parser.add_argument("--apart", type=int, nargs="+", default=[4, 16], help="steps between participations")
    options = parser.parse_args()
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---:|" * len(COLUMNS))
    for n in options.steps:
        for b in options.apart:
            _, _, banded, gap, equal, ratio, bound = row(n, b)
            print(
                f"| {n} | {b} | {banded:.8g} | {gap:.0e} | {equal:.8g} | {ratio:.4f} | {bound:.6g} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
