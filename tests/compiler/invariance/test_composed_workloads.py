"""What a program makes of blocks and of Kronecker products."""

import pytest
from own_texts import edited

from mmopt.compiler.invariance.composed_workloads import LARGEST_PART, SUM, Composition, of_blocks, of_factors
from mmopt.language import Program, check

pytestmark = pytest.mark.quick

BLOCKS = {
    "l2_strategy": SUM,
    "l2_strategy_lmi": SUM,
    "l2_strategy_block": SUM,
    "weighted_l2": SUM,
    "fitness_for_use": LARGEST_PART,
    "fitness_lmi": LARGEST_PART,
    "fitness_budget": LARGEST_PART,
}


def test_blocks(subtests: pytest.Subtests) -> None:
    for name in BLOCKS:
        with subtests.test(name):
            assert of_blocks(check(Program.load(name))) == Composition(BLOCKS[name])


def test_no_blocks(subtests: pytest.Subtests) -> None:
    for name, why in [
        ("fitness_penalty", "the objective: numbers are chosen for all parts together"),
        ("fitness_dual", "constraint 'privacy': a limit on all parts together"),
        ("query_weighting", "the given 'Q' does not come from the workload"),
    ]:
        with subtests.test(name):
            assert of_blocks(check(Program.load(name))) == Composition("", why)


def test_factors(subtests: pytest.Subtests) -> None:
    for name in ["l2_strategy", "weighted_l2", "fitness_for_use", "fitness_budget"]:
        with subtests.test(name):
            assert of_factors(check(Program.load(name))) == Composition("product")


def test_no_factors(subtests: pytest.Subtests) -> None:
    for name, why in [
        ("l2_strategy_lmi", "constraint 'lmi': a block matrix"),
        ("fitness_penalty", "the objective: 'add'"),
        ("eigen_design", "the given 'Q' does not come from the workload"),
    ]:
        with subtests.test(name):
            found = of_factors(check(Program.load(name)))
            assert found.kind == ""
            assert found.why_not in (why, why.replace("a block matrix", "a matrix inequality"))


def test_a_changed_objective(subtests: pytest.Subtests) -> None:
    for objective, blocks, factors in [
        ("trace(W @ inv(X) @ W.T)", SUM, "product"),
        ("3 * trace(W @ inv(X) @ W.T)", SUM, "product"),
        ("max(diag(W @ inv(X) @ W.T))", LARGEST_PART, "product"),
        ("trace(W @ inv(X) @ W.T) + 1", "", ""),
        ("trace(W @ inv(X) @ W.T) + max(diag(W @ inv(X) @ W.T))", "", ""),
        ("trace(W @ inv(X) @ W.T) + trace(inv(X))", SUM, ""),
        ("trace(W @ inv(X) @ W.T)**2", "", "product"),
        ("trace(W @ inv(X) @ W.T) / n", "", "product"),
        ("max(W @ X)", "", ""),  # which may be negative
    ]:
        with subtests.test(objective):
            program = edited(
                "l2_strategy", ("minimize\n    trace(W @ inv(X) @ W.T)", f"minimize\n    {objective}")
            )
            checked = check(program, {})
            assert (of_blocks(checked).kind, of_factors(checked).kind) == (blocks, factors)


def test_a_sum_over_all_cells_is_a_limit_on_all_parts() -> None:
    program = edited("l2_strategy", ("diag(X) <= 1", "trace(X) <= 1"))
    text = program.text.split("certificate")[0]
    assert of_blocks(check(Program.parse(text))).why_not == (
        "constraint 'sensitivity': a limit on all parts together"
    )


def test_a_side_that_may_be_negative_is_no_product() -> None:
    """-1 <= a and -1 <= b say nothing of a b."""
    program = edited("l2_strategy", ("diag(X) <= 1", "W @ X <= 1"))
    text = program.text.split("certificate")[0]
    assert of_factors(check(Program.parse(text))).why_not == (
        "constraint 'sensitivity': a side that may be negative"
    )
