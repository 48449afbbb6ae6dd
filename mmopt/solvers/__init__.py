"""Who solves it: open conic solvers through cvxpy. Their results are points, never answers."""

from mmopt.solvers.forecast import Forecast, choose, forecast, memory_limit, refuse_too_large
from mmopt.solvers.options import Clock, Options, Point, Vectors
from mmopt.solvers.proof import Proof, prove
from mmopt.solvers.run import run
from mmopt.solvers.table import LBFGS, SOLVERS, SolverRow, missing_cones, solver_named

__all__ = [
    "LBFGS",
    "SOLVERS",
    "Clock",
    "Forecast",
    "Options",
    "Point",
    "Proof",
    "SolverRow",
    "Vectors",
    "choose",
    "forecast",
    "memory_limit",
    "missing_cones",
    "prove",
    "refuse_too_large",
    "run",
    "solver_named",
]
