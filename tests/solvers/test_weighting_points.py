"""Points of the shipped programs, scored by the program files and laid beside the conic route."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from named_workloads import NAMED, named, random_workload
from tolerances import FINE, GAP, GAP_INTERIOR

from mmopt import Program, Workload, solve
from mmopt.compiler import Instance, bind
from mmopt.driver.run_solver import Best
from mmopt.solvers import Clock, Options, Point
from mmopt.solvers.weighting_kernel import PROGRAMS, points


def offered(program: str, instance: Instance, options: Options, clock: Clock) -> Iterator[Point]:
    """The points to score, without the kernel's own counts between them."""
    return (point for point in points(program, instance.env, options, clock) if point.variables)


def run(instance: Instance, tolerance: float, **options: int) -> tuple[Best, list[Point]]:
    """Do what the driver does: offer each point until the certified gap is reached."""
    best, seen = Best(instance), []
    with Clock(60.0) as clock:
        for point in offered(instance.program.name, instance, Options(tolerance, **options), clock):
            seen.append(point)
            best.offer(point.variables, point.multipliers)
            if best.gap <= tolerance:
                break
    return best, seen


def bound_to(program: str, workload: Workload, **givens: object) -> Instance:
    return bind(Program.load(program), workload, givens)


@pytest.mark.some(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_it_agrees_with_the_conic_route(program: str, rng: np.random.Generator) -> None:
    workloads = [named("prefix"), named("signed"), random_workload(rng)]
    for w in workloads:
        givens = {"size": 3} if program == "separate_weighting" else {}
        best, _ = run(bound_to(program, w, **givens), GAP_INTERIOR)
        conic = solve(w, program, solver="clarabel", givens=givens)
        assert best.gap <= GAP_INTERIOR
        assert best.point is not None and best.point.before <= 1e-12
        assert best.point.objective == pytest.approx(conic.objective, rel=2 * GAP_INTERIOR)


def test_the_first_point_is_enough_and_fine_gaps_are_reached(
    subtests: pytest.Subtests, rng: np.random.Generator
) -> None:
    for program in PROGRAMS:
        for name in map(str, rng.choice(NAMED, 4, replace=False)):
            with subtests.test(name, program=program):
                instance = bound_to(program, named(name))
                for tolerance in (GAP, FINE):
                    best, seen = run(instance, tolerance)
                    assert best.gap <= tolerance
                    assert len(seen) == 1
                    assert set(seen[0].variables) == {d.name for d in instance.program.choose}


@pytest.mark.quick
def test_a_consumer_that_goes_on_gets_finer_points() -> None:
    instance = bound_to("query_weighting", named("all ranges"))
    with Clock(60.0) as clock:
        gaps = []
        for point in offered("query_weighting", instance, Options(1e-2), clock):
            best = Best(instance)
            best.offer(point.variables, point.multipliers)
            gaps.append(best.gap)
    assert point.stop is not None and len(gaps) > 2
    assert gaps[0] <= 1e-2 and gaps[-1] <= FINE
    assert all(after <= before for before, after in itertools.pairwise(gaps[:-1]))


def test_no_time_still_gives_a_certified_point(subtests: pytest.Subtests) -> None:
    for program in PROGRAMS:
        with subtests.test(program):
            instance = bound_to(program, named("all ranges"))
            with Clock(1e-9) as clock:
                (point,) = points(program, instance.env, Options(FINE), clock)
            best = Best(instance)
            best.offer(point.variables, point.multipliers)
            assert point.stop == "stopped"
            assert best.gap < 1


def test_design_queries_that_the_workload_does_not_lean_on() -> None:
    """They get a weight that costs less than the gap asked for."""
    for program in ["group_weighting", "separate_weighting"]:
        w = Workload.from_matrix(np.tri(3, 5))
        givens = {"Q": np.eye(5), "e": np.ones(5), "M": np.eye(5)} if program == "group_weighting" else {}
        instance = bound_to(program, w, **(givens or {"Q": np.eye(5), "size": 2}))
        best, _ = run(instance, GAP_INTERIOR)
        assert best.gap <= GAP_INTERIOR
        assert best.point is not None
        (name,) = {"u", "t"} & set(best.point.variables)
        assert (best.point.variables[name] > 0).all()


def test_groups_with_weights_inside(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    h = len(w.eigenqueries)
    givens = {"M": (np.arange(h) % 2 == np.arange(2)[:, None]).astype(float), "u0": rng.uniform(1, 2, size=h)}
    if h < 2:
        givens["M"] = np.ones((1, 1))
    best, _ = run(bound_to("group_weighting", w, **givens), FINE)
    assert best.gap <= FINE
