"""The choice of the solver that takes a program, and the forecast of its memory and time.

A program is solved by a kernel that claims it; else by the first conic solver of the table that has its
cones, is quick enough and fits into memory. The word ``conic`` in place of a name leaves the kernels out.

Conic solvers are forecast from the cones alone. Fitted to runs on two shared cores: one block of size 32, 64,
128 with Clarabel 0.14, 3.2, 134 s and 2.4 GB at the largest; 16 blocks of size 17 one second, 89 of size 21 a
minute; SCS 1 to 30 s at 128 to 512. A guide to a factor of about three in time. Kernels forecast themselves.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mmopt.compiler import Cone, Instance, coefficients, cones, variables
from mmopt.errors import OptionError, SolverError, TooLargeError, UnsuitableError, whole
from mmopt.solvers.conic_solvers import LBFGS, SOLVERS, SolverRow, function_row, missing_cones, solver_row
from mmopt.solvers.function_solver import reference
from mmopt.solvers.table_of_kernels import CONIC, KERNELS, Claim, claims, is_free, is_kernel

# A caller's solver: a name, ``conic``, ``module:function``, or a function of one ``ConicProblem``.
SolverLike = str | Callable[..., Any] | None


WORDS = (CONIC, *(kernel.name for kernel in KERNELS))  # that may stand where a conic solver's name does


def as_solver(solver: SolverLike) -> str | SolverRow | None:
    """A name as it is, and the row of a function; OptionError for anything else."""
    if solver is None or isinstance(solver, str):
        return solver
    if callable(solver):
        return function_row(solver)
    raise OptionError(
        f"a {type(solver).__name__} is no solver",
        hint="expected a name ('clarabel'), 'conic', 'module:function', or a function of a ConicProblem",
    )


def solver_name(solver: SolverLike) -> str | None:
    """The name by which another process finds a kernel, an installed solver or a function.

    Errors as ``solver_row``, and OptionError for a function that it would not find.
    """
    row = as_solver(solver)
    if isinstance(row, SolverRow):
        return reference(row.function) if row.function is not None else row.name
    if row is None or is_kernel(row) or row.lower() in (LBFGS.name, CONIC):
        return None if row is None else row.lower()
    return solver_row(row, WORDS).name


@dataclass(frozen=True)
class Forecast:
    """The predicted memory in bytes, and the seconds, of one solver on one problem."""

    solver: str
    memory: float
    seconds: float


def choose_solver(instance: Instance, name: str | SolverRow | None) -> SolverRow | Claim:
    """The solver or kernel named; by default a kernel that claims the program, else the best conic solver.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, it lacks a cone, or the kernel does not claim it.
    TooLargeError : the forecast does not fit into memory.
    """
    if not is_kernel(name):
        return conic_solver(instance, name)
    for claim in claims(instance):
        if name is None or claim.name == str(name).lower():
            w, needed = instance.workload, predicted(instance, claim)
            if needed.memory > memory_limit():
                raise too_large(
                    instance.program.name,
                    needed,
                    hint=f"the workload has {whole(w.n)} cells and {w.m:,} queries; use fewer cells",
                )
            return claim
    if name is None:
        return conic_solver(instance, None)
    raise UnsuitableError(
        f"the kernel '{name}' does not know '{instance.program.name}' with what is given here",
        hint="leave out the solver",
    )


def predicted(instance: Instance, row: SolverRow | Claim) -> Forecast:
    """The memory and time that a solver or kernel needs for an instance, to a factor of about three."""
    if isinstance(row, Claim):
        memory, seconds = row.kernel.needs(row.program, row.givens(instance))
        return Forecast(row.name, BYTES_OF_ANY_SOLVE + memory, seconds)
    return forecast(row, *problem_size(instance))


def problem_size(instance: Instance) -> tuple[list[Cone], int, float]:
    """The cones, the variables and the coefficients of a problem as it is handed over."""
    checked, sizes = instance.checked, instance.sizes()
    return cones(checked, sizes), variables(checked, sizes), coefficients(checked, instance.env)


def conic_solver(instance: Instance, name: str | SolverRow | None) -> SolverRow:
    """The solver named, if it has the cones; for None and ``CONIC`` the first suitable one of the table.

    Raises
    ------
    OptionError, SolverError : unknown, not installed, or it lacks a cone (named).
    TooLargeError : the forecast does not fit into memory.
    """
    size = needed, *_ = problem_size(instance)
    if not is_free(name):
        row = name if isinstance(name, SolverRow) else solver_row(str(name), WORDS)
        if missing := missing_cones(row, needed):
            able = [r.name for r in SOLVERS if not missing_cones(r, needed)]
            raise UnsuitableError(
                f"'{instance.program.name}' does not work with {row.name}: "
                f"it must have the {' and the '.join(missing)} cone",
                hint=f"these have it: {', '.join(able)}",
            )
    else:
        rows = [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]
        if not rows:
            raise SolverError(f"no installed solver has all the cones that '{instance.program.name}' needs")
        row = quickest(rows, *size)
    refuse_too_large(instance.program.name, row, *size)
    return row


BYTES_OF_ANY_SOLVE = 165e6  # bytes that any solve takes
INTERIOR_BYTES = 55.0  # per entry of the square of the triangle of a psd cone
# The same for each of the blocks that share their variables: for l2_strategy_lmi over 12, 16, 20 and 24 cells
# 178, 221, 350 and 676 MB are predicted where 158, 197, 309 and 596 were held (Clarabel).
FAMILY_BYTES = 8.0
INTERIOR_SECONDS = 2.4e-10  # per cube of that triangle, for one block
# Per coefficient, in cvxpy's matrix and the solver's, and in its factors. 279 MB are predicted where 263 were
# held for a linear program with 600 x 600 numbers, 489 for 303 of a D-optimal design of 10,000 points.
COEFFICIENT_BYTES = {"interior point": 350.0, "first order": 200.0}
FAMILY_SECONDS = 5e-9  # the same for blocks that share their variables, with their number to the power 1.5
FIRST_ORDER_SECONDS = 2.2e-7  # per cube of the side of a psd cone, all iterations
COMPILE_BYTES = 2_500.0  # of cvxpy and the solver's matrix per triangle row of a psd cone
MOST_SECONDS_INTERIOR = 20.0  # seconds of interior point beyond which a first-order method is chosen


def forecast(row: SolverRow, cones: Sequence[Cone], variables: int, coefficients: float = 0.0) -> Forecast:
    """The memory and time that a conic solver needs, from the cones, the variables and their coefficients."""
    memory = BYTES_OF_ANY_SOLVE + 200.0 * variables
    memory += coefficients * COEFFICIENT_BYTES.get(row.method, 350.0)
    seconds = 0.01
    for cone in cones:
        triangle = cone.size * (cone.size + 1) / 2 if cone.kind == "psd" else cone.size
        memory += cone.count * triangle * (COMPILE_BYTES if cone.kind == "psd" else 100.0)
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


def quickest(
    rows: Sequence[SolverRow], cones: Sequence[Cone], variables: int, coefficients: float = 0.0
) -> SolverRow:
    """The first solver of the table that is quick enough and fits; else the one predicted quickest.

    ``rows`` are installed solvers that have all the cones.
    """
    limit = memory_limit()
    forecasts = [(row, forecast(row, cones, variables, coefficients)) for row in rows]
    for row, f in forecasts:
        if f.seconds <= MOST_SECONDS_INTERIOR and f.memory <= limit:
            return row
    return min(forecasts, key=lambda pair: (pair[1].memory > limit, pair[1].seconds))[0]


def refuse_too_large(
    program: str, row: SolverRow, cones: Sequence[Cone], variables: int, coefficients: float = 0.0
) -> None:
    """Raise TooLargeError, naming the limit, when the forecast does not fit into this machine."""
    if (needed := forecast(row, cones, variables, coefficients)).memory <= memory_limit():
        return
    ways = ["another formulation of the same problem", "fewer cells"]
    if row.method == "interior point":
        ways.insert(0, "a first-order solver (scs)")
    largest = max(cones, key=lambda c: c.count * c.size**2 * c.size**2)
    raise too_large(
        program,
        needed,
        hint=f"it has {largest.count} {largest.kind} cone{'s' * (largest.count > 1)} of size {largest.size} "
        f"(from '{largest.origin}'); use {', '.join(ways)}",
    )


def too_large(program: str, needed: Forecast, hint: str) -> TooLargeError:
    """The error for a forecast that does not fit into this machine."""
    return TooLargeError(
        f"'{program}' with {needed.solver} would need about {needed.memory / 2**30:.0f} GiB of memory; "
        f"the limit here is {memory_limit() / 2**30:.0f} GiB",
        hint=hint,
    )
