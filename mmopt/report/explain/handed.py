"""The form in which each line of a program goes to the solver, in words."""

from __future__ import annotations

from collections.abc import Mapping

from mmopt.compiler.shape import curved_nodes, implied_psd, line, scope_of
from mmopt.language import Checked
from mmopt.language.check.infer import Scope, infer
from mmopt.language.syntax.tree import Apply, Constraint, Expr, walk
from mmopt.report.explain.facts import Formula, Handed, Sentence
from mmopt.report.explain.reading import formula_of, name_of, relation_of
from mmopt.report.style import counted

__all__ = ["handed_over"]

# Atoms that cvxpy turns into cones of its own when their argument is chosen.
GRAPH_FORMS = frozenset({"abs", "max", "min", "sqrt", "pow", "nuclear", "div"})


def handed_over(checked: Checked, sizes: Mapping[str, int]) -> tuple[Handed, ...]:
    """The objective, the constraints and what is chosen, each with what is made of it."""
    program = checked.program
    shared: list[tuple[Expr, str]] = []  # blocks, and the line that brought each
    out = []
    how: list[Sentence]
    scope = scope_of(checked)
    if program.objective is not None:
        how = _curved(program.objective, program.sense, scope, shared) or [("linear, as it stands",)]
        out.append(Handed(program.sense, formula_of(program.objective, scope), tuple(how)))
    out += [_constraint(checked, c, sizes, shared) for c in program.constraints]
    implied = implied_psd(checked)
    for d in program.choose:
        how = []
        if d.kind == "psd":
            if d.name in implied:
                how.append(("psd follows from a block in which it stands: no cone of its own",))
            else:
                how.append((f"one psd cone of size {d.dims[0].value(sizes):,}",))
        elif d.kind == "symmetric":
            how.append(("one unknown for each pair of entries that are the same",))
        if d.sign:
            how.append(("nonnegative, entry by entry",))
        out.append(Handed(d.name, name_of(d.name), tuple(how) or (("free",),)))
    return tuple(out)


def _constraint(
    checked: Checked, c: Constraint, sizes: Mapping[str, int], shared: list[tuple[Expr, str]]
) -> Handed:
    decided = line(checked, c)
    scope = scope_of(checked, c.family.index if c.family else "")
    formula = relation_of(c.relation, scope)
    how: list[Sentence] = []
    for side in (decided.relation.left, decided.relation.right):
        how += _curved(side, c.name, scope, shared)
    times = c.family.dim.value(sizes) if c.family else 1
    kind = {"==": "equation", ">>": "psd block", "<<": "psd block"}.get(c.relation.op, "inequality")
    if decided.pair:
        cones = f"{times:,} second-order cones" if times > 1 else "a second-order cone"
        block = Formula("[a, b; b, c] ⪰ 0", r"\begin{bmatrix} a & b \\ b & c \end{bmatrix} \succeq 0")
        cone = Formula("‖(2b, a − c)‖ ≤ a + c", r"\left\|\left(2\,b,\, a - c\right)\right\| \le a + c")
        how.append((f"{cones} of size 3 for 2 × 2 blocks: ", block, " says ", cone))
    elif kind == "psd block":
        left, right = infer(decided.relation.left, scope), infer(decided.relation.right, scope)
        size = (left if left.is_matrix else right).dims[0].value(sizes)
        each = f", one for each {c.family.index} in {c.family.dim}" if c.family else ""
        how.append((f"{counted(times, kind)} of size {size:,}{each}",))
    elif c.family and not decided.loop:
        together = relation_of(decided.relation, scope)
        what = "one vector equation" if kind == "equation" else "one vector inequality"
        how.append((f"all {times:,} as {what}: ", together))
    elif c.family:
        how.append((f"{times:,} by themselves, one for each {c.family.index} in {c.family.dim}",))
    else:
        how.append((f"{'linear, ' if not how else ''}as it stands",))
    return Handed(c.name, formula, tuple(how))


def _curved(expr: Expr, where: str, scope: Scope, shared: list[tuple[Expr, str]]) -> list[Sentence]:
    """What becomes of the curved parts of an expression; ``shared`` collects blocks used again."""
    traces, nodes = curved_nodes(expr, scope)
    out: list[Sentence] = []
    for inner, _, _ in traces:
        f = formula_of(inner, scope)
        block = Formula(
            f"[{f.plain}, M; Mᵀ, T] ⪰ 0",
            rf"\begin{{bmatrix}} {f.latex} & M \\ M^{{\mathsf T}} & T \end{{bmatrix}} \succeq 0",
        )
        trace = Formula("tr(T)", r"\operatorname{tr}\left(T\right)")
        out.append(("the trace of an inverse as ", trace, " with one psd block ", block))
    for node in nodes:
        known = next((place for e, place in shared if e == node), None)
        out.append(_block(node, scope, known))
        if known is None:
            shared.append((node, where))
    atoms = {
        e.atom for e in walk(expr) if isinstance(e, Apply) and e.atom in GRAPH_FORMS and _bends(e, scope)
    }
    if atoms:
        out.append((f"{', '.join(sorted(atoms))} with the variables and cones that cvxpy adds",))
    return out


def _bends(expr: Expr, scope: Scope) -> bool:
    return not infer(expr, scope).curvature.is_affine


def _block(node: Apply, scope: Scope, known: str | None) -> Sentence:
    whole, f = formula_of(node, scope), formula_of(node.args[0], scope)
    if known is not None:
        return whole, f" by the block of '{known}'"
    if node.atom == "inv":
        block = Formula(
            f"[Y, I; I, {f.plain}] ⪰ 0",
            rf"\begin{{bmatrix}} Y & I \\ I & {f.latex} \end{{bmatrix}} \succeq 0",
        )
        return whole, " replaced by Y with one psd block ", block
    block = Formula(
        f"[{f.plain}, S; S, I] ⪰ 0", rf"\begin{{bmatrix}} {f.latex} & S \\ S & I \end{{bmatrix}} \succeq 0"
    )
    return whole, " replaced by S with one psd block ", block
