"""Facts read off the tree of a program: changes of the workload, blocks and Kronecker products.

Guards ``equivariance.py`` and ``actions_on_expressions.py``.
"""

import pytest
from edited_programs import edited

from mmopt.compiler.actions_on_expressions import (
    CHANGE_BASIS,
    DROP_CELLS,
    PERMUTE_CELLS,
    PERMUTE_QUERIES,
    REPEAT_CELLS,
    ROTATE_BASIS,
    ROTATE_ROOT,
    SPLIT_QUERIES,
)
from mmopt.compiler.equivariance import LARGEST_PART, SUM, equivariance, of_blocks, of_factors
from mmopt.language import ATOMS, Program, check, program_names

ALL = {
    PERMUTE_CELLS,
    REPEAT_CELLS,
    DROP_CELLS,
    PERMUTE_QUERIES,
    SPLIT_QUERIES,
    ROTATE_ROOT,
    ROTATE_BASIS,
    CHANGE_BASIS,
}
NUMBERS = {"power": 1.0, "budget": 1.0}
# Shipped programs that choose among all strategies, and what they do not go along with.
EVERY_STRATEGY: dict[str, set[str]] = {
    **{f"l2_strategy{form}": set() for form in ("", "_lmi", "_block")},
    **{f"fitness_{form}": set() for form in ("for_use", "lmi", "dual", "penalty", "budget", "hybrid")},
    **{name: {SPLIT_QUERIES} for name in ("weighted_l2", "gamma_2", "gamma_f", "lp_strategy")},
    "minimax_variance": {SPLIT_QUERIES},
    "user_level_strategy": set(),
}


def refused(program: Program, own: frozenset[str] = frozenset()) -> set[str]:
    return set(equivariance(check(program), own, NUMBERS).faults)


def test_programs_over_all_strategies(subtests: pytest.Subtests) -> None:
    for name in EVERY_STRATEGY:
        with subtests.test(name):
            assert refused(Program.load(name)) == EVERY_STRATEGY[name]


def test_zeros_of_untouched_cells_change_a_least_entry_and_not_a_largest(subtests: pytest.Subtests) -> None:
    line = "sensitivity: diag(X) <= 1"
    for atom, sign, harmless in (
        ("max", "", True),
        ("min", "", False),
        ("min", "-", True),
        ("max", "-", False),
    ):
        with subtests.test(atom=atom, sign=sign):
            op = "<=" if atom == "max" else ">="
            program = edited("l2_strategy", (line, f"{line}\n    edge: {atom}({sign}diag(X)) {op} 0"))
            assert (DROP_CELLS not in refused(program)) == harmless


def test_a_weight_without_power_of_the_target_lets_queries_be_split() -> None:
    known = equivariance(check(Program.load("weighted_l2")), numbers={"power": 0.0})
    assert not known.faults


def test_no_other_program_repeats_cells(subtests: pytest.Subtests) -> None:
    for program in map(Program.load, program_names()):
        # Steps of a procedure are programs of their own; of class rank are searches.
        if program.name not in EVERY_STRATEGY and program.problem_class not in ("procedure", "rank"):
            with subtests.test(program.name):
                assert refused(program) & {REPEAT_CELLS, CHANGE_BASIS}


def test_eigenvectors_and_arrays_from_outside_go_with_nothing() -> None:
    assert refused(Program.load("query_weighting")) == ALL
    passed = equivariance(check(Program.load("l2_strategy")), frozenset({"W"}))
    assert set(passed.faults) == ALL
    assert passed.why_not(PERMUTE_CELLS) == "the given 'W': passed by the caller (permuting the cells)"


def test_a_copy_under_another_name_is_the_same() -> None:
    renamed = edited(
        "l2_strategy", ("X", "Gram"), ("W:", "V:"), ("W @", "V @"), ("W.T)", "V.T)"), called="mine"
    )
    assert refused(renamed) == set()
    found = equivariance(check(renamed)).multipliers
    assert found == equivariance(check(Program.load("l2_strategy"))).multipliers


def test_a_changed_line(subtests: pytest.Subtests) -> None:
    for line, lost, why in [
        ("sum(diag(X)) <= n", {REPEAT_CELLS, DROP_CELLS}, "'sum' counts every copy"),
        ("X[0, 0] <= 1", {PERMUTE_CELLS, REPEAT_CELLS, DROP_CELLS}, "one entry taken out"),
        ("diag(X) == 1", {DROP_CELLS}, "does not hold at a cell by itself"),
        ("diag(X) <= 2", set(), ""),
        ("max(diag(X)) <= 1", set(), ""),
        ("trace(X) <= 1", {REPEAT_CELLS, DROP_CELLS}, "a trace that counts every copy"),
    ]:
        with subtests.test(line):
            # Without the certificate, whose multipliers would have another shape.
            program = edited("l2_strategy", ("diag(X) <= 1", line))
            text = program.text.split("certificate")[0]
            known = equivariance(check(Program.parse(text)))
            assert set(known.faults) == lost
            assert set(known.faults.values()) == ({f"constraint 'sensitivity': {why}"} if why else set())


def test_a_limit_per_cell_that_is_passed() -> None:
    limited = edited(
        "l2_strategy", ("choose\n", "    w: vector[n] > 0\nchoose\n"), ("diag(X) <= 1", "diag(X) <= w")
    )
    assert refused(limited, frozenset({"w"})) == ALL


def test_a_query_of_some_sign() -> None:
    signed = edited(
        "fitness_for_use", ("minimize\n    alpha", "minimize\n    alpha + sum(L @ Sigma @ L[0, :].T)")
    )
    assert {PERMUTE_QUERIES, SPLIT_QUERIES} <= refused(signed)


def test_a_rotated_basis_has_no_entries() -> None:
    entries = edited("fitness_for_use", ("minimize\n    alpha", "minimize\n    alpha + sum(diag(Sigma))"))
    assert {ROTATE_BASIS, CHANGE_BASIS} <= refused(entries)
    metric = edited("fitness_for_use", ("minimize\n    alpha", "minimize\n    alpha + trace(Sigma)"))
    assert refused(metric) == {CHANGE_BASIS}


def test_multipliers_by_constraint() -> None:
    known = equivariance(check(Program.load("fitness_for_use"))).multipliers
    assert [(a.group, a.degree) for a in known["privacy"]] == [("cells", 1.0)]
    assert [(a.group, a.degree) for a in known["accuracy"]] == [("queries", 0.0)]


def test_every_atom_has_a_word_or_depends_on_an_order() -> None:
    ordered = {"stack", "used_rows", "row_basis", "consecutive", "leading", "windows", "toeplitz", "support"}
    ordered |= {"cumsum", "diff"}
    without = {
        "entrywise max",
        "entrywise min",
        "huber",
        "rel_entropy",
        "quad_over_lin",
        "matrix_frac",
        "kron",
    }
    without |= {"sum_largest", "lambda_sum_largest"}
    assert {name for name, atom in ATOMS.items() if not atom.equivariance} == ordered | without


@pytest.mark.quick
def test_a_line_about_queries(subtests: pytest.Subtests) -> None:
    for line, lost, why in [
        ("max(diag(L @ Sigma @ L.T) / c) <= 1", set(), ""),
        ("max(exp(diag(L @ Sigma @ L.T))) <= 9", {SPLIT_QUERIES}, "'exp' of what splits"),
        ("max(1 + diag(L @ Sigma @ L.T)) <= 9", {SPLIT_QUERIES}, "a sum or relation of what repeats"),
        # A query may be turned round: what it answers has a root for one of the two signs only.
        ("min(sqrt(L @ w)) >= 0", {PERMUTE_QUERIES}, "'sqrt' of what has a query's sign"),
        ("max((L @ w)**2 / c) <= 9", set(), ""),
    ]:
        with subtests.test(line):
            accuracy = "accuracy: L[j, :] @ Sigma @ L[j, :].T <= c[j]         for j in m"
            program = edited(
                "fitness_for_use", (accuracy, f"accuracy: {line}"), ("choose\n", "choose\n    w: vector[k]\n")
            )
            faults = equivariance(check(Program.parse(program.text.split("from strategy")[0]))).faults
            kept = {a: f for a, f in faults.items() if a in (PERMUTE_QUERIES, SPLIT_QUERIES)}
            assert set(kept) >= lost and (lost or not kept)
            assert any(why in f for f in kept.values()) or not why


@pytest.mark.quick
def test_blocks_and_factors_of_the_shipped_programs(subtests: pytest.Subtests) -> None:
    for name, blocks, factors in (
        ("l2_strategy", SUM, "product"),
        ("l2_strategy_lmi", SUM, "constraint 'lmi': a matrix inequality"),
        ("l2_strategy_block", SUM, None),
        ("weighted_l2", SUM, "product"),
        ("fitness_for_use", LARGEST_PART, "product"),
        ("fitness_lmi", LARGEST_PART, None),
        ("fitness_budget", LARGEST_PART, "constraint 'privacy': the number 'budget'"),
        (
            "fitness_penalty",
            "the objective: variables are shared by all parts",
            "the objective: 'add'",
        ),
        ("fitness_dual", "constraint 'privacy': a limit on all parts together", None),
        ("eigen_design", None, "the given 'Q' does not come from the workload"),
        ("query_weighting", "the given 'Q' does not come from the workload", None),
    ):
        checked = check(Program.load(name))
        for expected, of in ((blocks, of_blocks), (factors, of_factors)):
            with subtests.test(name, of=of.__name__):
                found = of(checked)
                assert expected in (
                    None,
                    found.kind or found.why_not.replace("block matrix", "matrix inequality"),
                )


@pytest.mark.quick
def test_a_changed_objective(subtests: pytest.Subtests) -> None:
    for objective, blocks, factors in [
        ("trace(W @ inv(X) @ W.T)", SUM, "product"),
        ("3 * trace(W @ inv(X) @ W.T)", SUM, ""),  # the number 3, once for every factor
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


def test_a_number_stands_there_once_for_every_factor(subtests: pytest.Subtests) -> None:
    """b = 2 in two factors is 4 in their product; an exponent is the same number in all of them."""
    for name, numbers, kind in [
        ("fitness_budget", {"budget": 1.0}, "product"),
        ("fitness_budget", {"budget": 2.0}, ""),
    ]:
        with subtests.test(name, numbers=numbers):
            assert of_factors(check(Program.load(name)), numbers=numbers).kind == kind
    twice = edited("l2_strategy", ("diag(X) <= 1", "diag(X) <= 2"))
    assert of_factors(check(twice)).why_not == "constraint 'sensitivity': the number 2"
    squared = edited("l2_strategy", ("diag(X) <= 1", "diag(X)**2 <= 1"))
    assert of_factors(check(squared)).kind == "product"
    valued = edited("gamma_2", ("objective**2", "objective + 1"))
    assert of_factors(check(valued)).why_not == "the value: 'add'"
    sized = Program.load("min_error")
    assert of_factors(check(sized)).why_not == "variables: the count 'p'"
    assert of_factors(check(sized), numbers={"p": 1.0}).why_not != "variables: the count 'p'"


def test_a_sum_over_all_cells_is_a_limit_on_all_parts() -> None:
    program = edited("l2_strategy", ("diag(X) <= 1", "trace(X) <= 1"))
    text = program.text.split("certificate")[0]
    assert of_blocks(check(Program.parse(text))).why_not == (
        "constraint 'sensitivity': a limit on all parts together"
    )


@pytest.mark.quick
def test_a_side_that_may_be_negative_is_no_product() -> None:
    """-1 <= a and -1 <= b say nothing of a b."""
    program = edited("l2_strategy", ("diag(X) <= 1", "W @ X <= 1"))
    text = program.text.split("certificate")[0]
    assert of_factors(check(Program.parse(text))).why_not == (
        "constraint 'sensitivity': a side that may be negative"
    )
