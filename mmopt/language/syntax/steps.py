"""The steps of a procedure: solve another program, assign, repeat."""

from __future__ import annotations

from mmopt.language.atoms.table import FUNCTIONS
from mmopt.language.syntax.expression import parse_call, parse_expr, parse_relation
from mmopt.language.syntax.sections import statements_below
from mmopt.language.syntax.source import Text
from mmopt.language.syntax.statements import assignment, name_of, split_at
from mmopt.language.syntax.tree import Repeat, Step, SubProgram

__all__ = ["step"]

LOOPS = ("repeat", "alternate")


def step(text: Text) -> Step:
    """``name = solve(program, Q=…)``, ``name = expression``, or a block that is repeated."""
    if text.tokens()[0].text in LOOPS:
        return _loop(text)
    name, right = split_at(text, "=")
    words = [token.text for token in right.tokens()[:2]] if right else []
    if right and words == ["solve", "("]:
        program, span, arguments = parse_call(right, FUNCTIONS)
        return SubProgram(name_of(name), program, arguments, text.span(0, len(name.text)), span)
    return assignment(text)


def _loop(text: Text) -> Repeat:
    """``repeat 10 until relation:`` or ``alternate 10:``, and the steps below it."""
    tokens = text.tokens()
    word = tokens[0]
    colon = next((t for t in tokens if t.text == ":" and t.depth == 0), None)
    if colon is None:
        text.fail_at(
            word, f"a ':' is missing after '{word.text} …'", f"write: {word.text} 10: and steps below"
        )
    head = text.cut(word.end, colon.start)
    times, until = split_at(head, "until")
    if not times.text:
        text.fail_at(word, f"'{word.text}' says how often at most", f"write: {word.text} 10:")
    if until is not None and word.text == "alternate":
        message = "'alternate' ends by itself, when the objective of its last step falls no more"
        until.fail(message, hint="write 'repeat' for another end")
    below = statements_below(text, colon.end)
    if not below:
        text.fail_at(word, f"'{word.text}' has no steps", "indent them deeper, below it")
    return Repeat(
        parse_expr(times, FUNCTIONS),
        tuple(step(s) for s in below),
        text.span(word.start, word.end),
        parse_relation(until, FUNCTIONS) if until is not None else None,
        word.text == "alternate",
    )
