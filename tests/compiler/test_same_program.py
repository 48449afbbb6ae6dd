"""A program under other names is the same; an edited one is not.

Guards bind.py.
"""

import itertools
import re
from dataclasses import replace

import pytest

from mmopt.compiler.bind import is_shipped, match
from mmopt.language import Checked, Program, check, program_names

SHIPPED = [name for name in program_names() if Program.load(name).problem_class == "convex"]


def shipped(name: str) -> str:
    return Program.load(name).text


def parsed(text: str) -> Checked:
    return check(Program.parse(text))


def renamed(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def test_programs_that_are_another_one() -> None:
    """Among the shipped ones only two are the same: l2_strategy with V for W."""
    programs = {name: check(Program.load(name)) for name in SHIPPED}
    same = {(a, b) for a in SHIPPED for b in SHIPPED if a != b and match(programs[a], programs[b])}
    alike = ("l2_strategy", "user_level_strategy", "weighted_l2")
    assert same == set(itertools.permutations(alike, 2))


def test_other_names() -> None:
    names = {"W": "Queries", "X": "Gram", "n": "cells", "sensitivity": "price"}
    found = match(parsed(shipped("l2_strategy")), parsed(renamed(shipped("l2_strategy"), names)))
    assert found is not None
    assert found.names == {"W": "Queries", "X": "Gram"}
    assert found.constraints == {"sensitivity": "price"}


def test_another_way_of_writing() -> None:
    """The order of the constraints, >= for <=, and where a transpose stands."""
    text = shipped("fitness_for_use")
    privacy = "privacy:  B[:, i].T @ inv(Sigma) @ B[:, i] <= alpha   for i in n\n"
    accuracy = "accuracy: L[j, :] @ Sigma @ L[j, :].T <= c[j]         for j in m\n"
    assert privacy in text and accuracy in text
    other = text.replace("    " + privacy, "").replace(
        accuracy, "accuracy: c[a] >= L[a, :] @ Sigma @ L[a, :].T for a in m\n    " + privacy
    )
    found = match(parsed(text), parsed(other))
    assert found is not None and found.constraints == {"privacy": "privacy", "accuracy": "accuracy"}


@pytest.mark.quick
def test_an_edited_program_is_another(subtests: pytest.Subtests) -> None:
    for program, old, new in [
        ("l2_strategy", "diag(X) <= 1", "diag(X) <= 2"),
        ("l2_strategy", "diag(X) <= 1", "diag(X) == 1"),
        ("l2_strategy", "    trace(W @ inv(X) @ W.T)", "    2 * trace(W @ inv(X) @ W.T)"),
        ("l2_strategy", "diag(X) <= 1", "diag(X) <= 1\n    bounded: X << 3 * eye(n)"),
        ("fitness_for_use", "<= c[j]", "<= 2 * c[j]"),
        ("fitness_for_use", "c: vector[m] > 0 = workload.targets", "c: vector[m] = workload.targets"),
        ("fitness_for_use", "minimize\n    alpha", "minimize\n    alpha + trace(Sigma)"),
        ("fitness_for_use", "alpha: scalar ", "alpha: scalar >= 0 "),
        ("low_rank_strategy", "sum(abs(A), axis=0) <= 1", "sum(abs(A), axis=1) <= 1"),
    ]:
        with subtests.test(program, old=old):
            text = shipped(program)
            assert old in text
            assert match(parsed(text), parsed(text.replace(old, new))) is None


def test_two_variables_are_not_one() -> None:
    """A renaming is one to one."""
    text = shipped("fitness_penalty")
    assert match(parsed(text), parsed(text.replace("alpha + beta", "alpha + alpha"))) is None
    assert match(parsed(text.replace("alpha + beta", "alpha + alpha")), parsed(text)) is None


def test_a_copy_under_another_name_is_the_program_and_has_its_proof(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            copy = parsed(program.text.replace(f"program {name}", "program copy", 1))
            assert is_shipped(copy, meaning=True)
            if name in SHIPPED:
                found = match(check(program), copy)
                assert found is not None
                assert all(known == asked for known, asked in found.names.items())
                assert {d.name for d in program.choose} <= set(found.names)


@pytest.mark.quick
def test_another_line_has_another_proof(subtests: pytest.Subtests) -> None:
    for name, old, new in [
        ("l2_strategy", "diag(X) <= 1", "diag(X) <= 2"),
        ("l2_strategy", "    nuclear", "    2 * nuclear"),
        ("l2_strategy", "workload.root", "workload.matrix"),
        ("l2_strategy", "vector[n] >= 0", "vector[n]"),
        ("l2_strategy", "X: psd", "X: symmetric"),
        ("query_weighting", "    independent: rank(Q) == h\n", ""),
        ("query_weighting", "c = sum(", "c = 2 * sum("),
        ("fitness_for_use", "for j in m", "for j in k"),
        ("fitness_for_use", "c: vector[m] > 0", "c: vector[m]"),
        ("fitness_budget", "scalar > 0 = 1", "scalar > 0 = 2"),
        ("eigen_separation", "A = between.strategy", "A = inside.strategy"),
    ]:
        with subtests.test(name, old=old):
            text = Program.load(name).text
            assert old in text
            written = Program.parse(text.replace(old, new))  # some would be refused: asked of what is written
            assert not is_shipped(replace(check(Program.load(name)), written=written))


@pytest.mark.quick
def test_what_a_solution_means_is_asked_apart() -> None:
    text = Program.load("l2_strategy").text.replace("factor(X) norm 2", "2 * factor(X) norm 2")
    assert is_shipped(check(Program.parse(text))) and not is_shipped(check(Program.parse(text)), meaning=True)
