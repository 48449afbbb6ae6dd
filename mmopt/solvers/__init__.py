"""The solvers: kernels of our own, and open conic solvers through cvxpy. None is trusted.

- ``solver_protocol.py``: the options, points and clock that all solvers share
- ``table_of_kernels.py``: the kernels, each claiming its programs; and which solver takes a program
- ``table_of_solvers.py``: the table of conic solvers, those of cvxpy beyond it, and forecasts
- ``conic_solvers.py``: conic solvers: run through cvxpy, point by point, and what they print
- ``conic_problem.py``: the compiled problem as plain data, and bounds proved by its multipliers
- ``function_solver.py``: a solver of one's own, a function of that
- ``nuclear/``: the kernel of the L2 programs
- ``sector_kernel.py``: kernels for queries of few attributes: measures of the cells, weights of sets
- ``weighting_kernel.py``: the kernel of design weights
- ``p_identity_kernel.py``: the kernel of p_identity
- ``low_rank_kernel.py``: the halves of the low-rank mechanism
- ``banded_kernel.py``: the kernel of banded strategies
- ``softmax_kernel.py``: the kernel of softmax_step
"""

from mmopt.solvers.conic_problem import Proof, prove
from mmopt.solvers.conic_solvers import run
from mmopt.solvers.solver_protocol import Clock, Iteration, Options, Pace, Point, Vectors, total
from mmopt.solvers.table_of_kernels import (
    KERNELS,
    Claim,
    Kernel,
    SolverLike,
    as_solver,
    choose_solver,
    claims,
    conic_solver,
    is_claimed,
    is_kernel,
    known_as,
    predicted,
    solver_name,
)
from mmopt.solvers.table_of_solvers import (
    LBFGS,
    SOLVERS,
    Forecast,
    SolverRow,
    forecast,
    memory_limit,
    missing_cones,
    quickest,
    refuse_too_large,
    solver_row,
)

__all__ = [
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
    "Proof",
    "SolverLike",
    "SolverRow",
    "Vectors",
    "as_solver",
    "choose_solver",
    "claims",
    "conic_solver",
    "forecast",
    "is_claimed",
    "is_kernel",
    "known_as",
    "memory_limit",
    "missing_cones",
    "predicted",
    "prove",
    "quickest",
    "refuse_too_large",
    "run",
    "solver_name",
    "solver_row",
    "total",
]
