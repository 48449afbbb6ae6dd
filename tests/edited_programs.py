"""Programs that a user might make of shipped ones, by changing their text; how they are refused."""

from __future__ import annotations

import re

from mmopt.language import Checked, Program
from mmopt.language.typeset import plain_words, program_lines


def edited(name: str, *changes: tuple[str, str], called: str = "") -> Program:
    """A shipped program with pieces of its text replaced; each must be there."""
    text = Program.load(name).text
    for old, new in ((f"program {name}", f"program {called or name}"), *changes):
        assert old in text, f"'{old}' is not in {name}"
        text = text.replace(old, new)
    return Program.parse(text)


def typeset_text(program: Program | Checked) -> str:
    """The typeset lines of a program as plain text: labels, formulas and words in columns."""
    lines = [(label, text, plain_words(words)) for label, text, words in program_lines(program, "plain")]
    left = max(len(label) for label, _, _ in lines) + 2
    right = max((len(formula) for _, formula, words in lines if words and len(formula) <= 40), default=0)
    rows = (f"{label:<{left}}{formula:<{right if words else 0}}   {words}" for label, formula, words in lines)
    return "\n".join(row.rstrip() for row in rows)


def without_reach(refusal: str) -> str:
    """A refusal without how far its proof reaches, which rounding decides."""
    refusal = re.sub(r" with numbers up to \de[+-]\d+", "", refusal)
    refusal = re.sub(r"(has no feasible point: .*) there$", r"\1", refusal, flags=re.MULTILINE)
    return re.sub(r"if larger numbers are meant, [^;]*; else ", "", refusal)
