"""The task and its plan: the instance, its reductions, whether over cells or by component.

A plan is made once and handed down; ``explain`` and ``--dry-run`` print the same one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mmopt.compiler import (
    Instance,
    ReductionStep,
    Traits,
    bind,
    by_components,
    by_sectors,
    by_sets,
    first_step,
    in_factors,
    is_shipped,
    match,
    obstacle,
    of_each_query,
    of_factors,
    reducible,
    traits_of,
    workloads_of_factors,
)
from mmopt.driver.accepted_options_and_inputs import is_solved_by, reads_option
from mmopt.errors import OptionError, TooLargeError, whole
from mmopt.language import (
    Checked,
    Program,
    check,
    program_names,
    shipped,
    splits,
)
from mmopt.limits import fits_memory
from mmopt.numerics.arrays import MOST_CELLS, one_thread
from mmopt.results import gap_between
from mmopt.solvers import KERNELS, LBFGS, Options, SolverRow, is_claimed, is_free, is_kernel, memory_limit
from mmopt.workloads import Workload

#: A workload over no more cells is always taken to matrices over them.
FEW_CELLS = 512

#: The largest part of the cells in a component with which a solution by component is worth it, between the
#: two sizes. A reflection leaves half, or with an odd number of cells a little more.
SMALL_COMPONENT = 0.51

FEWER = "ask queries of fewer attributes at a time; or group values of the attributes"
NO_KERNEL = "no kernel knows the program, and conic solvers need matrices over the cells"

DENSE_ARRAYS = 12  # matrices of the size of the cells in a dense solve at a time
KERNEL_ARRAYS = 16  # matrices of the size of the largest component in a solve by component


@dataclass(frozen=True, eq=False)
class SolvePlan:
    """The way to solve an instance: as it is, or by a step to smaller ones, whose solutions the step lifts.

    split : in words, how the instance is by component or in factors, where its solution stays so; else "".
    step : a reduction; with the plans of its ``parts``, one for equal parts.
    further : makes the plan of a slower way for where this one leaves the gap open, or says why there is
        none.
    reduce : whether steps of a procedure may be reduced.
    """

    instance: Instance
    split: str = ""
    step: ReductionStep | None = None
    parts: tuple[SolvePlan, ...] = ()
    reduce: bool = True
    further: Callable[[], SolvePlan | str | TooLargeError] | None = None

    @property
    def factors(self) -> Mapping[str, SolvePlan]:
        """The plans of the factors by attribute, where the solution stays in factors; else none."""
        if self.step is None or not self.split:
            return {}
        return dict(zip([a.name for a in self.instance.workload.domain.attributes], self.parts, strict=True))

    @property
    def attributes(self) -> Mapping[SolvePlan, list[str]]:
        """The plans of the factors, equal ones once, with the attributes of each."""
        plans = self.factors
        return {part: [name for name in plans if plans[name] is part] for part in plans.values()}

    @property
    def largest(self) -> int:
        """The number of columns of the largest matrix in a solve."""
        return max((part.largest for part in self.parts), default=self.instance.largest())

    @property
    def lines(self) -> tuple[str, ...]:
        """A line for each reduction, equal parts once."""
        visited: set[SolvePlan] = set()

        def lines(plan: SolvePlan, prefix: str) -> Iterator[str]:
            visited.add(plan)
            text = plan.split if plan.step is None else plan.step.text
            if text:
                yield prefix + text
            names = plan.step.names if plan.step is not None else ()
            for name, part in zip(names or [""] * len(plan.parts), plan.parts, strict=True):
                if part not in visited:
                    yield from lines(part, f"{prefix}{name}: " if names else prefix)

        return tuple(lines(self, ""))


def plan_solve(
    program: Program | Checked,
    workload: Workload,
    givens: Mapping[str, Any] | None = None,
    *,
    reduce: bool = True,
    solver: str | SolverRow | None = None,
) -> SolvePlan:
    """The plan of a solve.

    Over more than ``FEW_CELLS`` cells a product of factors whose cells are listed is planned factor by
    factor, each as a solve of its own, and its solution stays in factors: nothing has the size of the cells.
    Over more than ``MOST_CELLS`` cells, and over more than ``FEW_CELLS`` where components are small, the
    instance is by component, if a kernel solves it, and its solution stays so. Over more than ``MOST_CELLS``,
    without components or with too large ones, and with queries of few attributes, it is by sets of
    attributes, and ``further`` in the space of the queries. Otherwise it is over the cells. ``reduce`` False:
    over any number of cells.
    ``solver``: the one that the caller names.

    Raises
    ------
    TooLargeError : a large workload that cannot be solved by component, and does not fit in memory otherwise.
    mmopt.Error : as ``bind``.
    """
    checked = program if isinstance(program, Checked) else check(program)
    is_large = workload.n > MOST_CELLS
    if (
        reduce
        and workload.n > FEW_CELLS
        and (plan := plan_in_factors(checked, workload, givens or {}, solver))
    ):
        return plan
    if reduce and (is_large or (workload.n > FEW_CELLS and is_kernel(solver))):
        arguments = checked, workload, givens or {}
        other = (
            _without_cells(*arguments)
            if is_large
            else _by_component(*arguments, int(SMALL_COMPONENT * workload.n))
        )
        if isinstance(other, SolvePlan):
            return other  # else the reason why there is none
        if isinstance(other, TooLargeError):
            raise other
        if is_large and not _fits_dense(workload):
            raise _too_large(checked.program, workload, other)
    return plan_instance(bind(checked, workload, givens), solver, reduce=reduce)


def plan_instance(
    instance: Instance, solver: str | SolverRow | None = None, *, reduce: bool = True
) -> SolvePlan:
    """The plan for an instance over the cells: the first reduction that applies, then those of its parts."""
    if not (reduce and reducible(instance)):
        return SolvePlan(instance, reduce=reduce)
    return _reduced(instance, solver, traits_of(instance), {})


def _reduced(
    instance: Instance, solver: str | SolverRow | None, traits: Traits, plans: dict[str, SolvePlan]
) -> SolvePlan:
    """The plan of an instance, with reductions; ``plans``: those of parts by the hash of their workload."""
    step = first_step(instance, traits, lambda inner: is_claimed(inner, solver))

    def plan_of_part(inner: Instance) -> SolvePlan:
        if splits(inner.env):  # where no further reduction applies
            return SolvePlan(inner)
        key = inner.workload.hash
        return plans.get(key) or plans.setdefault(key, _reduced(inner, solver, traits, plans))

    return SolvePlan(
        instance, step=step, parts=tuple(map(plan_of_part, step.parts if step is not None else ()))
    )


def plan_in_factors(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], solver: str | SolverRow | None = None
) -> SolvePlan | None:
    """The plan factor by factor; None where the whole is not the product of factors.

    For shipped programs only, whose certificates are proofs: nothing is scored over the cells of the whole.
    """
    if not is_shipped(checked, meaning=True):
        return None
    factors = workloads_of_factors(workload)
    is_product = sum(part.n > 1 for part in factors) > 1 and all(part.n <= MOST_CELLS for part in factors)
    ones = {p.name: 1.0 for p in checked.program.parameters}  # their values are not needed before ``bind``
    if not (is_product and of_factors(checked, frozenset(givens), ones).kind):
        return None
    plans = {
        key: plan_solve(checked, part, givens, solver=solver)
        for key, part in {part.hash: part for part in factors}.items()
    }
    parts = tuple(plans[part.hash] for part in factors)
    reduced = in_factors(workload, [plan.instance for plan in parts])
    return None if reduced is None else SolvePlan(reduced[0], reduced[1].text, reduced[1], parts)


def _plan_without_lift(
    reduction: Callable[..., tuple[Instance, str] | str | None],
    checked: Checked,
    workload: Workload,
    givens: Mapping[str, Any],
    **limits: int | bool | None,
) -> SolvePlan | str | TooLargeError:
    """The plan by a reduction whose solution is not lifted; or why there is none, or not enough memory."""
    try:
        with one_thread():  # components are found from many small matrices
            reduced = reduction(checked, workload, givens, **limits)
    except TooLargeError as error:
        return error
    if reduced is None:
        return "no two values of an attribute can be swapped, so the workload does not split"
    if isinstance(reduced, str):
        return reduced
    return SolvePlan(*reduced) if is_claimed(reduced[0], None) else NO_KERNEL


def _by_component(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], largest: int | None
) -> SolvePlan | str | TooLargeError:
    """The plan by component, with components no larger than ``largest``; or why there is none."""
    return obstacle(checked, givens) or _plan_without_lift(
        by_components, checked, workload, givens, largest=largest
    )


def _without_cells(checked: Checked, workload: Workload, givens: Mapping[str, Any]) -> SolvePlan | str:
    """The plan by component, by sets of attributes or in the space of the queries; or why there is none.

    Components that are too large are formed only where there is no other way.
    """
    arguments = checked, workload, givens
    # The largest component is no larger than listed cells may be, and its kernel fits in memory.
    fitting = min(MOST_CELLS, math.isqrt(int(memory_limit() / (8 * KERNEL_ARRAYS))))
    if isinstance(by_component := _by_component(*arguments, fitting), SolvePlan):
        return by_component
    if isinstance(sets := _by_sets(*arguments), SolvePlan):
        return sets
    if isinstance(other := _plan_without_lift(by_sectors, *arguments), SolvePlan):
        return other
    if isinstance(by_component, str) and isinstance(
        by_component := _by_component(*arguments, None), SolvePlan
    ):
        return by_component
    if isinstance(other, TooLargeError):
        if _fits_dense(workload):
            return str(by_component)
        raise TooLargeError(other.message, hint=FEWER) from other
    if isinstance(by_component, TooLargeError):
        raise by_component if by_component.hint else TooLargeError(by_component.message, hint=FEWER)
    why = sets if isinstance(sets, str) else other
    return by_component if why == by_component else f"{by_component}; nor in the space of the queries: {why}"


def _by_sets(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], is_quick: bool = True
) -> SolvePlan | str | TooLargeError:
    """The plan by sets of attributes; or why there is none.

    Where that leaves the gap open, ``further`` is by sets made for the targets (``is_quick`` False), and then
    in the space of the queries.
    """
    arguments = checked, workload, givens
    try:
        plan = (
            _plan_without_lift(by_sets, *arguments, is_quick=is_quick) if is_shipped(checked) else NO_KERNEL
        )
    except OptionError as error:  # queries too far apart in size
        return error.message
    is_last = not (is_quick and of_each_query(checked, givens))
    return (
        replace(
            plan,
            further=lambda: (
                _plan_without_lift(by_sectors, *arguments) if is_last else _by_sets(*arguments, False)
            ),
        )
        if isinstance(plan, SolvePlan)
        else plan
    )


def _fits_dense(workload: Workload) -> bool:
    """Whether the matrices of a solve over the cells fit in memory."""
    return DENSE_ARRAYS * 8 * workload.n**2 <= memory_limit()


def _too_large(program: Program, workload: Workload, why: str) -> TooLargeError:
    """The error for a solve that does not fit in memory, with the reason why it is not by component."""
    one, limit = 8 * workload.n**2, memory_limit()
    kernel_programs = [shipped(name) for kernel in KERNELS if kernel.by_component for name in kernel.programs]
    able = [
        checked.program.name
        for checked in map(shipped, program_names())
        if not obstacle(checked, {}) and any(match(kernel, checked) is not None for kernel in kernel_programs)
    ]
    others = f"these are: {', '.join(able)}; or group values of the attributes, so that there are fewer cells"
    hint = FEWER if program.name in able else others
    hint += "; or try it as it is with reduce=False (--no-reduce)" * fits_memory((workload.n, workload.n))
    return TooLargeError(
        f"'{program.name}' cannot be solved by component: {why}; over {whole(workload.n)} cells one matrix "
        f"alone takes {_gigabytes(one)}, and the limit here is {_gigabytes(limit)} for {DENSE_ARRAYS} of "
        "them",
        hint=hint,
    )


def _gigabytes(size: float) -> str:
    """A number of bytes in words; exact where it is beyond what doubles count."""
    gigabytes = round(size / 2**30) if size < 2**80 else int(size) // 2**30
    return f"{whole(gigabytes)} GiB"


@dataclass(frozen=True)
class Progress:
    """The state of a solve, passed to the caller's ``progress`` after each point.

    ``iterations`` is None where the solver does not count them. ``certified`` is False for a kernel's own
    count, before the program was evaluated. A solve that is predicted to take more than
    ``run_solver.SECONDS_TO_ANNOUNCE`` is announced before it begins: then ``predicted`` has the seconds, and
    there is no objective (NaN). A search solves up to ``solves`` times, and ``predicted`` is of one.
    """

    program: str
    solver: str
    seconds: float
    iterations: int | None
    objective: float
    bound: float | None
    sense: str = "minimize"
    certified: bool = True
    predicted: float | None = None
    is_logarithmic: bool = False
    solves: int = 1

    @property
    def gap(self) -> float | None:
        """The proved gap, or None without a bound."""
        return gap_between(self.objective, self.bound, self.sense, self.is_logarithmic)


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Task:
    """A solve by its plan, with the options of the caller.

    solver : the one named. overrides : the options named, by their names in ``Options``; all others are the
    solver's. report : called with every ``Progress``. start : values of the chosen variables from which a
    search starts. derive : whether a bound is derived from the lines; None: where there is no proved one.
    Options that nothing reads have been refused (``accepted_options_and_inputs.py``).
    """

    plan: SolvePlan
    solver: str | SolverRow | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    report: Report | None = None
    start: Mapping[str, Any] | None = None
    derive: bool | None = None

    @property
    def instance(self) -> Instance:
        return self.plan.instance

    @property
    def program(self) -> Program:
        return self.instance.program

    @property
    def derives(self) -> bool:
        """Whether a bound is derived: by the option; by default for programs without a proved bound."""
        by_default = not self.program.bound and not is_shipped(self.instance.checked)
        return (by_default if self.derive is None else self.derive) and self.program.problem_class == "convex"

    def options(self, **defaults: Any) -> Options:
        """The options, with ``defaults`` where the caller named none."""
        return Options(**{**defaults, **self.overrides})

    def of_step(self, instance: Instance, start: Mapping[str, Any] | None) -> Task:
        """A step of this procedure, not planned yet, with the solver and the options that it reads.

        Where kernels are left out, a step without cones is searched by L-BFGS.
        """
        checked = instance.checked
        wanted = [self.solver, *[LBFGS.name] * (self.solver is not None and is_free(self.solver))]
        solver = next((s for s in wanted if s is not None and is_solved_by(checked, s)), None)
        overrides = {
            name: value for name, value in self.overrides.items() if reads_option(checked, name, solver)
        }
        return replace(
            self,
            plan=SolvePlan(instance, reduce=self.plan.reduce),
            solver=solver,
            overrides=overrides,
            start=start,
            derive=False,
        )

    def planned(self) -> Task:
        """The task with the plan of its instance."""
        return replace(self, plan=plan_instance(self.instance, self.solver, reduce=self.plan.reduce))

    def tell(
        self,
        solver: str,
        seconds: float,
        iterations: int | None,
        objective: float,
        bound: float | None,
        *,
        certified: bool = True,
        predicted: float | None = None,
        solves: int = 1,
    ) -> None:
        """Report the state of a solve, if the caller has a ``report``."""
        if self.report is not None:
            figures = (self.program.name, solver, seconds, iterations, objective, bound, self.program.sense)
            self.report(
                Progress(*figures, certified, predicted, self.instance.checked.is_logarithmic, solves)
            )
