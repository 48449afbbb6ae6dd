"""The table of kernels, each claiming its programs.

Kernels are methods of our own for the problems of this field. A kernel names the shipped programs that it
solves. It claims any program that has the tree of one of them under other names (a copy in a notebook,
another formulation with the same lines) and no program that only has its name: with ``diag(X) <= 1`` edited
it goes to a conic solver. The kernel's points are scored against the user's program, like those of any
solver.
"""

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mmopt.compiler import Instance, Renaming, match
from mmopt.installation_and_files import version
from mmopt.language import Checked, shipped
from mmopt.numerics.component_arrays import Split
from mmopt.solvers import (
    banded_kernel,
    low_rank_kernel,
    nuclear,
    p_identity_kernel,
    sector_kernel,
    softmax_kernel,
    weighting_kernel,
)
from mmopt.solvers.conic_solvers import SolverRow
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
    ),
    Kernel(
        "sectors",
        "column generation on measures of the cells",
        sector_kernel.PROGRAMS,
        sector_kernel.points,
        sector_kernel.needs,
        tolerance=sector_kernel.TOLERANCE,
        takes=sector_kernel.takes,
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
        "softmax",
        "Newton on the weights of the soft maxima",
        softmax_kernel.PROGRAMS,
        softmax_kernel.points,
        softmax_kernel.needs,
        program_class="smooth",
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
        names = self.renaming.names
        for point in self.kernel.points(self.program, self.givens(instance), options, clock):
            if not point.variables:  # its own count alone, of which there may be many
                yield point
                continue
            yield replace(
                point,
                variables={names[n]: v for n, v in point.variables.items()},
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
            if kernel.takes is None or kernel.takes(claim.givens(instance)):
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
