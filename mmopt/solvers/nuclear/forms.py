"""The shipped programs as problems of the nuclear norm, and its weights back as their points.

With shares y of sum 1 and N the norm: X = diag(p)^-½ V S Vᵀ diag(p)^-½ has the objective N and the largest
diagonal entry N max(cost / cells); Σ = B diag(p)^½ V S⁻¹ Vᵀ diag(p)^½ Bᵀ has the costs N cost / cells and,
relative to the targets, the variances N variance / queries (Xiao et al., PVLDB 2021, Theorem 12 for scales).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from mmopt.solvers.nuclear.problem import Problem, whole
from mmopt.solvers.nuclear.spectrum import Iterate, is_full

__all__ = ["FORMS", "Form"]

Array = Any
Values = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """How a program is read as a problem, and how its point and multipliers follow from an iterate."""

    problem: Callable[[Mapping[str, Any]], Problem]
    point: Callable[[Mapping[str, Any], Problem, Iterate], Values]
    multipliers: Callable[[Mapping[str, Any], Problem, Iterate], Values]


def _queries(env: Mapping[str, Any]) -> Problem:
    """``W`` up to rotation: rows beyond the number of columns are brought into a triangle."""
    w = env["W"]
    if w.shape[0] > w.shape[1]:
        w = w.__array_namespace__().linalg.qr(w)[1]
    return whole(w)


def _square(env: Mapping[str, Any]) -> Problem:
    """``V``, of full row rank."""
    return whole(env["V"])


def _strategy(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    """X, and with W X⁻¹ Wᵀ where the program has its rows: of unit diagonal where that is possible."""
    xp = at.cells.__array_namespace__()
    (found,) = at.spectra
    diagonal = at.norm * at.cost / at.cells
    even = diagonal if is_full(problem, at.spectra) else xp.full_like(diagonal, float(xp.max(diagonal)))
    rows = found.right * xp.sqrt(found.values) / xp.sqrt(at.cells * even)[:, None]
    return {"X": rows @ rows.T}


def _answered(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Array:
    """Z with Z Zᵀ = W X⁻¹ Wᵀ for the X of ``_strategy``."""
    xp = at.cells.__array_namespace__()
    (found,) = at.spectra
    diagonal = at.norm * at.cost / at.cells
    even = diagonal if is_full(problem, at.spectra) else xp.full_like(diagonal, float(xp.max(diagonal)))
    return (env["W"] * xp.sqrt(at.cells * even)) @ found.right / xp.sqrt(found.values)


def _with_variances(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    xp = at.cells.__array_namespace__()
    return {**_strategy(env, problem, at), "u": xp.sum(_answered(env, problem, at) ** 2, axis=1)}


def _with_covariance(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    z = _answered(env, problem, at)
    return {**_strategy(env, problem, at), "Y": z @ z.T}


def _prices(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    """2 N √t - t is largest at t = N²."""
    return {"d": at.norm**2 * at.cells}


def _sensitivity(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    return {"sensitivity": at.cells}


def _targets(env: Mapping[str, Any]) -> Problem:
    return whole(env["L"] @ env["B"], env["c"])


def _covariance(env: Mapping[str, Any], at: Iterate, scale: float) -> Array:
    """Σ with costs scale⁻¹ times and variances scale times those that belong to the weights."""
    xp = at.cells.__array_namespace__()
    (found,) = at.spectra
    rows = (env["B"] * xp.sqrt(at.cells)) @ found.right / xp.sqrt(found.values)
    return scale * (rows @ rows.T)


def _largest(at: Iterate) -> tuple[float, float]:
    """The largest cost and the largest variance relative to its target, of Σ at scale 1."""
    xp = at.cells.__array_namespace__()
    return at.norm * float(xp.max(at.cost / at.cells)), at.norm * float(xp.max(at.variance / at.queries))


def _fit(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    cost, variance = _largest(at)
    return {"alpha": cost * variance, "Sigma": _covariance(env, at, 1.0 / variance)}


def _penalty(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    cost, variance = _largest(at)
    even = (cost * variance) ** 0.5
    return {"alpha": even, "beta": even, "Sigma": _covariance(env, at, (cost / variance) ** 0.5)}


def _budget(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    cost, variance = _largest(at)
    budget = float(env["budget"])
    return {"excess": cost * variance / budget, "Sigma": _covariance(env, at, cost / budget)}


def _per_target(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    return {"privacy": at.cells, "accuracy": at.queries / problem.targets}


def _per_query(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    return {"privacy": at.cells, "accuracy": at.queries}


def _in_blocks(env: Mapping[str, Any], problem: Problem, at: Iterate) -> Values:
    return {"privacy[1, 1]": at.cells, "accuracy": at.queries / problem.targets}


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "l2_strategy": Form(_queries, _strategy, _sensitivity),
        "l2_strategy_lmi": Form(_queries, _with_variances, _sensitivity),
        "l2_strategy_block": Form(_queries, _with_covariance, _sensitivity),
        "l2_strategy_dual": Form(_square, _prices, lambda env, problem, at: {}),
        "fitness_for_use": Form(_targets, _fit, _per_target),
        "fitness_lmi": Form(_targets, _fit, _in_blocks),
        "fitness_penalty": Form(_targets, _penalty, _per_query),
        "fitness_budget": Form(_targets, _budget, _per_query),
    }
)
