"""Who solves it: kernels of our own, and open conic solvers through cvxpy. None is trusted.

- ``solver_protocol.py``: options of all solvers, and what one hands back
- ``choose_solver.py``: which solver takes a program
- ``kernels.py``: the table of kernels
- ``table_of_solvers.py``: the table of conic solvers, with forecasts
- ``conic_solvers.py``: a conic solver run by run
- ``cvxpy_solvers.py``: what else cvxpy finds installed, by name
- ``conic_problem.py``: the compiled problem as plain data
- ``function_solver.py``: a solver of one's own, a function of that
- ``printed_output.py``: what solvers print, dropped or read
- ``cone_bounds.py``: what multipliers prove about a cone problem
- ``nuclear/``: the kernel of the L2 programs
- ``sector_kernel.py``: the kernel of queries of few of many attributes
- ``set_kernel.py``: the same by sets of attributes
- ``weighting/``: the kernel of design weights
- ``p_identity/``: the kernel of p_identity
- ``low_rank_halves.py``: the halves of the low-rank mechanism
- ``banded_strategy.py``: the kernel of banded strategies
- ``softmax_step.py``: the kernel of softmax_step
"""

from mmopt.solvers.choose_solver import (
    SolverLike,
    as_solver,
    choose_solver,
    conic_solver,
    predicted,
    solver_name,
)
from mmopt.solvers.cone_bounds import Proof, prove
from mmopt.solvers.conic_solvers import run
from mmopt.solvers.kernels import KERNELS, Claim, Kernel, claims, is_claimed, is_kernel, known_as
from mmopt.solvers.solver_protocol import Clock, Iteration, Options, Pace, Point, Vectors, total
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
