"""What a smooth program may say, and what is said of it where it may not."""

from collections.abc import Callable

import pytest

from mmopt.language import ATOMS, Program, check

TEXT = """program trial
class smooth
given
    W: matrix[r, n] = workload.root
choose
    A: matrix[n, n]
minimize
    trace(W @ inv(A.T @ A) @ W.T) * max(sum(abs(A), axis=0))**2
subject to
    sign: A[0, 0] >= 0
start
    flat: A = eye(n)
strategy
    A norm 1
"""
ABLE = f"these have one: {', '.join(sorted(name for name, atom in ATOMS.items() if atom.gradient))}"


NO_GRADIENT = "has no gradient, and a smooth program is searched by gradients"


ATOMS = ["pinv(A)", "rank(A) * A", "factor(A.T @ A)", "stack(A, A)", "used_rows(A, A[0, :].T)"]


def test_atoms_without_a_gradient(
    subtests: pytest.Subtests, refused: Callable[[str, str, str], None]
) -> None:
    for atom in ATOMS:
        with subtests.test(atom):
            name = atom.split("(")[0]
            whole = atom.removesuffix(" * A")
            marked = TEXT.replace("trace(W @", f"sum({atom.replace(whole, f'«{whole}»')}) + trace(W @", 1)
            refused(marked, f"'{name}' {NO_GRADIENT}", ABLE)


MISTAKES = [
    (
        "A[0, 0] >= 0",
        "«A.T @ A >> 0»",
        "'sign': a smooth program compares entries, not matrices",
        "declare the variable psd",
    ),
    (
        "minimize",
        "«maximize»",
        "section 'maximize' has no place in a program of class 'smooth'",
        "minimize the negative",
    ),
    (
        "flat: A = eye(n)",
        "flat: A = «A.T»",
        "a start uses what is given, and 'A' is chosen",
        "write it with what is given",
    ),
    ("inv(A.T @ A)", "inv(«polar(W)»)", "polar needs a square matrix, this is a matrix (r, n)", ""),
]


def test_mistake(subtests: pytest.Subtests, refused: Callable[[str, str, str], None]) -> None:
    for old, new, message, hint in MISTAKES:
        with subtests.test(old):
            refused(TEXT.replace(old, new, 1), message, hint)


def test_what_is_given_needs_no_gradient() -> None:
    given = TEXT.replace("trace(W @", "rank(W) + sum(pinv(W)) + trace(W @")
    assert check(Program.parse(given)).objective is not None
