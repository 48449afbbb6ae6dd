"""The table of conic solvers, in order of preference: the cones of each, and forecasts of memory and time.

Solvers that are no rows of the table may be named too, if cvxpy can call them. The cones that they take are
cvxpy's own declaration. Where ``OPTIONS`` has their names for it they get the tolerance and the limit of
iterations asked for; the rest run once, with their defaults, and refuse a limit.

Memory and time are forecast from the cones alone. Fitted to runs on two shared cores: one block of size 32,
64, 128 with Clarabel 0.14, 3.2, 134 s and 2.4 GB at the largest; 16 blocks of size 17 one second, 89 of size
21 a minute; SCS 1 to 30 s at 128 to 512. A guide to a factor of about three in time.
"""

import importlib.util
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from mmopt.compiler import Cone
from mmopt.errors import OptionError, SolverError, TooLargeError, suggest
from mmopt.installation_and_files import version_of
from mmopt.solvers.conic_problem import ConicProblem
from mmopt.solvers.function_solver import KINDS, imported, name_of
from mmopt.solvers.solver_protocol import Options

LINEAR = frozenset({"zero", "nonnegative"})
SOC = LINEAR | {"second-order"}
PSD = LINEAR | {"psd"}
CURVED = frozenset({"exponential", "power"})


@dataclass(frozen=True)
class SolverRow:
    """One solver. ``tolerance`` is its default gap.

    function : of a solver of one's own (``function_solver.py``). own_version : where there is no package.
    quadratic : whether a quadratic objective is handed over as such, so that it needs no cone.
    """

    name: str
    cvxpy: str
    module: str
    package: str
    cones: frozenset[str]
    method: str
    tolerance: float
    quadratic: bool = False
    function: Callable[[ConicProblem], Any] | None = None
    own_version: str = ""
    reads: frozenset[str] = frozenset({"max_iterations"})  # of the options that not every solver reads

    def __str__(self) -> str:
        return self.name

    @property
    def is_installed(self) -> bool:
        return importlib.util.find_spec(self.module) is not None

    @property
    def version(self) -> str:
        """The version of the module that runs; "" where it is not known."""
        return version_of(self.module) if self.package else self.own_version


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
LBFGS = SolverRow(
    "lbfgs",
    "",
    "scipy",
    "scipy",
    frozenset(),
    "quasi-Newton",
    1e-6,
    reads=frozenset({"max_iterations", "starts", "seed"}),
)


# The kinds of cone that cvxpy's constraints are.
CVXPY_KINDS = {
    "Zero": "zero",
    "NonNeg": "nonnegative",
    "SOC": "second-order",
    "PSD": "psd",
    "SvecPSD": "psd",
    "ExpCone": "exponential",
    "PowCone3D": "power",
}
MODULES = {"HIGHS": "highspy"}  # where the module has not the solver's name
THROUGH = {"GLPK": "cvxopt", "GLPK_MI": "cvxopt"}  # the package that contains a solver without a version


@dataclass(frozen=True)
class OptionNames:
    """A solver's names for our options; it always gets ``more``, and refuses tolerances below ``finest``."""

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
OPTIONS: Mapping[str, OptionNames] = MappingProxyType(
    {
        # The Cholesky solver of CVXOPT refuses problems with redundant rows, which ours have.
        "CVXOPT": OptionNames(
            ("abstol", "reltol", "feastol"), "max_iters", more={"max_iters": 200, "kktsolver": "robust"}
        ),
        "ECOS": OptionNames(("abstol", "reltol", "feastol"), "max_iters"),
        "HIGHS": OptionNames(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), finest=1e-10),
        "MOSEK": OptionNames(("eps",)),
        "OSQP": OptionNames(("eps_abs", "eps_rel"), "max_iter", more={"max_iter": 200_000}),
        "QOCO": OptionNames(("abstol", "reltol"), "max_iters"),
        "SDPA": OptionNames(("epsilonStar", "epsilonDash"), "maxIteration", "numThreads", {"numThreads": 1}),
    }
)


def cvxpy_row(name: str) -> SolverRow | None:
    """A row for a solver of cvxpy that is not in the table; None where cvxpy does not know the name.

    Raises
    ------
    SolverError : cvxpy knows it, and it is not installed.
    """
    from cvxpy.reductions.solvers import defines

    cvxpy_name = name.upper()
    interfaces = [
        of[cvxpy_name] for of in (defines.SOLVER_MAP_CONIC, defines.SOLVER_MAP_QP) if cvxpy_name in of
    ]
    if not interfaces:
        return None
    able = [interface for interface in interfaces if interface.is_installed()]
    if not able:
        raise SolverError(
            f"the solver '{cvxpy_name.lower()}' is not installed; cvxpy can call it where it is",
            hint=_listed(()),
        )
    by = THROUGH.get(cvxpy_name, "cvxpy")
    version = "" if cvxpy_name in THROUGH else version_of(MODULES.get(cvxpy_name, cvxpy_name.lower()))
    names = {cone.__name__ for interface in able for cone in interface.SUPPORTED_CONSTRAINTS}
    return SolverRow(
        cvxpy_name.lower(),
        cvxpy_name,
        "cvxpy",
        "",
        frozenset(CVXPY_KINDS[name] for name in names & set(CVXPY_KINDS)),
        "by cvxpy",
        1e-6,
        quadratic=any(interface.supports_quad_obj() for interface in able),
        own_version=version or f"through {by} {version_of(by)}",
        reads=frozenset(
            {"max_iterations"} if cvxpy_name in OPTIONS and OPTIONS[cvxpy_name].max_iterations else ()
        ),
    )


def installed_others() -> list[str]:
    """The names of the solvers for which ``cvxpy_row`` has a row."""
    from cvxpy.reductions.solvers import defines

    names = {**defines.SOLVER_MAP_CONIC, **defines.SOLVER_MAP_QP}
    rows = {row.cvxpy for row in SOLVERS}
    return sorted(name.lower() for name in defines.INSTALLED_SOLVERS if name in names and name not in rows)


def _listed(others: Sequence[str]) -> str:
    """The installed solvers and those that pip installs; ``others`` are names of kernels."""
    there = [*others, *(row.name for row in SOLVERS if row.is_installed)]
    packages = [row.package for row in SOLVERS if not row.is_installed]
    by_cvxpy = installed_others()
    lines = [f"installed: {', '.join(there)}"]
    lines += [f"through cvxpy: {', '.join(by_cvxpy)}"] if by_cvxpy else []
    lines += [f"not installed: pip install {' '.join(packages)}"] if packages else []
    return "\n  ".join([*lines, "a function of your own: module:function"])


def solver_row(name: str, others: Sequence[str] = ()) -> SolverRow:
    """The row of a conic solver: of the table, of a function ``module:function``, or of another in cvxpy.

    ``others`` are further names that the user may have meant.

    Raises
    ------
    OptionError : another name; installed solvers and those that pip installs are listed.
    SolverError : it is not installed, or the function's module cannot be imported.
    """
    if ":" in name:
        return function_row(imported(name), name)
    row = next((r for r in SOLVERS if r.name == name.lower()), None) or cvxpy_row(name)
    if row is None:
        near = suggest(name.lower(), [*others, *(r.name for r in SOLVERS), *installed_others()])
        hint = near if near.startswith("did you mean") else _listed(others)
        raise OptionError(f"there is no solver '{name}'", hint=hint)
    if not row.is_installed:
        raise SolverError(f"the solver '{row.name}' is not installed", hint=f"pip install {row.package}")
    return row


def function_row(function: Callable[[ConicProblem], Any], name: str = "") -> SolverRow:
    """The row of a function, with the cones that it says it takes (all, where it says nothing).

    Raises
    ------
    OptionError : its ``cones`` do not exist.
    """
    name = name or name_of(function)
    taken = getattr(function, "cones", KINDS)
    if not isinstance(taken, Collection) or isinstance(taken, str) or not set(taken) <= set(KINDS):
        raise OptionError(
            f"the cones of the solver '{name}' are {taken!r}, expected some of {', '.join(KINDS)}",
            hint="for example function.cones = {'zero', 'nonnegative'}",
        )
    module = getattr(function, "__module__", None) or type(function).__module__
    return SolverRow(
        name,
        "SCS",  # whose order of rows and triangles a ConicProblem has
        module,
        "",
        frozenset(taken),
        "a function",
        1e-6,
        quadratic=bool(getattr(function, "quadratic", False)),
        function=function,
        own_version=str(getattr(sys.modules.get(module), "__version__", "")),
    )


def missing_cones(row: SolverRow, cones: Sequence[Cone]) -> list[str]:
    """The kinds of cone that a problem needs and the solver lacks.

    Where a solver takes quadratic objectives, the hand-over decides whether that of the program is one.
    """
    needed = {(c.kind, c.origin) for c in cones}
    if row.quadratic:
        needed -= {("second-order", "objective")}
    return sorted({kind for kind, _ in needed} - row.cones)


INTERIOR_BYTES = 35.0  # per entry of the square of the triangle of a psd cone
# The same for each of the blocks that share their variables: for l2_strategy_lmi over 12, 16, 20 and 24 cells
# 162, 204, 332 and 656 MB are predicted where 158, 197, 309 and 596 were held (Clarabel).
FAMILY_BYTES = 8.0
INTERIOR_SECONDS = 2.4e-10  # per cube of that triangle, for one block
# Per entry of a row that a product fills, zeros included. With it 1.17 and 1.50 GB are predicted where 0.85
# and 0.54 GB were held (fitness_for_use over 256 cells, prefix sums and rectangles, SCS).
FILLED_BYTES = 40.0
FAMILY_SECONDS = 5e-9  # the same for blocks that share their variables, with their number to the power 1.5
FIRST_ORDER_SECONDS = 2.2e-7  # per cube of the side of a psd cone, all iterations
COMPILE_BYTES = 2_500.0  # of cvxpy and the solver's matrix per triangle row of a psd cone
MOST_SECONDS_INTERIOR = 20.0  # seconds of interior point beyond which a first-order method is chosen


@dataclass(frozen=True)
class Forecast:
    """Predicted memory in bytes and seconds of one solver on one problem."""

    solver: str
    memory: float
    seconds: float


def forecast(row: SolverRow, cones: Sequence[Cone], variables: int) -> Forecast:
    """Predict memory and time from the cones and the number of variables."""
    memory = 150e6 + 200.0 * variables
    seconds = 0.01
    for cone in cones:
        triangle = cone.size * (cone.size + 1) / 2 if cone.kind == "psd" else cone.size
        memory += cone.count * triangle * (COMPILE_BYTES if cone.kind == "psd" else 100.0)
        memory += cone.count * cone.filled * FILLED_BYTES
        if cone.kind != "psd":
            seconds += 1e-5 * cone.count
        elif row.method == "interior point":
            each = max(INTERIOR_BYTES, FAMILY_BYTES * min(cone.count, triangle))
            memory += each * triangle**2 * cone.count
            each = INTERIOR_SECONDS if cone.count == 1 else FAMILY_SECONDS * cone.count**0.5
            seconds += each * triangle**3 * cone.count
        else:
            seconds += FIRST_ORDER_SECONDS * cone.size**3 * cone.count
    return Forecast(row.name, memory, seconds)


def memory_limit() -> float:
    """Three quarters of this machine's memory, in bytes."""
    return 0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def quickest(rows: Sequence[SolverRow], cones: Sequence[Cone], variables: int) -> SolverRow:
    """The first solver of the table that is quick enough and fits; else the one predicted quickest.

    ``rows`` are installed solvers that have all the cones.
    """
    limit = memory_limit()
    predicted = [(row, forecast(row, cones, variables)) for row in rows]
    for row, f in predicted:
        if f.seconds <= MOST_SECONDS_INTERIOR and f.memory <= limit:
            return row
    return min(predicted, key=lambda pair: (pair[1].memory > limit, pair[1].seconds))[0]


def refuse_too_large(program: str, row: SolverRow, cones: Sequence[Cone], variables: int) -> None:
    """Raise TooLargeError, naming the limit, when the forecast does not fit into this machine."""
    needed = forecast(row, cones, variables)
    if needed.memory <= memory_limit():
        return
    ways = ["another formulation of the same problem", "fewer cells"]
    if row.method == "interior point":
        ways.insert(0, "a first-order solver (scs)")
    largest = max(cones, key=lambda c: c.count * c.size**2 * c.size**2)
    hint = (
        f"it has {largest.count} {largest.kind} cone{'s' * (largest.count > 1)} of size {largest.size} "
        f"(from '{largest.origin}'); use {', '.join(ways)}"
    )
    raise too_large(program, needed, hint)


def too_large(program: str, needed: Forecast, hint: str) -> TooLargeError:
    """The error for a forecast that does not fit into this machine."""
    return TooLargeError(
        f"'{program}' with {needed.solver} would need about {needed.memory / 2**30:.0f} GiB of memory; "
        f"the limit here is {memory_limit() / 2**30:.0f} GiB",
        hint=hint,
    )
