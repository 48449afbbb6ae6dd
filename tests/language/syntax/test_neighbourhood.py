"""The section ``neighbours`` is read, checked and printed; what it cannot say is refused.

Guards language/typeset.py, program.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind
from mmopt.compiler.bind import is_shipped
from mmopt.errors import OptionError
from mmopt.language import check, typeset_latex
from mmopt.language.typeset import program_lines

PROGRAM = """\
program stream
given
    W: matrix[r, n] = workload.root
parameter
    b: dim = 4
    k: dim = 2
choose
    X: psd[n, n]
minimize
    trace(W @ inv(X) @ W.T)
subject to
    sensitivity: diag(X) <= 1
strategy
    factor(X) norm 2
"""


def said(words: str) -> Program:
    return Program.parse(f"{PROGRAM}neighbours\n    {words}\n")


IN_WORDS = [
    ("add-remove", "one row added or removed", r"\text{one row added or removed}"),
    ("replace-one", "one row replaced", r"\text{one row replaced}"),
    (
        "rows 2*k + 1",
        "up to 2 k + 1 rows of one person, added or removed",
        r"\text{up to}\ 2\,k + 1\ \text{rows of one person, added or removed}",
    ),
    (
        "participation separation b at most k",
        "the rows of one person: one in a step, added or removed, in at most k steps, any two at least b "
        "apart",
        r"\text{the rows of one person: one in a step, added or removed, in at most}\ k"
        r"\ \text{steps, any two at least}\ b\ \text{apart}",
    ),
]


def test_the_set_is_printed_in_words(subtests: pytest.Subtests) -> None:
    for words, plain, latex in IN_WORDS:
        with subtests.test(words):
            program = said(words)
            assert ("neighbours", plain, ()) in program_lines(check(program), "plain")
            assert latex in typeset_latex(program)


def test_a_kind_that_nothing_is_written_for_is_neither_printed_nor_bound() -> None:
    checked, workload = check(said("rows k")), Workload.from_matrix(np.tri(3))
    forged = replace(checked.program.neighbours, kind="fifth")
    other = replace(checked.program, neighbours=forged)
    with pytest.raises(AssertionError, match="'fifth'"):
        program_lines(other, "plain")
    with pytest.raises(OptionError, match="'fifth'"):
        bind(other, workload)


def test_a_proof_of_the_bound_is_not_about_the_set_but_what_is_measured_is() -> None:
    plain, other = check(Program.parse(PROGRAM)), check(said("rows k"))
    assert plain.written.neighbours is None and other.written != plain.written
    shipped = Program.load("l2_strategy")
    copy = Program.parse(shipped.text + "\nneighbours\n    rows 2\n")
    assert is_shipped(check(copy)) and not is_shipped(check(copy), meaning=True)
    assert is_shipped(check(shipped), meaning=True)
