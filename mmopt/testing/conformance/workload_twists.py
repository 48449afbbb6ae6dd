"""Metamorphic cases: workloads that say the same in another way, and how the optimum follows.

What holds for which program is a table of the shipped ones, by what their papers' problems depend on: a
program that is not in it (one of a user's own) is not put to these tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from mmopt.language import Program
from mmopt.numerics.split_arrays import Array
from mmopt.workloads import Workload

__all__ = ["RULES", "TWISTS", "Rule", "Twist", "rule_of", "why_not"]

Random = np.random.Generator

# Eigenvalues this close, relative to the largest, share an eigenspace, whose basis is arbitrary.
EIGENVALUES_APART = 1e-6


@dataclass(frozen=True)
class Rule:
    """What the optimum of a program depends on.

    gram : on the weighted Gram matrix alone.
    every : it is over all strategies, so that cells that no query tells apart, or touches, change nothing.
    eigen : on the eigenvectors of the Gram matrix, so these must be unique.
    twice : its factor when every query is asked twice.
    """

    gram: bool = True
    every: bool = False
    eigen: bool = False
    twice: float = 2.0


TOTAL = Rule(every=True)
DESIGN = Rule(eigen=True)
FITNESS = Rule(gram=False, every=True, twice=1.0)

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "l2_strategy": TOTAL,
        "weighted_l2": replace(TOTAL, gram=False),
        "fitness_for_use": FITNESS,
        "fitness_refined": FITNESS,
        "query_weighting": DESIGN,
        "laplace_weighting": DESIGN,
        "eigen_design": DESIGN,
        "eigen_separation": DESIGN,
        "principal_vectors": DESIGN,
    }
)


@dataclass(frozen=True)
class Twist:
    """``turn`` writes the workload in another way; the optimum is then ``factor`` times what it was."""

    name: str
    turn: Callable[[Workload, Random], Workload]
    factor: Callable[[Rule], float] = lambda rule: 1.0
    needs: Callable[[Rule], bool] = lambda rule: True
    reason: str = ""  # when it lacks what the twist needs


SCALE = 1e3


def _queries(w: Workload, rng: Random) -> Workload:
    order, signs = rng.permutation(w.m), rng.choice([-1.0, 1.0], size=w.m)
    return Workload.from_matrix(signs[:, None] * w.queries[order], w.targets[order], w.weights[order])


def _again(w: Workload, targets: Array) -> Workload:
    """Every query twice, the second time with other targets."""
    return Workload.from_matrix(
        np.vstack([w.queries, w.queries]), np.concatenate([w.targets, targets]), np.tile(w.weights, 2)
    )


def _cells_twice(w: Workload, rng: Random) -> Workload:
    again = rng.permutation(w.n)[: max(1, w.n // 4)]
    columns = np.hstack([w.queries, w.queries[:, again], np.zeros((w.m, 1))])
    return Workload.from_matrix(columns, w.targets, w.weights)


TWISTS: tuple[Twist, ...] = (
    Twist(
        "cells in another order",
        lambda w, rng: Workload.from_matrix(w.queries[:, rng.permutation(w.n)], w.targets, w.weights),
    ),
    Twist("queries in another order, some negated", _queries),
    Twist(
        f"queries times {SCALE:g}",
        lambda w, rng: Workload.from_matrix(SCALE * w.queries, w.targets, w.weights),
        factor=lambda rule: SCALE**2,
    ),
    Twist(
        "queries rotated",
        lambda w, rng: Workload.from_matrix(np.linalg.qr(rng.normal(size=(w.m, w.m)))[0] @ w.matrix),
        needs=lambda rule: rule.gram,
        reason="the program does not depend on the Gram matrix alone",
    ),
    Twist("every query twice", lambda w, rng: _again(w, w.targets), factor=lambda rule: rule.twice),
    Twist(
        "every query again with a looser target",
        lambda w, rng: _again(w, w.targets * rng.uniform(1.0, 3.0, size=w.m)),
        needs=lambda rule: rule.twice == 1.0,
        reason="only programs whose targets are constraints ignore a looser one",
    ),
    Twist(
        "cells twice, and one of no query",
        _cells_twice,
        needs=lambda rule: rule.every,
        reason="the program is not over all strategies",
    ),
)


def rule_of(program: Program) -> Rule | None:
    """What its optimum depends on; that of a formulation on what the program's does."""
    return RULES.get(program.formulation_of or program.name)


def why_not(twist: Twist, program: Program, workload: Workload) -> str:
    """Why the case says nothing about this program and workload; "" when it does."""
    rule = rule_of(program)
    if rule is None:
        return f"nothing is known of how '{program.name}' depends on its workload"
    if not twist.needs(rule):
        return twist.reason
    values = workload.eigenvalues
    if rule.eigen and not np.all(-np.diff(values) > EIGENVALUES_APART * values[0]):
        return "the eigenvectors of the workload are not unique"
    return ""
