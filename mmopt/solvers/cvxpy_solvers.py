"""Solvers that cvxpy calls: the options of each, and those by name that are no rows of the table.

What cones the latter take is cvxpy's own declaration. Where ``OPTIONS`` has their names for it they get the
tolerance and the limit of iterations asked for; the rest run once, as they do by default, and refuse a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mmopt.errors import OptionError, SolverError, suggest
from mmopt.resources import version_of
from mmopt.solvers.solver_protocol import Options
from mmopt.solvers.table_of_solvers import SOLVERS, SolverRow

__all__ = ["OPTIONS", "cvxpy_row", "installed_others", "unknown_solver"]

# The kinds of cone that cvxpy's constraints are.
KINDS = {
    "Zero": "zero",
    "NonNeg": "nonnegative",
    "SOC": "second-order",
    "PSD": "psd",
    "SvecPSD": "psd",
    "ExpCone": "exponential",
    "PowCone3D": "power",
}
MODULES = {"HIGHS": "highspy"}  # where the module has not the solver's name
THROUGH = {"GLPK": "cvxopt", "GLPK_MI": "cvxopt"}  # what brings a solver, whose own version nobody knows


@dataclass(frozen=True)
class Names:
    """A solver's names for our options; ``more`` it always gets. Tolerances below ``finest`` it refuses."""

    tolerance: tuple[str, ...]
    max_iterations: str = ""
    threads: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    finest: float = 0.0

    def settings(self, tolerance: float, options: Options) -> dict[str, Any]:
        """Settings by the solver's names."""
        named = {self.max_iterations: options.max_iterations, self.threads: options.threads}
        limits = {name: value for name, value in named.items() if name and value}
        return {**self.more, **dict.fromkeys(self.tolerance, max(tolerance, self.finest)), **limits}


# HiGHS and MOSEK have no limit of iterations for all of their methods.
OPTIONS: Mapping[str, Names] = MappingProxyType(
    {
        # The Cholesky solver of CVXOPT refuses problems with redundant rows, which ours have.
        "CVXOPT": Names(
            ("abstol", "reltol", "feastol"), "max_iters", more={"max_iters": 200, "kktsolver": "robust"}
        ),
        "ECOS": Names(("abstol", "reltol", "feastol"), "max_iters"),
        "HIGHS": Names(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), finest=1e-10),
        "MOSEK": Names(("eps",)),
        "OSQP": Names(("eps_abs", "eps_rel"), "max_iter", more={"max_iter": 200_000}),
        "QOCO": Names(("abstol", "reltol"), "max_iters"),
        "SDPA": Names(("epsilonStar", "epsilonDash"), "maxIteration", "numThreads", {"numThreads": 1}),
    }
)


def cvxpy_row(name: str) -> SolverRow | None:
    """A row for a solver of cvxpy that is not in the table; None where cvxpy does not know the name.

    Raises
    ------
    SolverError : cvxpy knows it, and it is not installed.
    """
    from cvxpy.reductions.solvers import defines

    known = name.upper()
    interfaces = [of[known] for of in (defines.SOLVER_MAP_CONIC, defines.SOLVER_MAP_QP) if known in of]
    if not interfaces:
        return None
    able = [interface for interface in interfaces if interface.is_installed()]
    if not able:
        raise SolverError(
            f"the solver '{known.lower()}' is not installed; cvxpy can call it where it is",
            hint=_listed(()),
        )
    by = THROUGH.get(known, "cvxpy")
    own = "" if known in THROUGH else version_of(MODULES.get(known, known.lower()))
    cones = {KINDS[c.__name__] for i in able for c in i.SUPPORTED_CONSTRAINTS if c.__name__ in KINDS}
    return SolverRow(
        known.lower(),
        known,
        "cvxpy",
        "",
        frozenset(cones),
        "by cvxpy",
        1e-6,
        quadratic=any(interface.supports_quad_obj() for interface in able),
        own_version=own or f"through {by} {version_of(by)}",
        reads=frozenset({"max_iterations"} if known in OPTIONS and OPTIONS[known].max_iterations else ()),
    )


def installed_others() -> list[str]:
    """The names of what ``cvxpy_row`` gives a row for."""
    from cvxpy.reductions.solvers import defines

    names = {**defines.SOLVER_MAP_CONIC, **defines.SOLVER_MAP_QP}
    rows = {row.cvxpy for row in SOLVERS}
    return sorted(name.lower() for name in defines.INSTALLED_SOLVERS if name in names and name not in rows)


def unknown_solver(name: str, others: Sequence[str]) -> OptionError:
    """The error for a name that nothing has: the nearest one, or what is there and what pip installs.

    others : names of kernels.
    """
    message = f"there is no solver '{name}'"
    near = suggest(name.lower(), [*others, *(row.name for row in SOLVERS), *installed_others()])
    return OptionError(message, hint=near if near.startswith("did you mean") else _listed(others))


def _listed(others: Sequence[str]) -> str:
    there = [*others, *(row.name for row in SOLVERS if row.is_installed)]
    packages = [row.package for row in SOLVERS if not row.is_installed]
    by_cvxpy = installed_others()
    lines = [f"installed: {', '.join(there)}"]
    lines += [f"through cvxpy: {', '.join(by_cvxpy)}"] if by_cvxpy else []
    lines += [f"not installed: pip install {' '.join(packages)}"] if packages else []
    return "\n  ".join([*lines, "a function of your own: module:function"])
