"""The factorisation norms of prefix sums, certified, beside the closed forms that bound them.

python examples/prefix-norms/study.py              n = 2, 4, ..., 1024: half a minute
python examples/prefix-norms/study.py --most 64    to n = 64: seconds

gamma_2 and gamma_F are those of the programs of these names: gamma_F is divided by sqrt(n). A certified value
is the middle of the interval from the proved bound to the objective; beside it is the width over the middle.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import numpy.typing as npt

from mmopt import Workload, solve

TOLERANCE = 1e-8

COLUMNS = (
    "n",
    "gamma_2",
    "gap",
    "lower",
    "Mathias",
    "root",
    "- ln(n)/pi",
    "gamma_F",
    "gap",
    "root",
    "- ln(n)/pi",
)


def root_coefficients(n: int) -> npt.NDArray[np.float64]:
    """(n,) coefficients r of (1 - x)^(-1/2), whose square is 1 + x + x² + …: r_k = r_{k-1} (1 - 1 / 2k)."""
    return np.cumprod(np.concatenate([[1.0], 1.0 - 0.5 / np.arange(1, n)]))


def root_factorisation(n: int) -> tuple[float, float]:
    """Bounds on gamma_2 and gamma_F by A = R, the lower-triangular Toeplitz root of the prefix sums.

    The first column and the last row have all coefficients, row i has i + 1 of them (Fichtenberger,
    Henzinger, Upadhyay: Constant matters, ICML 2023; Henzinger, Upadhyay, Upadhyay, SODA 2023).
    """
    squares = np.cumsum(root_coefficients(n) ** 2)
    return float(squares[-1]), math.sqrt(squares.mean() * squares[-1])


def from_signs(n: int) -> float:
    """Mathias' upper bound (SIAM J. Matrix Anal. Appl. 14, 1993): (1 + s) / 2.

    The matrix is half the sum of the one of ones and of the signs of i - j, 1 on the diagonal. That is
    skew-circulant: the mean s of its singular values 1 / sin((2j - 1) pi / 2n) is its gamma_2.
    """
    angles = (2.0 * np.arange(1, n + 1) - 1.0) * math.pi / (2.0 * n)
    return 0.5 * (1.0 + float(np.mean(1.0 / np.sin(angles))))


def from_equal_multipliers(n: int) -> float:
    """The nuclear norm over n, a lower bound of both (Matousek, Nikolov, Talwar, IMRN 2020).

    The singular values are 1 / (2 sin((2j - 1) pi / (4n + 2))).
    """
    angles = (2.0 * np.arange(1, n + 1) - 1.0) * math.pi / (4.0 * n + 2.0)
    return float(np.mean(0.5 / np.sin(angles)))


def certified(n: int, program: str) -> tuple[float, float]:
    """The middle of the proved interval, and its width over the middle."""
    solution = solve(Workload.from_matrix(np.tri(n)), program, tolerance=TOLERANCE)
    assert solution.bound is not None
    middle = (solution.objective + solution.bound) / 2.0
    return middle, (solution.objective - solution.bound) / middle


def row(n: int) -> tuple[float, ...]:
    """The figures of n steps, in the order of ``COLUMNS``."""
    (gamma_2, gap_2), (gamma_f, gap_f) = certified(n, "gamma_2"), certified(n, "gamma_f")
    root_2, root_f = root_factorisation(n)
    grown = math.log(n) / math.pi
    return (
        *(n, gamma_2, gap_2, from_equal_multipliers(n), from_signs(n), root_2, gamma_2 - grown),
        *(gamma_f, gap_f, root_f, gamma_f - grown),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=1024, help="largest number of steps (default: 1024)")
    most = parser.parse_args().most
    print("| " + " | ".join(COLUMNS) + " |")
    print("|" + "---:|" * len(COLUMNS))
    n = 2
    while n <= most:
        figures = row(n)
        cells = [
            f"{x:.0e}" if c == "gap" else f"{x:.9f}" for c, x in zip(COLUMNS[1:], figures[1:], strict=True)
        ]
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)
        n *= 2


if __name__ == "__main__":
    main()
