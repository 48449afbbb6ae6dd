"""Repeated products of lets and requirements: computed once, with the same numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from cases import random_workload

from mmopt import Program
from mmopt.compiler import bind
from mmopt.compiler.share import share
from mmopt.language import evaluate, program_names, to_source
from mmopt.language.syntax.tree import Apply, Name, rewrite, walk


def test_each_product_of_query_weighting_stands_once() -> None:
    shared = share(Program.load("query_weighting"))
    assert [(let.name, to_source(let.expr)) for let in shared.lets] == [
        ("shared 1", "W @ pinv(Q)"),
        ("a", "sum(shared 1 * shared 1, axis=0)"),
        ("D", "used_rows(Q, a)"),
        ("shared 2", "W @ pinv(D)"),
        ("c", "sum(shared 2 * shared 2, axis=0)"),
    ]
    assert [to_source(c.relation.left) for c in shared.requires] == ["rank(Q)", "shared 2 @ D"]
    assert shared.passing == {"shared 1", "shared 2"}


NESTED = """\
program nested
title "own"
source "none"
class closed form
given
    W: matrix[m, n] = workload.matrix
let
    a = sum(W @ pinv(W)) + sum(W @ pinv(W))
    b = sum(pinv(W))
minimize
    a + b
strategy
    W norm 2
bound
    l2_strategy
"""


def test_a_part_that_occurs_more_often_has_its_own_name() -> None:
    shared = share(Program.parse(NESTED))
    assert [(let.name, to_source(let.expr)) for let in shared.lets] == [
        ("shared 1", "pinv(W)"),
        ("shared 2", "W @ shared 1"),
        ("a", "sum(shared 2) + sum(shared 2)"),
        ("b", "sum(shared 1)"),
    ]


@pytest.mark.parametrize("name", program_names())
def test_sharing_undone_is_the_program(name: str) -> None:
    """Putting the shared expressions back gives the lets and requirements as they stand."""
    program = Program.load(name)
    shared = share(program)
    known = {let.name: let.expr for let in shared.lets if let.name in shared.passing}

    def back(node: object) -> object:
        return rewrite(known[node.id], back) if isinstance(node, Name) and node.id in known else None

    lets = {let.name: rewrite(let.expr, back) for let in shared.lets if let.name not in shared.passing}
    assert lets == {let.name: let.expr for let in program.lets}
    for after, before in zip(shared.requires, program.requires, strict=True):
        assert rewrite(after.relation.left, back) == before.relation.left
    inverses = Counter(
        node
        for expr in [*(let.expr for let in shared.lets), *(c.relation.left for c in shared.requires)]
        for node in walk(expr)
        if isinstance(node, Apply) and node.atom == "pinv"
    )
    assert max(inverses.values(), default=1) == 1


def test_the_numbers_are_those_of_the_lets(rng: np.random.Generator) -> None:
    w = random_workload(rng)
    instance = bind(Program.load("query_weighting"), w)
    plain = dict(instance.env)
    for let in instance.program.lets:
        plain[let.name] = evaluate(let.expr, plain)
        np.testing.assert_array_equal(instance.env[let.name], plain[let.name])
    assert not any(name.startswith("shared") for name in instance.env)
