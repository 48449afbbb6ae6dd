"""The solvers: kernels of our own, and open conic solvers through cvxpy. None is trusted.

- ``options_points_and_clock.py``: the options, points and clock that all solvers share
- ``choice_and_forecast.py``: which solver takes a program, the table of kernels, each claiming its programs,
  and the memory and time that a solve needs
- ``conic_solvers.py``: the table of conic solvers, and how each is run and what it prints
- ``conic_problem.py``: the compiled problem as plain data, and bounds proved by its multipliers;
  a solver of one's own, a function of that
- ``nuclear/``: the kernel of the L2 programs
- ``sector_kernel.py``: kernels for queries of few attributes: measures of the cells, weights of sets
- ``weighting_kernel.py``: the kernel of design weights
- ``p_identity_kernel.py``: the kernel of p_identity
- ``l1_kernel.py``: the kernel of l1_strategy, which starts from it
- ``low_rank_kernel.py``: the halves of the low-rank mechanism
- ``banded_kernel.py``: the kernel of banded strategies
- ``pairs_kernel.py``: the kernels of strategies for rows that are replaced
- ``softmax_kernel.py``: the kernel of softmax_step
"""

from mmopt.solvers.choice_and_forecast import (
    CONIC,
    KERNELS,
    Claim,
    Forecast,
    Kernel,
    SolverLike,
    as_solver,
    choose_solver,
    claims,
    conic_solver,
    forecast,
    is_claimed,
    is_free,
    is_kernel,
    known_as,
    memory_limit,
    predicted,
    problem_size,
    quickest,
    refuse_too_large,
    solver_name,
)
from mmopt.solvers.conic_solvers import LBFGS, SOLVERS, SolverRow, missing_cones, run, solver_row
from mmopt.solvers.options_points_and_clock import Clock, Iteration, Options, Pace, Point, Vectors, total

__all__ = [
    "CONIC",
    "KERNELS",
    "LBFGS",
    "SOLVERS",
    "Claim",
    "Clock",
    "Forecast",
    "Iteration",
    "Kernel",
    "Options",
    "Pace",
    "Point",
    "SolverLike",
    "SolverRow",
    "Vectors",
    "as_solver",
    "choose_solver",
    "claims",
    "conic_solver",
    "forecast",
    "is_claimed",
    "is_free",
    "is_kernel",
    "known_as",
    "memory_limit",
    "missing_cones",
    "predicted",
    "problem_size",
    "quickest",
    "refuse_too_large",
    "run",
    "solver_name",
    "solver_row",
    "total",
]
