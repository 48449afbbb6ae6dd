"""Expressions read from text, and written as text.

They are read by Python's grammar (``ast``) and a white list; nothing is ever executed. Names that atoms have
in other languages are refused, with the name that they have here. The text of an expression has brackets only
where they are needed.
"""

import ast
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import accumulate, pairwise, takewhile
from typing import Any, NoReturn, TypeVar

from mmopt.errors import placed, suggest
from mmopt.language.atoms.expression_types import Dim
from mmopt.language.atoms.table_of_atoms import ATOMS, FUNCTIONS
from mmopt.language.syntax.names_from_elsewhere import INSTEAD, instead
from mmopt.language.syntax.source_text import ALLOWED, PYTHON_WORDS, RELATIONS, Text, check_expression, plain
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Entries,
    Expr,
    Family,
    Index,
    Name,
    Number,
    Relation,
    Span,
    children,
)

Tree = TypeVar("Tree")
# Operations inside each other. Every walk through a tree is recursive, with a few frames of Python for
# each level, and Python allows a thousand in all.
MAX_NESTING = 100
LARGEST_NUMBER = 1e300

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.MatMult: "matmul",
    ast.Pow: "pow",
}
DIMS = {ast.Add: Dim.__add__, ast.Sub: Dim.__sub__, ast.Mult: Dim.__mul__}
# Relations between indices.
COMPARED: dict[type[ast.cmpop], str] = {
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.Gt: ">",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
# Relations that no constraint may have: why, and what to write.
REFUSED = {
    "<": ("a constraint cannot be strict: the feasible set includes its boundary", "write <="),
    ">": ("a constraint cannot be strict: the feasible set includes its boundary", "write >="),
    "=": ("'=' is not a relation of a constraint", "write =="),
    "!=": (
        "'!=' is not a relation of a constraint",
        "such a constraint is never convex; an equation is written ==",
    ),
}
STRICT = ("<", ">")  # for numbers that are given
# The atom that is called, by the arguments: a norm by the second, the larger of two where there are two.
NORMS = "write norm(x), norm(x, 1), norm(x, inf) or norm(X, fro)"
NORM_ATOMS = {"1": "norm 1", "2": "norm 2", "inf": "norm inf", "fro": "norm fro", "nuc": "nuclear"}
LARGER_ATOMS = {"max": "entrywise max", "min": "entrywise min"}
# What is minus the atom of minus the argument.
SMALLEST = {"sum_smallest": "sum_largest", "lambda_sum_smallest": "lambda_sum_largest"}


class _Reader:
    """Turns Python syntax into our tree, with positions in the file.

    ``wrapped`` is the text as Python reads it, in brackets; a line ``for`` stands in place of each comma of
    ``for i in m, j in n``. ``encoded`` are its lines in bytes, in which Python counts columns, and ``starts``
    where each begins in the whole text.
    """

    def __init__(self, text: Text, atoms: Collection[str]) -> None:
        self.text = text
        self.atoms = atoms
        commas = [text.start - 1, *_commas_of_clauses(text), text.start + len(text.text)]
        parts = [text.whole[a + 1 : b] for a, b in pairwise(commas)]
        self.wrapped = "(" + "\nfor\n".join(parts) + "\n)"  # so that a statement may run over several lines
        lines = self.wrapped.split("\n")
        self.encoded = [line.encode() for line in lines]
        lengths = (0 if line == "for" else len(line) + 1 for line in lines)
        self.starts = list(accumulate(lengths, initial=text.start - 1))

    def tree(self) -> ast.expr:
        """Python's tree of the text, of a depth that is allowed."""
        check_expression(self.text)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SyntaxWarning)
                tree = ast.parse(self.wrapped, mode="eval").body
        except SyntaxError as error:
            row = min(max(1, error.lineno or 1), len(self.encoded))
            at = self.starts[row - 1] + max(1, error.offset or 1) - 1
            at = min(max(self.text.start, at), self.text.start + len(self.text.text) - 1)
            self.text.source.fail(
                self.text.span(at, at + 1),
                f"this expression cannot be read at '{self.text.whole[at]}'",
                ALLOWED,
            )
        except (MemoryError, RecursionError, ValueError):
            self.too_deep()
        return self.limit(
            tree,
            lambda node: (
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, ast.expr | ast.keyword | ast.comprehension)
            ),
        )

    def too_deep(self) -> NoReturn:
        """Refuse a tree of too many operations inside each other."""
        self.text.fail(f"more than {MAX_NESTING} operations inside each other", "split it with 'let'")

    def limit(self, tree: Tree, below: Callable[[Any], Iterable[Any]]) -> Tree:
        """The tree, if it is not too deep, without recursion; ``below``: the nodes below one."""
        level: list[Any] = [tree]
        for _ in range(MAX_NESTING):
            level = [child for node in level for child in below(node)]
            if not level:
                return tree
        self.too_deep()

    def read(self, node: ast.expr) -> Expr:
        """The expression in our tree, of a depth that is allowed: a maximum of many is deep there alone."""
        return self.limit(self.expr(node), children)

    def offset(self, line: int, byte: int) -> int:
        """The place in the whole text of Python's line and column."""
        return self.starts[line - 1] + len(self.encoded[line - 1][:byte].decode())

    def span(self, node: ast.expr | ast.keyword) -> Span:
        """The place of a node of Python's tree, without the brackets around the text."""
        start = max(self.text.start, self.offset(node.lineno, node.col_offset))
        return self.text.span(start, max(self.offset(*_end_of(node)), start + 1))

    def fail(self, node: ast.expr | ast.keyword, message: str, hint: str = "") -> NoReturn:
        """Raise a :class:`~mmopt.errors.ProgramError` at a node."""
        self.text.source.fail(self.span(node), message, hint)

    def require(self, holds: object, node: ast.expr | ast.keyword, message: str, hint: str = "") -> None:
        """``fail`` unless something holds."""
        self.text.source.require(holds, self.span(node), message, hint)

    def expr(self, node: ast.expr) -> Expr:
        """The expression in our tree."""
        span = self.span(node)
        match node:
            case ast.Constant(value=value) if isinstance(value, int | float):
                return self.number(node, value)
            case ast.Name(id=name):
                return Name(name, span)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Apply("neg", (self.expr(operand),), span)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.expr(operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return Apply(BINARY[type(op)], (self.expr(left), self.expr(right)), span)
            case ast.Attribute(value=value, attr="T"):
                return Apply("transpose", (self.expr(value),), span)
            case ast.Attribute(value=ast.Name(id=base), attr=attr):
                return Name(f"{base}.{attr}", span)
            case ast.Attribute(attr=attr):
                self.fail(
                    node,
                    f"'.{attr}' has no meaning here",
                    instead(ast.unparse(node)) or "the transpose is written X.T",
                )
            case ast.Subscript(value=base, slice=inner):
                items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
                return Index(self.expr(base), tuple(self.item(i) for i in items), span)
            case ast.Call():
                return self.call(node)
            case ast.List(elts=rows):
                return self.block(node, rows)
            case ast.GeneratorExp(elt=body, generators=loops):
                return self.entries(node, body, loops)
            case ast.Tuple():
                self.fail(
                    node,
                    "a list in round brackets has no meaning here",
                    "a block matrix is [[A, B], [C, D]], a column of numbers [[2], [1]]",
                )
        self.fail(node, f"Python's '{type(node).__name__}' has no meaning in a program")

    def entries(self, node: ast.expr, body: ast.expr, loops: list[ast.comprehension]) -> Entries:
        """``body for i in n for j in m if relation``, inside the brackets of a call."""
        families, where = [], []
        for loop in loops:
            dim = self.dim(loop.iter)
            for target in loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]:
                if not isinstance(target, ast.Name):
                    self.fail(target, "an index is a name", "write: for i in n")
                families.append(Family(target.id, dim, self.span(target)))
            for condition in loop.ifs:
                where.append(self.condition(condition))
        # The clauses end before the bracket of the call, which Python counts in.
        first, last = (self.offset(*at) for at in ((body.lineno, body.col_offset), _end_of(node)))
        span = self.text.cut(first, last - 1).place
        return Entries(self.expr(body), tuple(families), tuple(where), span)

    def condition(self, node: ast.expr) -> Relation:
        """A condition on indices."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
                return Relation(self.expr(left), COMPARED[type(op)], self.expr(right), self.span(node))
        self.fail(node, "a condition on indices is one relation", "for example: if abs(i - j) < b")

    def dim(self, node: ast.expr) -> Dim:
        """A dimension: names, whole numbers, + - *."""
        match node:
            case ast.Name(id=name):
                return Dim.of(name)
            case ast.Constant(value=int() as value):
                return Dim.of(value)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in DIMS:
                return DIMS[type(op)](self.dim(left), self.dim(right))
        self.fail(
            node,
            "a dimension is made of names, whole numbers, + - and *",
            instead(ast.unparse(node)) or "for example n or 2*n",
        )

    def number(self, node: ast.expr, value: float) -> Expr:
        """A number of an allowed size."""
        self.require(
            abs(value) < LARGEST_NUMBER,
            node,
            f"a number of more than {LARGEST_NUMBER:g}",
            "divide both sides by a unit",
        )
        return Number(float(value), self.span(node))

    def item(self, node: ast.expr) -> Expr | None:
        """An index; None for all of an axis, ``:``."""
        if not isinstance(node, ast.Slice):
            return self.expr(node)
        self.require(
            not (node.lower or node.upper or node.step),
            node,
            "only a whole ':' can stand in an index",
            "write W[j, :] or B[:, i]; a part of a vector entry by entry: sum(x[j] for j in n if j >= 1)",
        )
        return None

    def block(self, node: ast.expr, rows: list[ast.expr]) -> Expr:
        """A block matrix from a list of lists."""
        lists = [row.elts for row in rows if isinstance(row, ast.List) and row.elts]
        column = ", ".join(f"[{ast.unparse(row)}]" for row in rows[:4]) + ", …" * (len(rows) > 4)
        self.require(
            rows and len(lists) == len(rows),
            node,
            "a block matrix is a list of rows",
            "write [[A, B], [C, D]]" if lists or not rows else f"a column is written [{column}]",
        )
        blocks = tuple(tuple(map(self.expr, row)) for row in lists)
        widths = ", ".join(str(len(row)) for row in blocks)
        self.require(
            len(set(map(len, blocks))) == 1,
            node,
            f"the rows of this block matrix have {widths} entries; all need as many",
        )
        return Block(blocks, self.span(node))

    def call(self, node: ast.Call) -> Expr:
        """An atom applied to arguments."""
        match node.func:
            case ast.Name(id=name):
                pass
            case ast.Attribute():
                self.fail(
                    node.func,
                    "only an atom can be called, by its bare name",
                    instead(ast.unparse(node)) or "no library is needed: atoms have bare names",
                )
            case _:
                self.fail(node.func, "only an atom can be called", "a product is written with * or @")
        if name in SMALLEST and len(node.args) == 2 and not node.keywords:
            span, (x, k) = self.span(node), map(self.expr, node.args)
            return Apply("neg", (Apply(SMALLEST[name], (Apply("neg", (x,), span), k), span),), span)
        if name not in self.atoms:
            call, hint = ast.unparse(node), suggest(name, self.atoms, 0.75)
            elsewhere = {form.partition("(")[0]: form for form in INSTEAD}
            near = suggest(name, [*self.atoms, *elsewhere], 0.75)
            if near.startswith("did you mean") and (other := near.split("'")[1]) in elsewhere:
                hint = f"{near} {instead(call.replace(name, other, 1))}"
            # Numbers, or names as indices have them.
            if hint.startswith("known") and {
                ast.unparse(a).isdecimal() or ast.unparse(a) in ("i", "j", "k") for a in node.args
            } == {True}:
                hint = f"entries are written {name}[{call[len(name) + 1 : -1]}], counted from 0"
            hint = instead(call) or hint
            self.fail(node.func, f"there is no atom '{name}'", hint)
        options = []
        for keyword in node.keywords:
            axis = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            hint = NORMS if name == "norm" and keyword.arg != "axis" else "axis=0 or axis=1 is meant"
            if keyword.arg != "axis" or not isinstance(axis, int) or axis not in (0, 1):
                self.fail(keyword, f"'{name}' takes no such option", hint)
            options.append(("axis", axis))
        return Apply(*self.arguments(name, node), self.span(node), tuple(options))

    def arguments(self, name: str, node: ast.Call) -> tuple[str, tuple[Expr, ...]]:
        """The name of the row that is called, by name and arguments, and the arguments that it takes."""
        if name == "norm":
            self.require(
                len(node.args) in (1, 2),
                node,
                f"'norm' takes 1 or 2 arguments, not {len(node.args)}",
                NORMS,
            )
            kind = ast.unparse(node.args[1]) if len(node.args) == 2 else "2"
            name_elsewhere = f"pnorm({{}}, {kind})" if kind != "0" else "norm0({})"
            of_order = instead(name_elsewhere.format(ast.unparse(node.args[0]))) if kind.isdecimal() else ""
            self.require(
                kind in NORM_ATOMS,
                node.args[-1],
                "there is no such norm",
                of_order or "write 1, 2, inf, fro or nuc",
            )
            return NORM_ATOMS[kind], (self.expr(node.args[0]),)
        args = tuple(map(self.expr, node.args))
        if name in LARGER_ATOMS and len(args) > 1:
            for other in args[2:]:
                args = Apply(LARGER_ATOMS[name], args[:2], self.span(node)), other
            return LARGER_ATOMS[name], args
        if name == "huber" and len(args) == 1:
            args = (*args, Number(1.0, self.span(node)))
        return name, args


def _end_of(node: ast.expr | ast.keyword) -> tuple[int, int]:
    """Line and column, in bytes, after a node of Python's tree."""
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _commas_of_clauses(text: Text) -> Iterator[int]:
    """The places of commas before ``j in n`` in ``for i in m, j in n``, inside brackets."""
    word = ""
    for at, token in enumerate(text.tokens):
        if token.text in ("for", "in"):
            word = token.text
        elif token.text == "," and word == "in":
            rest = takewhile(lambda t: t.kind == "name" or t.text == ",", text.tokens[at + 1 :])
            if any(t.text == "in" for t in rest):
                word = "for"
                yield token.start


def parse_expr(text: Text, atoms: Collection[str] = FUNCTIONS) -> Expr:
    """Read one expression; :class:`~mmopt.errors.ProgramError` shows what cannot be read.

    ``atoms`` are the names that can be called.
    """
    reader = _Reader(text, atoms)
    return reader.read(reader.tree())


def parse_relation(text: Text, *, strict: bool = False) -> Relation:
    """Read ``left op right``; ``strict``: op may also be ``<`` or ``>``."""
    relations = [token for token in text.outer if token.text in RELATIONS]
    text.require(relations, "a constraint is a relation", "write <=, >= or == between numbers, >> 0 for psd")
    op = relations[0]
    for second in relations[1:]:
        for each in (t for t in text.outer if op.end <= t.start < second.start and t.text in ("if", "or")):
            text.fail_at(each, *PYTHON_WORDS[each.text])
        both = [t for t in text.outer if t.text in (",", "and") and op.end <= t.start < second.start]
        end, start = (both[0].start, both[0].end) if both else (second.start, op.end)
        lines = f"two lines: {text.cut(text.start, end).text} and {text.cut(start, text.end).text}"
        joined = (op.text + second.text) * (op.end == second.start)  # => and =>>
        turned = next((r for r in ("!", ">>", "<<", ">", "<", "=") if r in joined), "").ljust(2, "=")
        text.fail_at(
            second,
            f"a second relation '{second.text}' in one constraint",
            f"write {turned if joined else lines}",
        )
    if op.text in REFUSED and not (strict and op.text in STRICT):
        text.fail_at(op, *REFUSED[op.text])
    left, right = text.cut(text.start, op.start), text.cut(op.end, text.end)
    for side, word in ((left, "before"), (right, "after")):
        if not side.text:
            text.fail_at(op, f"nothing stands {word} '{op.text}'", "a constraint is a relation of two sides")
    return Relation(parse_expr(left), op.text, parse_expr(right), text.place)


def parse_dim(text: Text) -> Dim:
    """Read a dimension: names, whole numbers, + - *."""
    reader = _Reader(text, ())

    if not text.text:
        text.fail_at(None, "a dimension is missing here", "for example n or 2*n")
    with placed(text.source.locate(text.place)):
        return reader.dim(reader.tree())


def parse_call(text: Text) -> tuple[str, Span, tuple[tuple[str, Expr], ...]]:
    """Read ``solve(program, Q=…)``: the program's name, its span, and the named arguments."""
    reader = _Reader(text, FUNCTIONS)
    tree = reader.tree()
    if not isinstance(tree, ast.Call) or len(tree.args) != 1 or not isinstance(tree.args[0], ast.Name):
        text.fail("a step that solves names one program, then its data", "write: solve(program, Q=…)")
    program = tree.args[0]
    arguments = tuple((plain(str(k.arg)), reader.read(k.value)) for k in tree.keywords)
    return program.id, reader.span(program), arguments


# How strongly texts hold together (``Atom.binds``).
POSTFIX = ATOMS["transpose"].binds
NUMBER = POSTFIX - 1  # 2.T would read as the number "2." and a name
CALL = ATOMS["abs"].binds


def number_text(value: float) -> str:
    """A number as people write it; reading it gives the same float."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def to_source(expr: Expr) -> str:
    """The expression in the language itself; reading it gives an equal tree."""
    return _text_and_strength(expr)[0]


def _text_and_strength(expr: Expr) -> tuple[str, int]:
    """The text of an expression, and how strongly it holds together."""
    match expr:
        case Number(value=value):
            return number_text(value), NUMBER
        case Name(id=name):
            return name, CALL
        case Index(base=base, items=items):
            inside = ", ".join(":" if i is None else to_source(i) for i in items)
            return f"{_operand(base, lambda b: b >= NUMBER)}[{inside}]", POSTFIX
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
    """Operands as text: most group from the left, ``**`` from the right; its exponent may have a minus."""
    binds = ATOMS[name].binds
    if len(args) == 1:
        return [_operand(args[0], lambda b: b >= binds)]
    if name == "pow":
        minus = ATOMS["neg"].binds
        return [_operand(args[0], lambda b: b > binds), _operand(args[1], lambda b: b >= binds or b == minus)]
    return [_operand(args[0], lambda b: b >= binds), _operand(args[1], lambda b: b > binds)]


def _operand(expr: Expr, fits: Callable[[int], bool]) -> str:
    """The text of an operand, in brackets where its strength does not fit."""
    text, binds = _text_and_strength(expr)
    return text if fits(binds) else f"({text})"
