"""Accuracy before any data: that of the plan and of the release, and of what releases do.

Guards accuracy_budget_and_default_strategy.py.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_workloads import domain_of, random_factor

from mmopt import OptionError, Privacy, PrivacyError, Workload, accuracy, certify, plan, solve
from mmopt.mechanism import measure
from mmopt.workloads import Product, Wish, factors_and_products as f

PRIVACIES = {
    "epsilon at a delta": Privacy(1.0, 1e-6),
    "pure": Privacy(epsilon=0.7),
    "rho": Privacy(rho=0.4),
    "weak": Privacy(8.0, 1e-2),
}


def drawn_workload(rng: np.random.Generator) -> Workload:
    sizes = [int(size) for size in rng.integers(1, 5, size=int(rng.integers(1, 4)))]
    products = [Product(tuple(random_factor(rng, size) for size in sizes)) for _ in range(2)]
    return Workload.from_products(domain_of(*sizes), products)


def test_it_is_the_plan_s_and_the_release_s(subtests: pytest.Subtests) -> None:
    for privacy in PRIVACIES.values():
        with subtests.test(str(privacy)):
            w = Workload.from_products(domain_of(4), [Product((f.prefix(4),)), Product((f.identity(4),))])
            found = accuracy(w, privacy, confidence=0.9)
            again = plan(w, found.solution, privacy)
            columns = found.errors.to_dict()
            assert columns["standard_error"] == again.standard_errors.tolist()
            answers = measure(again, np.array([3, 1, 4, 1]), 5, 0.9)
            assert columns["standard_error"] == answers.standard_errors.tolist()
            assert (found.rmse, found.chosen) == (again.rmse, found.words)
            half_widths = (answers.high - answers.low) / 2
            assert columns["half_width"] == pytest.approx(half_widths.tolist(), rel=1e-12)
            assert found.confidence == 0.9 and repr(found) == f"Accuracy({found.words})"


def test_a_solution_is_spoken_of_as_it_is() -> None:
    w = Workload.from_matrix(np.tri(4))
    found = accuracy(w, Privacy(1.0, 1e-6), strategy=solve(w, "l2_strategy"))
    assert found.plan.law.name == "Gaussian"
    assert found.words.startswith("l2_strategy with Gaussian noise: rmse ")
    wished = Workload.from_matrix(np.tri(4), targets=np.full(4, 9.0))
    by_targets = accuracy(wished, strategy=solve(wished, "fitness_for_use"))
    assert by_targets.plan.absolute and by_targets.words.endswith(" for all targets")


def test_a_confidence_that_is_none_is_refused_before_a_solve(subtests: pytest.Subtests) -> None:
    for confidence in [0.0, 1.0, 1.5, float("nan")]:
        with subtests.test(str(confidence)):

            def solved(*_: Any) -> Any:
                raise AssertionError

            with pytest.raises(OptionError, match=r"^confidence is "):
                accuracy(
                    Workload.from_matrix(np.eye(2)), Privacy(rho=1.0), confidence=confidence, solved=solved
                )


def check_errors(w: Workload, found: Any, rng: np.random.Generator, releases: int) -> None:
    """The squared errors of releases, over those predicted: mean 1, each query and all together."""
    x = rng.integers(0, 1000, w.n)
    true = w.answers(x)
    seeds = rng.integers(0, 2**31, releases)
    answers = [measure(found.plan, x, int(seed)) for seed in seeds]
    # Of a query without an error nothing is drawn.
    size = np.maximum(found.plan.standard_errors, 1e-9)
    ratios = np.square((np.array([a.estimates for a in answers]) - true) / size)
    assert (ratios[:, found.plan.standard_errors < 1e-9] < 1e-6).all()
    ratios = ratios[:, found.plan.standard_errors >= 1e-9]
    for each in (ratios.mean(axis=1), *ratios.T):
        # Fourth moments: at most 9 times the squared variance for this noise, 24 where next to none is drawn.
        spread = max(each.std(ddof=1), 0.5) / np.sqrt(releases)
        assert abs(each.mean() - 1) < 6 * spread, (found.words, each.mean(), spread)


@pytest.mark.draws(1)
def test_releases_have_the_errors_predicted(rng: np.random.Generator) -> None:
    w = drawn_workload(rng)
    name = str(rng.choice(list(PRIVACIES)[:3]))
    check_errors(w, accuracy(w, PRIVACIES[name]), rng, 200)


@pytest.mark.some(1)
@pytest.mark.parametrize("pure", [False, True])
def test_releases_are_within_what_was_wished_for(rng: np.random.Generator, pure: bool) -> None:
    """A wish at 80 % fails in at most 80 of 400 releases, give or take five deviations."""
    size, checked = int(rng.integers(2, 6)), 0
    for width in (float(rng.choice([0.9, 3.0])), float(rng.choice([7.5, 40.0]))):
        w = Workload.from_products(
            domain_of(size), [Product((random_factor(rng, size),), within=Wish(width, 0.8))]
        )
        privacy = Privacy(epsilon=1e4) if pure else None
        try:
            found = accuracy(w, privacy)
        except PrivacyError as error:  # what rounding to 27 bits may bias 2^31 rows by: some 3 counts
            assert width < 5 and "rounding the strategy alone makes intervals wider" in error.message
            continue
        assert found.errors.to_dict()["meets"] == [True] * w.m
        x = rng.integers(0, 100, size)
        seeds = rng.integers(0, 2**31, 400)
        estimates = np.array([measure(found.plan, x, int(seed)).estimates for seed in seeds])
        misses = (np.abs(estimates - w.answers(x)) > width * (1 + 1e-8)).sum(axis=0)
        assert misses.max() <= 80 + 5.5 * np.sqrt(400 * 0.16)
        checked += 1
    assert checked > 0


def test_a_program_solver_options_and_files_go_where_they_are_read(tmp_path: Path) -> None:
    w = Workload.from_matrix(np.tri(4))
    calls: list[dict[str, Any]] = []

    def solved(workload: Any, program: Any, **options: Any) -> Any:
        calls.append(options)
        return solve(workload, program, **options)

    words: list[str] = []
    found = accuracy(w, {"rho": 1}, solver="scs", tolerance=1e-3, solved=solved, say=words.append)
    assert words == [f"chosen: {found.words} (choose another with --program; program= in Python)"]
    assert calls == [{"solver": "scs", "tolerance": 1e-3}] and found.solution.solver == "scs"
    named = accuracy(w, {"epsilon": 1}, program="p_identity")
    assert named.solution.program == "p_identity"
    file = found.solution.save(tmp_path / "scs.npz")
    assert accuracy(w, {"rho": 1}, strategy=file).rmse == found.rmse
    for given, message in (
        (
            {"strategy": found.solution, "threads": 1},
            "the strategy is already solved, and threads is an option",
        ),
        ({"strategy": "haar"}, "strategy is 'haar', expected a solution, or "),
        (
            {"strategy": np.eye(4)},
            "strategy is of type ndarray, expected a solution, ",
        ),
        ({"givens": {"Q": np.eye(4)}}, "givens belong to a program, and no program is solved here"),
    ):
        with pytest.raises(OptionError) as caught:
            accuracy(w, {"rho": 1}, **given)
        assert caught.value.message.startswith(message)
    advised = accuracy(w, {"rho": 1}, strategy=certify(w, "haar", solve=False))
    assert advised.plan.law.name == "Gaussian"
