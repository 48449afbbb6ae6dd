"""Sections, lines, comments and positions: texts that read well, and texts that do not.

Guards source_text.py, program_sections.py.
"""

from collections.abc import Callable

import pytest

from mmopt.errors import ProgramError
from mmopt.language import Program, check, to_source
from mmopt.language.syntax.source_text import MAX_BYTES

Build = Callable[..., str]
Refuse = Callable[[str, str, str], None]


def error(text: str) -> str:
    with pytest.raises(ProgramError) as caught:
        check(Program.parse(text, "t.program"))
    return str(caught.value)


# ---------------------------------------------------------------- the same program, written otherwise


WAYS: dict[str, Callable[[str], str]] = {
    "windows line ends": lambda t: t.replace("\n", "\r\n"),
    "old mac line ends": lambda t: t.replace("\n", "\r"),
    "byte order mark": lambda t: "\ufeff" + t,
    "tabs": lambda t: t.replace("    ", "\t"),
    "two spaces": lambda t: t.replace("    ", "  "),
    "trailing spaces": lambda t: t.replace("\n", "   \n"),
    "blank lines": lambda t: t.replace("\n", "\n\n"),
    "trailing comments": lambda t: t.replace("\n", "  # it's a comment with 'quotes\" and ( [\n"),
    "comment lines": lambda t: (
        "# first\n    # second\n" + t.replace("\n    ", "\n# between ) ]\n      # more\n    ")
    ),
    "colons": lambda t: t.replace("given\n", "given:\n").replace("program trial", "program: trial"),
    "on one line": lambda t: t.replace("minimize\n    trace", "minimize trace"),
    "open bracket": lambda t: t.replace("trace(W @", "trace(\n\n  W  # the queries\n @\n"),
    "odd indentation in a bracket": lambda t: t.replace("(W @ inv(X)", "(\n            W @\n    inv(X)"),
    "deeper lines in a constraint": lambda t: t.replace("diag(X) <= 1", "diag(\n  X)\n        <= 1"),
    "colon at the end of a line": lambda t: t.replace("s: diag(X) <= 1", "s:\n        diag(X)\n      <= 1"),
    "needless brackets": lambda t: t.replace(
        "trace(W @ inv(X) @ W.T)", "(((trace(((W) @ inv((X)) @ (W).T)))))"
    ),
    "spaces in brackets": lambda t: t.replace("inv(X)", "inv( X )").replace("W.T", "W . T"),
}


def test_another_way_to_write_the_same(subtests: pytest.Subtests, program: Build) -> None:
    plain = Program.parse(program())
    for way, change in WAYS.items():
        with subtests.test(way):
            other = Program.parse(change(program()))
            assert other == plain
            assert check(other).types == check(plain).types


def test_words_do_not_change_a_program(program: Build) -> None:
    words = (
        'title "Größe ≤ 1 # no comment"\nabout\n    Any (words: "here\n\n    # not read\nproof\n    x ^ 2\n'
    )
    read = Program.parse(program(words))
    assert read.title == "Größe ≤ 1 # no comment"
    assert read.about == 'Any (words: "here'
    assert read.proof == "x ^ 2"
    documented = program(choose='X: psd[n, n] "one ( [ bracket, \\"quoted\\", it\'s # no comment"')
    assert Program.parse(documented) == Program.parse(program())
    assert Program.parse(documented).choose[0].doc == 'one ( [ bracket, "quoted", it\'s # no comment'


def test_a_name_is_the_same_in_each_of_its_unicode_forms(program: Build) -> None:
    micro, mu = "\u00b5", "\u03bc"  # Python's grammar takes both for one name
    text = program(f"repair\n    {mu} = {micro} / max(diag({micro}))\n")
    read = Program.parse(text.replace("X", micro, 1).replace("X", mu))
    assert [d.name for d in read.choose] == [mu, "u"]
    check(read)


def test_text_gives_the_lines_back(program: Build) -> None:
    text = program()
    assert Program.parse(text.replace("\n", "\r\n")).text == text
    assert Program.parse(Program.parse(text).text) == Program.parse(text)


def test_positions_are_counted_in_characters_over_lines(program: Build, refused: Refuse) -> None:
    hint = "known: G, W, X, m, n, u, ΣΔ"
    letters = program(choose="X: psd[n, n]\n    ΣΔ: scalar", objective="ΣΔ + «y»")
    refused(letters, "'y' is not defined", hint)
    lines = program(choose="X: psd[n, n]\n    ΣΔ: scalar", objective="(ΣΔ +  # é\n\t  «yé» + 1)")
    refused(lines, "'yé' is not defined", hint)
    deeper = program(choose="X: psd[n, n]\n    ΣΔ: scalar", objective="ΣΔ\n      + (1 -\n «y»)")
    refused(deeper, "'y' is not defined", hint)


# ---------------------------------------------------------------- sections that do not fit


def test_missing_sections(refused: Refuse) -> None:
    start = "«program» p\ngiven\n    W: matrix[m, n]\n"
    objective = "a convex program needs 'minimize' or 'maximize'"
    refused(start, objective, "for example: minimize alpha")
    refused(
        start + "minimize\n    1\n", "a convex program needs 'choose'", "for example: choose X: psd[n, n]"
    )
    refused(
        start + "class closed form\nlet\n    A = W\nminimize\n    1\n",
        "a closed form program says what its solution means",
        "write 'strategy' (factor(X) norm 2) or 'covariance' (Sigma on B)",
    )
    procedure = start + "class procedure\nminimize\n    1\nstrategy\n    W norm 2\n"
    refused(procedure, "a procedure needs 'steps'", "for example: weighting = solve(query_weighting)")


def test_empty_text(subtests: pytest.Subtests) -> None:
    for text in ("", "\n", "   \n\t\n", "# only a comment"):
        with subtests.test(text):
            message = error(text).split("\n")
            assert message[0] == "t.program:1:1: a program begins with its name"
            assert message[-1] == "  write: program my_program"


# ---------------------------------------------------------------- texts that are no programs


def test_control_characters_are_refused_and_not_printed(program: Build) -> None:
    """Also those that show a text in another order."""
    turning = [*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F]
    for code in (0, 0x1B, 0x0C, 0x2028, *turning):
        assert error(program(constraint=f"diag{chr(code)}(X) <= 1")) == (
            f"t.program:11:9: the control character U+{code:04X} cannot stand in a program\n"
            "        diag?(X) <= 1\n"
            "            ^\n"
            "  remove it (an editor may not show it); is this a text file?"
        )


def test_a_text_too_long() -> None:
    text = "program p\n" + "#" * MAX_BYTES
    assert error(text) == (
        f"t.program:1:1: a program of {len(text)} characters; at most 200000 are read\n"
        "  a program file holds formulas; data are given with --given NAME=FILE"
    )


CASES = [
    ("-" * 20_000 + "sum(u)", "a statement of more than 4000 characters", 5),
    ("(" * 5_000 + "sum(u)" + ")" * 5_000, "a statement of more than 4000 characters", 5),
    ("(" * 5_000, "a statement of more than 4000 characters", 5),
    ("(" * 41 + "sum(u)" + ")" * 41, "more than 40 brackets inside each other", 5),
    ("-" * 700 + "sum(u)", "more than 100 operations inside each other", 5),
    ("-" * 100 + "sum(u)", "more than 100 operations inside each other", 5),
    (" + ".join(["sum(u)"] * 100), "more than 100 operations inside each other", 5),
    ("sum(u)" + "**2" * 300, "more than 100 operations inside each other", 5),
    ("u" + ".T" * 500, "more than 100 operations inside each other", 5),
    ("max(" + "1, " * 101 + "sum(u))", "more than 100 operations inside each other", 5),
    ("max(" * 3 + "1" + (", 1" * 40 + ")") * 3, "more than 100 operations inside each other", 5),
    ("u" + "[0]" * 400, "more than 100 operations inside each other", 5),
]


def test_deep_and_long_expressions(subtests: pytest.Subtests, program: Build) -> None:
    for expression, message, column in CASES:
        with subtests.test(expression):
            lines = error(program(objective=expression)).split("\n")
            assert lines[0] == f"t.program:9:{column}: {message}"
            assert lines[-1].startswith("  split it with 'let'")


def test_many_lines_in_one_bracket_are_refused_at_once(program: Build) -> None:
    text = program(objective="(\n" + "    sum(u) +\n" * 12_000)
    assert error(text).startswith("t.program:9:5: a statement of more than 4000 characters\n")


DEEPEST = [
    "-" * 96 + "sum(u)",
    " + ".join(["sum(u)"] * 96),
    "sum(" * 38 + "u" + ")" * 38,
    "trace(" + "W.T @ diag(diag(W @ " * 15 + "inv(X)" + " @ W.T)) @ W" * 15 + ")",
]


def test_the_deepest_expressions_are_checked(subtests: pytest.Subtests, program: Build) -> None:
    for expression in DEEPEST:
        with subtests.test(expression[:9]):
            checked = check(Program.parse(program(objective=expression)))
            assert checked.objective is not None and checked.objective.is_scalar
            assert checked.program.objective is not None
            assert Program.parse(program(objective=to_source(checked.program.objective))) == checked.program


def test_many_open_quotes_are_refused_at_once(subtests: pytest.Subtests) -> None:
    for line in ('title "' + '\\"' * 90_000, "title '" * 20_000):
        with subtests.test(line):
            assert error(f"program p\n{line}").startswith("t.program:2:")
