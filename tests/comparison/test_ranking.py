"""The best row stands first, whatever the noise; a row without a place says why."""

import math
from dataclasses import replace

import numpy as np
import pytest

from mmopt import Privacy, Workload, solve
from mmopt.comparison import Factors, Outcome, Predicted, Stated, ranking
from mmopt.comparison.predicted_errors import NOT_PREDICTED
from mmopt.comparison.ranked_places import best_first
from mmopt.strategies.baselines import Cost

W = Workload.from_matrix(np.tri(4))
STATED = Stated(Privacy(epsilon=1.0, delta=1e-6))
GAUSSIAN, LAPLACE = (solve(W, name) for name in ("l2_strategy", "laplace_weighting"))


def solved(name: str, noise: str, predicted: Predicted = NOT_PREDICTED) -> Outcome:
    solution = GAUSSIAN if noise == "Gaussian" else LAPLACE
    return Outcome(name, "s", solution, stop="gap reached", predicted=predicted)


def baseline(name: str, norm: int, predicted: Predicted = NOT_PREDICTED, rmse: float = 1.0) -> Factors:
    return Factors(name, "", cost=Cost(norm, 4, 1.0, 4 * rmse**2, rmse), predicted=predicted)


OUTCOMES = [
    Outcome("unsolved", "", None, "too large", "too large", "too large"),
    solved("worse", "Gaussian", Predicted(6.0)),
    solved("refused", "Gaussian", Predicted(reason="not allowed")),
    solved("gaussian", "Gaussian", Predicted(4.0)),
    solved("laplace", "Laplace", Predicted(2.0)),
]
FACTORS = [
    baseline("as_good", 1, Predicted(2.0 * (1 - 1e-12))),
    baseline("half", 2, Predicted(8.0)),
    Factors("none", "", reason="does not apply"),
]


def names(entries: list[Outcome | Factors]) -> list[str]:
    return [entry.program if isinstance(entry, Outcome) else entry.name for entry in entries]


def test_one_list_at_a_privacy() -> None:
    ranked = ranking(OUTCOMES, FACTORS, W, STATED)
    assert [
        (*names([p.entry]), p.number, p.noise, p.rmse, pytest.approx(p.factor), pytest.approx(p.same_noise))
        for p in ranked.places
    ] == [
        ("laplace", 1, "Laplace", 2.0, 1.0, 1.0),  # a program before a baseline that is as good
        ("as_good", 2, "Laplace", 2.0 * (1 - 1e-12), 1.0, 1.0),
        ("gaussian", 3, "Gaussian", 4.0, 2.0, 1.0),
        ("worse", 4, "Gaussian", 6.0, 3.0, 1.5),
        ("half", 5, "Gaussian", 8.0, 4.0, 2.0),
    ]
    assert [(reason, *names([entry])) for reason, entry in ranked.left_out] == [("not allowed", "refused")]
    assert names(list(best_first(ranked, OUTCOMES))) == [
        "laplace",
        "gaussian",
        "worse",
        "refused",
        "unsolved",
    ]
    assert ranked.places[1].summary() == {"rank": 2, "rank_factor": pytest.approx(1.0)}


def test_where_no_program_is_for_a_noise() -> None:
    (_, only) = ranking([solved("gaussian", "Gaussian", Predicted(1.0))], [FACTORS[0]], W, STATED).places
    assert only.entry is FACTORS[0] and math.isnan(only.same_noise) and only.factor == pytest.approx(2.0)


def test_noise_by_noise_without_a_privacy() -> None:
    outcomes = [solved("laplace", "Laplace"), solved("gaussian", "Gaussian")]
    factors = [baseline("identity", 1, rmse=1e-3), baseline("identity", 2, rmse=1e3)]
    ranked = ranking(outcomes, factors, W)
    assert [(*names([p.entry]), p.noise, p.number) for p in ranked.places] == [
        ("identity", "Laplace", 1),
        ("laplace", "Laplace", 2),
        ("gaussian", "Gaussian", 1),
        ("identity", "Gaussian", 2),
    ]


def test_by_cost_where_every_query_has_a_target() -> None:
    costly, cheap = (replace(OUTCOMES[3], predicted=Predicted(*pair)) for pair in ((4.0, 0.5), (5.0, 0.25)))
    unknown, never = (replace(OUTCOMES[3], predicted=Predicted(*pair)) for pair in ((1.0,), (1.0, math.inf)))
    some, every = (Workload.from_matrix(np.tri(4), targets=[1.0, 1.0, 1.0, last]) for last in (math.inf, 1.0))
    asked = [costly, cheap, unknown, never]
    ranked = ranking(asked, (), every, STATED)
    assert ranked.by_cost and [p.entry for p in ranked.places] == [cheap, costly]
    assert [(p.factor, p.rmse, p.cost) for p in ranked.places] == [(1.0, 5.0, 0.25), (2.0, 4.0, 0.5)]
    assert {reason for reason, _ in ranked.left_out} == {"the cost at which all targets hold is not known"}
    ranked = ranking(asked, (), some, STATED)
    assert not ranked.by_cost and [p.rmse for p in ranked.places] == [1.0, 1.0, 4.0, 5.0]
