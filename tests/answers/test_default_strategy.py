"""The default strategy, over more cells than can be listed too: the better of both noises, and words.

Guards accuracy_budget_and_default_strategy.py.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from few_attributes import up_to
from random_workloads import domain_of, random_workload

from mmopt import Privacy, PrivacyError, Program, Solution, Workload, accuracy, solve
from mmopt.answers import accuracy_budget_and_default_strategy
from mmopt.answers.accuracy_budget_and_default_strategy import default_strategy, offer
from mmopt.errors import Error, OptionError, TooLargeError, WorkloadError
from mmopt.limits import Stop, time_left
from mmopt.strategies import Neighbours
from mmopt.workloads import Product, factors_and_products as f

TRI = Workload.from_matrix(np.tri(6))
BOTH = Privacy(epsilon=1.0, delta=1e-6)


@pytest.mark.quick
def test_a_time_limit_is_for_all_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of templates take no option, and end at the deadline; a bad limit is refused before any work."""
    left: list[float] = []

    def chosen(*_: object, **__: object) -> None:
        left.append(time_left())
        raise WorkloadError("no choice")

    monkeypatch.setattr(accuracy_budget_and_default_strategy, "default_strategy", chosen)
    with pytest.raises(WorkloadError):
        accuracy(TRI, BOTH, time_limit=1e6)
    with pytest.raises(OptionError, match="a time limit is a positive number"):
        accuracy(TRI, BOTH, time_limit=0)
    assert 0 < left[0] <= 1e6 and len(left) == 1


def without_targets(workload: Workload) -> Workload:
    blocks = tuple(replace(block, target=np.inf) for block in workload.products or ())
    return replace(workload, blocks=blocks)


def weighted_error(workload: Workload, name: str, privacy: Privacy) -> float:
    """Σ weight variance / Σ weight of the program's release."""
    plan = offer(workload, solve(workload, name), privacy).plan
    return float(np.average(np.square(plan.standard_errors), weights=workload.weights))


@pytest.mark.quick
def test_the_default_is_the_better_of_both_noises(rng: np.random.Generator) -> None:
    """Whether the other was solved or skipped, at privacies from next to none to next to all."""
    w = without_targets(random_workload(rng))
    epsilon, delta = 10.0 ** rng.uniform(-2, 1.2), 10.0 ** rng.uniform(-12, -0.5)
    privacy = Privacy(epsilon=float(epsilon), delta=float(delta))
    choice = default_strategy(w, privacy)
    errors = [weighted_error(w, name, privacy) for name in ("l2_strategy", "p_identity", "l1_strategy")]
    assert choice.best.cost <= min(errors) * (1 + 1e-9)
    assert choice.best.cost == pytest.approx(min(errors), rel=1e-9)
    assert all(other.cost >= choice.best.cost for other in choice.others)
    assert len(choice.others) + len(choice.reasons) == 1
    assert choice.best.plan.epsilon is not None and choice.best.plan.epsilon <= privacy.epsilon  # type: ignore[operator]
    words = choice.words.split("; ")
    assert words[0] == f"{choice.best.words}: {choice.best.figure}"
    assert len(words) >= 2, "something is said of the other noise"


def test_laplace_noise_that_is_skipped_is_not_better(subtests: pytest.Subtests) -> None:
    """At a large epsilon noise on integers has much less variance than 2 / epsilon²."""
    privacies = (BOTH, Privacy(30.0, 1e-3), Privacy(0.05, 0.4))
    for rows in (np.tri(6), np.eye(5), np.vstack([np.eye(4), np.ones(4)])):
        w = Workload.from_matrix(rows)
        solutions = {
            name: solve(w, name) for name in ("l2_strategy", "p_identity", "l1_strategy", "replace_one")
        }
        for privacy, neighbours in itertools.product(privacies, ("add-remove", "replace-one")):
            with subtests.test(f"{len(rows)} queries, {privacy}, {neighbours}"):
                unit = Neighbours.of(neighbours)
                choice = default_strategy(w, privacy, unit, solved=lambda _, p: solutions[p.name])  # noqa: B023
                laplace = offer(w, solutions["p_identity"], privacy, unit)
                assert choice.best.cost <= laplace.cost * (1 + 1e-12)
                for reason in choice.reasons:
                    assert neighbours == "add-remove", "the bound is on columns, not on their differences"
                    least = float(reason.removeprefix("Laplace noise: rmse ").split(" or more")[0])
                    assert reason.endswith(" or more (proved)")
                    assert least <= laplace.plan.rmse


def test_laplace_noise_that_is_a_little_better_is_found() -> None:
    """Near its bound: for counts of cells, where the bound is what there is."""
    w, privacy = Workload.from_matrix(np.eye(5)), Privacy(1.0, 0.02)
    choice = default_strategy(w, privacy)
    assert choice.best.plan.law.name == "Laplace"
    assert choice.best.cost < choice.others[0].cost < 2 * choice.best.cost


def test_what_noise_on_integers_has_less_is_not_forgotten() -> None:
    """At epsilon 4 and a large delta 2 / epsilon² would rule Laplace noise out, which is better."""
    privacy = Privacy(4.0, 0.5)
    gaussian = offer(TRI, solve(TRI, "l2_strategy"), privacy)
    assert gaussian.solution.error_bound * 2 / 4**2 / TRI.m > gaussian.cost
    assert default_strategy(TRI, privacy).best.plan.law.name == "Laplace"


def test_only_one_noise_is_taken_under_rho_and_pure_epsilon() -> None:
    rho, pure = default_strategy(TRI, Privacy(rho=0.5)), default_strategy(TRI, Privacy(epsilon=1.0))
    assert (rho.best.plan.law.name, rho.others, rho.reasons) == ("Gaussian", (), ())
    assert (pure.best.plan.law.name, pure.others) == ("Laplace", ())
    assert pure.reasons == ("Gaussian noise satisfies no pure epsilon",)
    assert rho.words == f"l2_strategy with Gaussian noise: {rho.best.figure}"


def test_weights_decide_and_are_spoken_of() -> None:
    w = Workload.from_matrix(np.eye(2), weights=[1.0, 9.0])
    choice = default_strategy(w, BOTH)
    assert choice.words.endswith("; compared by weighted squares")
    errors = np.square(choice.best.plan.standard_errors)
    assert choice.best.cost == pytest.approx((errors[0] + 9 * errors[1]) / 10, rel=1e-12)


def test_laplace_noise_takes_signs_where_they_have_less_error() -> None:
    """Prefix sums of 8 cells: at epsilon 1 noise on whole numbers is better for the cells by themselves."""
    w = Workload.from_matrix(np.tri(8))
    for epsilon, name in ((0.1, "l1_strategy"), (1.0, "p_identity")):
        privacy = Privacy(epsilon=epsilon)
        best = default_strategy(w, privacy).best
        assert best.solution.program == name
        costs = [offer(w, solve(w, one), privacy).cost for one in ("l1_strategy", "p_identity")]
        assert best.cost == min(costs)


def test_targets_are_met_at_the_least_epsilon() -> None:
    w = Workload.from_matrix(np.eye(3), targets=[50.0, 60.0, 70.0])
    choice = default_strategy(w, Privacy(2.0, 1e-6))
    best, other = choice.best, choice.others[0]
    assert best.plan.absolute and other.plan.absolute
    assert best.plan.epsilon == best.cost <= other.cost == other.plan.epsilon
    for one in (best, other):
        assert (np.square(one.plan.standard_errors) <= w.targets).all()
    assert choice.words == f"{best.words}: {best.figure}; {other.words} would need {other.figure}"
    alone = default_strategy(w, None)
    assert alone.best.plan.rho == alone.best.cost and alone.others == alone.reasons == ()


def failing(names: dict[str, Error]) -> Callable[[Workload, Program], Solution]:
    def solved(workload: Workload, program: Program) -> Solution:
        if program.name in names:
            raise names[program.name]
        return solve(workload, program)

    return solved


def test_a_noise_that_fails_leaves_the_other_and_is_spoken_of() -> None:
    error = WorkloadError("nothing to be had")
    one = default_strategy(TRI, BOTH, solved=failing({"l2_strategy": error}))
    assert (one.best.solution.program, one.reasons) == ("p_identity", ("nothing to be had",))
    eye = Workload.from_matrix(np.eye(3))
    other = default_strategy(eye, BOTH, solved=failing({"l1_strategy": error}))
    assert (other.best.solution.program, other.reasons) == ("l2_strategy", ("nothing to be had",))
    with pytest.raises(WorkloadError) as caught:
        default_strategy(eye, BOTH, solved=failing({"l2_strategy": error, "l1_strategy": WorkloadError("b")}))
    assert caught.value is error, "of the first noise"
    with pytest.raises(PrivacyError) as none:
        default_strategy(eye, None)
    assert str(none.value).startswith("no privacy parameters, and the noise is not set by targets")


def test_an_interrupted_solve_is_the_last() -> None:
    asked: list[str] = []

    def solved(workload: Workload, program: Program) -> Solution:
        asked.append(program.name)
        solution = solve(workload, program)
        return replace(solution, status=replace(solution.status, stop=Stop.INTERRUPTED))

    eye = Workload.from_matrix(np.eye(3))
    choice = default_strategy(eye, BOTH, solved=solved)
    assert asked == ["l2_strategy"] and choice.best.solution.program == "l2_strategy"
    asked.clear()
    w = Workload.from_matrix(np.eye(3), targets=[5.0, 6.0, 7.0])
    default_strategy(w, Privacy(epsilon=9.0), solved=solved)
    assert asked == ["p_identity"], "of the rounds of weights none follows"


def test_above_so_many_cells_laplace_noise_is_by_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.request.workload_file_and_arguments.P_IDENTITY_CELLS", 8)
    w = Workload.from_products(domain_of(3, 4), [Product((f.identity(3), f.prefix(4)))])
    said: list[str] = []
    choice = default_strategy(w, Privacy(epsilon=1.0), say=said.append)
    assert choice.best.solution.program.startswith("template ") and said[0].startswith("template: ")


def test_a_long_histogram_is_measured_without_a_search() -> None:
    said: list[str] = []
    w = Workload.from_products(domain_of(600), [Product((f.identity(600),))])
    best = default_strategy(w, Privacy(epsilon=1.0), say=said.append).best
    assert said == ["template: marginals", "template: bound"]
    assert 600.0 * (1.0 - 1e-3) <= best.solution.error_bound <= best.solution.error <= 600.0 * (1.0 + 1e-9)


# Over more cells than can be listed nothing is sought that is then refused.
NO_LAPLACE = (
    "Laplace noise has no strategy over 10^20 cells of 20 attributes: products of strategies list the cells, "
    "weights of marginals go up to 16 attributes"
)


def test_pure_epsilon_over_many_attributes_names_what_to_use() -> None:
    said: list[str] = []
    with pytest.raises(TooLargeError) as caught:
        default_strategy(up_to((10,) * 20, 2), Privacy(epsilon=1.0), say=said.append)
    assert str(caught.value) == (
        f"{NO_LAPLACE}\n"
        "  allow Gaussian noise, which takes queries of few attributes over any number of cells: "
        "'privacy: {epsilon: 1.0, delta: 1e-6}' or 'privacy: {rho: 0.5}'"
    )
    assert said == []


def test_over_cells_that_are_not_listed_only_marginals_are_sought() -> None:
    said: list[str] = []
    choice = default_strategy(up_to((10,) * 10, 2), Privacy(epsilon=1.0), say=said.append)
    assert said == ["template: marginals", "template: bound"]
    assert choice.best.plan.integer.tables is not None  # and so it is measured
    assert len(choice.best.plan.standard_errors) == choice.best.plan.workload.m


def test_both_noises_say_why_there_is_one() -> None:
    """Marginals of 20 attributes: Gaussian noise by l2_strategy in closed form."""
    found = accuracy(up_to((3,) * 40, 1, f.identity), {"epsilon": 1.0, "delta": 1e-6}, solved=solve)
    assert found.words.startswith("l2_strategy with Gaussian noise: rmse ")
    assert "Laplace noise" in found.words.split("; ", 1)[1]


@pytest.mark.parametrize("rule", ["refuse", "drop"])
@pytest.mark.parametrize("rows", [np.tri(6), np.eye(4), np.vstack([np.eye(3), np.ones(3)]), np.tri(2)])
def test_rows_that_are_replaced_have_a_program_that_is_never_worse(rows: np.ndarray, rule: str) -> None:
    workload = Workload.from_matrix(rows)
    (cells,) = workload.domain.attributes
    domain = replace(workload.domain, attributes=(replace(cells, outside=rule, missing=rule),))
    workload, unit = replace(workload, domain=domain), Neighbours.of("replace-one")
    choice, before = default_strategy(workload, Privacy(rho=0.1), unit), solve(workload, "l2_strategy")
    assert choice.best.cost <= offer(workload, before, Privacy(rho=0.1), unit).cost
    assert {one.solution.program for one in (choice.best, *choice.others)} == {"l2_strategy", "replace_one"}
    if rule == "drop" or len(rows) > 4:
        assert choice.best.solution.program == "replace_one"
