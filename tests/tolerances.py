"""The one table of tolerances: what is compared, and to how many digits, for all tests.

All are relative unless said otherwise.
"""

from __future__ import annotations

# -- what a solve promises

FEASIBLE = 1e-10
"""τ: of a feasible point, the part by which each term of a line may be changed for it to hold."""

GAP = 1e-4
"""Certified gap of every convex program with every solver whose cones suffice."""

GAP_INTERIOR = 1e-6
"""Certified gap of an interior-point method where a figure is reproduced."""

GAP_ONE_DOMINATES = 2e-6
"""The same where one query decides nearly all: variances are charged with the rounding of an inverse whose
condition is 1e10, of which 1.2e-6 was seen."""

RECOMPUTED = 1e-9
"""An objective against the same formula in numpy, from the returned matrix."""

SHAPE = 1e-9
"""Entries of a matrix that the result must reproduce (W A⁺ A = W, W = L B)."""

PROFILE = 5e-3
"""Privacy costs of the refined order, next to the largest, at a gap of 1e-6: a few times its square root.
In most random workloads they agree to 1e-5."""

PROFILE_FINE = 1e-3
"""The same at a gap of 1e-9, or what the solver can do: 1e-6 to 1e-5 in most, 1e-4 in one of a hundred."""

# -- known numbers

PUBLISHED = 1e-6
"""An optimum known to eight digits, when both sides of the certified gap are at hand."""

FITNESS = 1e-5
"""Optimal privacy costs, printed to six digits."""

PRINTED = 5e-6
"""A number printed with five or six digits in the design's list."""

PRINTED_3 = 5e-5
"""A number printed with three decimals in the design's list."""

DECIMALS_3 = 6e-4
"""A number that a paper prints with three decimals, absolute."""

PRINTED_RATIO = 2e-3
"""A number of order one that a paper prints with two decimals."""

PAPER_RMSE = 2e-3
"""An RMSE printed by a paper to four digits from a strategy printed to two."""

# -- arithmetic that only rounds

ROUNDING = 1e-12
"""The same sum in another order."""

SINGLE = 1e-5
"""Sums in single precision, next to the largest entry."""

SINGLE_STEP = 1e-3
"""A step from a matrix in single precision, at a barrier of a thousandth."""

DIFFERENCES = 1e-6
"""Central differences with a step of 1e-4 in logarithms, relative to the largest entry."""

DERIVATIVE = 1e-5
"""A derivative against central differences."""

FINE = 1e-9
"""Certified gap that the weighting kernel reaches."""

INTEGERS = 1e-6
"""Error of a strategy of a few rows that is rounded to integers of 27 bits, most of it in its sensitivity."""

FROM_SQUARES = 1e-7
"""Directions of columns down to 1e-4 of the longest, from a Gram matrix: rounding over the square of that."""

# -- the golden record

RECORD = {"exact": 1e-9, "solve": 2e-5, "secondary": 1e-3, "local": 1e-2}
"""Figures of tests/record by kind: of the input and of closed forms; what a solve to 1e-6 or better makes
least; what else it settles, and what a first-order solver makes least; of local searches. Whole numbers are
exact in each."""

RECORD_ZERO = 9e-7
"""Below that, absolute, what is printed is a gap or a residual."""

PROVED_CLOSE = 1e-10
"""A proved bound of well-conditioned moments below the exact value that it bounds."""
