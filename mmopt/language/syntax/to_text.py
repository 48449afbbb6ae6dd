"""An expression written as text, with brackets only where they are needed."""

from __future__ import annotations

from collections.abc import Callable

from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.syntax_tree import Apply, Block, Entries, Expr, Index, Name, Number

__all__ = ["number_text", "to_source"]

POSTFIX = ATOMS["transpose"].binds
NUMBER = POSTFIX - 1  # 2.T would read as the number "2." and a name
CALL = ATOMS["abs"].binds


def number_text(value: float) -> str:
    """A number as one writes it; reading it gives the same float."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def to_source(expr: Expr) -> str:
    """The expression in the language itself; reading it gives an equal tree."""
    return _write(expr)[0]


def _write(expr: Expr) -> tuple[str, int]:
    """The text and how strongly it holds together."""
    match expr:
        case Number(value=value):
            return number_text(value), NUMBER
        case Name(id=name):
            return name, CALL
        case Index(base=base, items=items):
            inside = ", ".join(":" if i is None else to_source(i) for i in items)
            return f"{_held(base, lambda b: b >= NUMBER)}[{inside}]", POSTFIX
        case Block(rows=rows):
            inside = ", ".join("[" + ", ".join(map(to_source, r)) + "]" for r in rows)
            return f"[{inside}]", CALL
        case Entries(body=body, families=families, where=where):
            clauses = [f"for {f.index} in {f.dim}" for f in families]
            clauses += [f"if {to_source(r.left)} {r.op} {to_source(r.right)}" for r in where]
            return " ".join([to_source(body), *clauses]), 0
        case Apply(atom=name, args=args, options=options):
            atom = ATOMS[name]
            if atom.binds == CALL:
                extra = "".join(f", {key}={value}" for key, value in options)
                return f"{atom.text.format(*map(to_source, args))[:-1]}{extra})", CALL
            return atom.text.format(*_operands(name, args)), atom.binds


def _operands(name: str, args: tuple[Expr, ...]) -> list[str]:
    """Operators group from the left, ``**`` from the right; its exponent may begin with a minus."""
    own = ATOMS[name].binds
    if len(args) == 1:
        return [_held(args[0], lambda b: b >= own)]
    if name == "pow":
        minus = ATOMS["neg"].binds
        return [_held(args[0], lambda b: b > own), _held(args[1], lambda b: b >= own or b == minus)]
    return [_held(args[0], lambda b: b >= own), _held(args[1], lambda b: b > own)]


def _held(expr: Expr, fits: Callable[[int], bool]) -> str:
    text, binds = _write(expr)
    return text if fits(binds) else f"({text})"
