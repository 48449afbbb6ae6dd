"""Who solves it: kernels of our own, and open conic solvers through cvxpy. None is trusted."""

from mmopt.solvers.forecast import Forecast, choose, forecast, memory_limit, refuse_too_large
from mmopt.solvers.kernels import KERNELS, Claim, Kernel, claims, solver_name
from mmopt.solvers.options import Clock, Options, Point, Vectors
from mmopt.solvers.proof import Proof, prove
from mmopt.solvers.run import run
from mmopt.solvers.table import LBFGS, SOLVERS, SolverRow, missing_cones, solver_named

__all__ = [
    "KERNELS",
    "LBFGS",
    "SOLVERS",
    "Claim",
    "Clock",
    "Forecast",
    "Kernel",
    "Options",
    "Point",
    "Proof",
    "SolverRow",
    "Vectors",
    "choose",
    "claims",
    "forecast",
    "memory_limit",
    "missing_cones",
    "prove",
    "refuse_too_large",
    "run",
    "solver_name",
    "solver_named",
]
