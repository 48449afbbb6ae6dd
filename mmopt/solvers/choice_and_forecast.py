"""The choice of the solver that takes a program, the table of kernels, and the forecast of memory and time.

A program is solved by a kernel that claims it; else by the first conic solver of the table that has its
cones, is quick enough and fits into memory. The word ``conic`` in place of a name leaves the kernels out.

Kernels are methods of our own for the problems of this field. A kernel names the shipped programs that it
solves. It claims any program that has the tree of one of them under other names (a copy in a notebook,
another formulation with the same lines) and no program that only has its name: with ``diag(X) <= 1`` edited
it goes to a conic solver. The kernel's points are scored against the user's program, like those of any
solver.

Conic solvers are forecast from the cones alone. Fitted to runs on two shared cores: one block of size 32, 64,
128 with Clarabel 0.14, 3.2, 134 s and 2.4 GB at the largest; 16 blocks of size 17 one second, 89 of size 21 a
minute; SCS 1 to 30 s at 128 to 512. A guide to a factor of about three in time. Kernels forecast themselves.
"""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmopt.compiler import Cone, Instance, Renaming, coefficients, cones, match, variables
from mmopt.errors import OptionError, SolverError, TooLargeError, UnsuitableError, whole
from mmopt.installation_and_files import version
from mmopt.language import Checked, shipped, splits
from mmopt.limits import TASK_MEMORY
from mmopt.numerics.component_arrays import Split
from mmopt.solvers import (
    banded_kernel,
    l1_kernel,
    low_rank_kernel,
    nuclear,
    p_identity_kernel,
    pairs_kernel,
    sector_kernel,
    softmax_kernel,
    weighting_kernel,
)
from mmopt.solvers.conic_problem import reference
from mmopt.solvers.conic_solvers import LBFGS, SOLVERS, SolverRow, function_row, missing_cones, solver_row
from mmopt.solvers.options_points_and_clock import Clock, Options, Point


@dataclass(frozen=True)
class Kernel:
    """A method with the shipped programs that it solves; ``tolerance`` is the default gap.

    ``points`` takes a shipped program's name and its givens by name, and gives points under its names;
    ``needs`` tells bytes and seconds from the same two, ``BYTES_OF_ANY_SOLVE`` left out. ``takes`` refuses
    givens for which the method is not made, where the tree alone does not decide.
    """

    name: str
    method: str
    programs: tuple[str, ...]
    points: Callable[[str, Mapping[str, Any], Options, Clock], Generator[Point, None, None]]
    needs: Callable[[str, Mapping[str, Any]], tuple[float, float]]
    reads: frozenset[str] = frozenset({"max_iterations"})  # of the options that not every solver reads
    is_local: bool = False  # finds local optima: a start that the caller has may lead elsewhere
    tolerance: float = 1e-6
    takes: Callable[[Mapping[str, Any]], bool] | None = None
    program_class: str = "convex"  # of all its programs
    by_component: bool = False  # whether it takes data that split into components


# Each instance is claimed by one at most. Left out: design_weighting, a trace of an inverse in the weights of
# dependent rows.
KERNELS: tuple[Kernel, ...] = (
    Kernel(
        "nuclear",
        "interior point on the multipliers",
        tuple(nuclear.FORMS),
        nuclear.points,
        nuclear.needs,
        reads=frozenset({"max_iterations", "arrays"}),
        takes=lambda givens: all(v.is_listed for v in givens.values() if isinstance(v, Split)),
        by_component=True,
    ),
    Kernel(
        "sectors",
        "column generation on measures of the cells",
        sector_kernel.PROGRAMS,
        sector_kernel.points,
        sector_kernel.needs,
        tolerance=sector_kernel.TOLERANCE,
        takes=sector_kernel.takes,
        by_component=True,
    ),
    Kernel(
        "weighting",
        "fixed point, then interior point",
        weighting_kernel.PROGRAMS,
        weighting_kernel.points,
        weighting_kernel.needs,
    ),
    Kernel(
        "p_identity",
        "quasi-Newton from many starts, over merged cells first",
        p_identity_kernel.PROGRAMS,
        p_identity_kernel.points,
        p_identity_kernel.needs,
        reads=frozenset({"max_iterations", "starts", "seed"}),
        is_local=True,
        program_class="smooth",
    ),
    Kernel(
        "signed_rows",
        "quasi-Newton from the end of p_identity and many signed starts",
        l1_kernel.PROGRAMS,
        l1_kernel.points,
        l1_kernel.needs,
        reads=frozenset({"max_iterations", "starts", "seed"}),
        is_local=True,
        program_class="smooth",
    ),
    Kernel(
        "softmax",
        "Newton on the weights of the soft maxima",
        softmax_kernel.PROGRAMS,
        softmax_kernel.points,
        softmax_kernel.needs,
        program_class="smooth",
    ),
    Kernel(
        "barrier",
        "Newton on the multipliers of a barrier",
        softmax_kernel.WITH_BARRIER,
        softmax_kernel.points,
        softmax_kernel.needs,
        tolerance=softmax_kernel.TOLERANCE_WITH_BARRIER,
    ),
    Kernel(
        "low_rank",
        "closed form, or accelerated projected gradients",
        low_rank_kernel.PROGRAMS,
        low_rank_kernel.points,
        low_rank_kernel.needs,
        tolerance=1e-5,
    ),
    Kernel(
        "banded",
        "quasi-Newton on a banded factor",
        banded_kernel.PROGRAMS,
        banded_kernel.points,
        banded_kernel.needs,
        takes=banded_kernel.takes,
    ),
    Kernel(
        "pairs",
        "interior point on pairs of cells",
        pairs_kernel.PROGRAMS,
        pairs_kernel.points,
        pairs_kernel.needs,
        takes=pairs_kernel.are_few,
    ),
    Kernel(
        "many_pairs",
        "multiplied weights of pairs of cells",
        pairs_kernel.PROGRAMS,
        pairs_kernel.points,
        pairs_kernel.needs,
        tolerance=pairs_kernel.TOLERANCE,
    ),
)


@dataclass(frozen=True)
class Claim:
    """A kernel for an instance: as which shipped program, under which names."""

    kernel: Kernel
    program: str
    renaming: Renaming

    @property
    def name(self) -> str:
        return self.kernel.name

    @property
    def version(self) -> str:
        return version()

    @property
    def tolerance(self) -> float:
        return self.kernel.tolerance

    def points(self, instance: Instance, options: Options, clock: Clock) -> Generator[Point, None, None]:
        """Points under the names of the instance's program, in its own scale."""
        for point in self.kernel.points(self.program, self.givens(instance), options, clock):
            if not point.variables:  # its own count alone, of which there may be many
                yield point
                continue
            yield replace(
                point,
                variables={self.renaming.names[n]: v for n, v in point.variables.items()},
                multipliers={self._key(n): v for n, v in point.multipliers.items()},
            )

    def givens(self, instance: Instance) -> dict[str, Any]:
        """The instance's givens and lets under the shipped program's names, and the sizes of variables."""
        names, sizes = self.renaming.names, instance.sizes()
        values = {name: instance.env[given] for name, given in names.items() if given in instance.env}
        chosen = {d.name: d for d in instance.program.choose}
        for d in shipped(self.program).program.choose:
            for dim, dimension in zip(d.dims, chosen[names[d.name]].dims, strict=True):
                if dim.name:
                    values.setdefault(dim.name, dimension.value(sizes))
        if {"L", "B"} <= set(values) and (
            queries := _implicit_queries(instance, values["L"], values["B"])
        ) is not None:
            values[nuclear.QUERIES] = queries
        return values

    def _key(self, name: str) -> str:
        """``privacy[1, 1]`` of the shipped program under the constraint's name here."""
        constraint, bracket, block = name.partition("[")
        return self.renaming.constraints[constraint] + bracket + block


def _implicit_queries(instance: Instance, left: Any, right: Any) -> Any:
    """The queries, if they are ``left @ right`` by the workload's own basis and need no memory; else None."""
    workload = instance.workload
    sources = {d.source for d in instance.program.givens if d.name not in instance.passed}
    is_product = (
        workload.given_queries is not None
        and not isinstance(left, Split)
        and {"workload.representation", "workload.basis"} <= sources
        and left is workload.representation
        and right is workload.basis
    )
    return workload.queries if is_product else None


def known_as(kernel: Kernel, checked: Checked) -> tuple[str, Renaming] | None:
    """The kernel's program that a program is, and the renaming; None where it is none of them.

    No two programs of kernels are the same, so a shipped one is compared under its own name alone.
    """
    names, program = kernel.programs, checked.program.name
    if any(program in k.programs for k in KERNELS) and checked is shipped(program):
        names = (program,) if program in names else ()
    if checked.program.problem_class == kernel.program_class:  # known before the kernel's programs are read
        for name in names:
            if (renaming := match(shipped(name), checked)) is not None:
                return name, renaming
    return None


def claims(instance: Instance) -> Iterator[Claim]:
    """The kernels that claim the instance's program, the preferred one first."""
    for kernel in KERNELS:
        if (as_program := known_as(kernel, instance.checked)) is not None:
            claim = Claim(kernel, *as_program)
            if (kernel.by_component or not splits(instance.env)) and (
                kernel.takes is None or kernel.takes(claim.givens(instance))
            ):
                yield claim


def is_claimed(instance: Instance, solver: str | SolverRow | None, *, has_start: bool = False) -> bool:
    """Whether a kernel takes the instance: any kernel, or the one that ``solver`` names.

    With a start, kernels that find local optima do not.
    """
    if not is_kernel(solver):
        return False
    eligible = (claim for claim in claims(instance) if not (has_start and claim.kernel.is_local))
    return any(solver is None or claim.name == str(solver).lower() for claim in eligible)


# In place of a solver's name: any conic solver, chosen as if no kernel claimed the program.
CONIC = "conic"


def is_free(solver: str | SolverRow | None) -> bool:
    """Whether ``solver`` names none, so that one is chosen: None, or ``CONIC`` for any but the kernels."""
    return solver is None or (isinstance(solver, str) and solver.lower() == CONIC)


def is_kernel(solver: str | SolverRow | None) -> bool:
    """Whether ``solver`` is a kernel's name, or None for any solver."""
    return solver is None or (isinstance(solver, str) and solver.lower() in {k.name for k in KERNELS})


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
        f"a {type(solver).__name__} is not a solver",
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
                f"it lacks the {' and the '.join(missing)} cone",
                hint=f"these have it: {', '.join(able)}",
            )
    else:
        if not (rows := [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]):
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
        f"the limit here is {min(memory_limit(), TASK_MEMORY.get()) / 2**30:.0f} GiB",
        hint=hint,
    )
