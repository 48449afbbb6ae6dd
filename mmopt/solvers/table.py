"""The table of solvers: which cones each takes, what it is, how it is installed. In order of preference."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from mmopt.compiler import Cone
from mmopt.errors import OptionError, SolverError, suggest

__all__ = ["LBFGS", "SOLVERS", "SolverRow", "missing_cones", "solver_named"]

LINEAR = frozenset({"zero", "nonnegative"})
SOC = LINEAR | {"second-order"}
PSD = LINEAR | {"psd"}
CURVED = frozenset({"exponential", "power"})


@dataclass(frozen=True)
class SolverRow:
    """One solver. ``tolerance`` is the gap asked for when the user names none."""

    name: str
    cvxpy: str
    module: str
    package: str
    cones: frozenset[str]
    method: str
    tolerance: float

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    @property
    def version(self) -> str:
        return importlib.metadata.version(self.package)


SOLVERS: tuple[SolverRow, ...] = (
    SolverRow("clarabel", "CLARABEL", "clarabel", "clarabel", SOC | PSD | CURVED, "interior point", 1e-6),
    SolverRow("scs", "SCS", "scs", "scs", SOC | PSD | CURVED, "first order", 1e-4),
    # CVXOPT's cone solver, which cvxpy calls, takes neither exponential nor power cones.
    SolverRow("cvxopt", "CVXOPT", "cvxopt", "cvxopt", SOC | PSD, "interior point", 1e-6),
    # QOCO takes no psd cone: of the shipped programs only query_weighting and eigen_design fit.
    SolverRow("qoco", "QOCO", "qoco", "qoco", SOC, "interior point", 1e-6),
    # SDPA takes no second-order cone.
    SolverRow("sdpa", "SDPA", "sdpap", "sdpa-python", PSD, "interior point", 1e-6),
)

# Takes no cones: the search of programs of class smooth, by L-BFGS-B of scipy, with their gradients.
LBFGS = SolverRow("lbfgs", "", "scipy", "scipy", frozenset(), "quasi-Newton", 1e-6)


def solver_named(name: str, others: Sequence[str] = ()) -> SolverRow:
    """The row of a conic solver; OptionError for another name, SolverError when it is not installed.

    ``others`` are further names that the user may have meant.
    """
    if name.lower() == LBFGS.name:
        message = f"'{LBFGS.name}' searches programs of class smooth; it is no conic solver"
        raise OptionError(message, hint=f"conic solvers: {', '.join(r.name for r in SOLVERS)}")
    row = next((r for r in SOLVERS if r.name == name.lower()), None)
    if row is None:
        known = [*others, *(r.name for r in SOLVERS)]
        raise OptionError(f"there is no solver '{name}'", hint=suggest(name.lower(), known))
    if not row.is_installed:
        raise SolverError(f"the solver '{row.name}' is not installed", hint=f"pip install {row.package}")
    return row


def missing_cones(row: SolverRow, cones: Sequence[Cone]) -> list[str]:
    """The kinds of cone that a problem needs and the solver lacks."""
    return sorted({cone.kind for cone in cones} - row.cones)
