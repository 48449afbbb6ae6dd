"""The statements inside a section: declarations, assignments, constraints, steps.

A constraint may have a clause with the indices for which it holds.
"""

import ast
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from mmopt.errors import suggest
from mmopt.language.atoms.expression_types import Dim
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.names_from_elsewhere import kind_instead
from mmopt.language.syntax.parse_and_write_expressions import (
    COMPARED,
    parse_call,
    parse_dim,
    parse_expr,
    parse_relation,
)
from mmopt.language.syntax.program_sections import statements
from mmopt.language.syntax.source_text import PYTHON_WORDS, Source, Text, Token, plain
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Assignment,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Family,
    Index,
    Multiplier,
    Name,
    Relation,
    Repeat,
    Span,
    Start,
    Step,
    SubProgram,
    walk,
)

# Kinds of what is declared: the number of dimensions in the brackets.
KINDS = {"scalar": 0, "dim": 0, "vector": 1, "matrix": 2, "psd": 2, "symmetric": 2}
EXAMPLES = {
    "scalar": "alpha: scalar",
    "dim": "k: dim = 2*n",
    "vector": "c: vector[m]",
    "matrix": "W: matrix[m, n]",
    "psd": "X: psd[n, n]",
    "symmetric": "M: symmetric[n, n]",
}
RESERVED = {
    "alternate",
    "dual",
    "for",
    "in",
    "inf",
    "norm",
    "objective",
    "on",
    "repeat",
    "solve",
    "start",
    "until",
}


def split_at(text: Text, word: str) -> tuple[Text, Text | None]:
    """The statement before and after the first ``word`` outside brackets."""
    for token in text.outer:
        if token.text == word:
            return text.cut(text.start, token.start), text.cut(token.end, text.end)
    return text, None


def string_value(text: Text) -> str:
    """The one string of a statement."""
    text.require([token.kind for token in text.tokens] == ["string"], 'a text in quotes is expected: "…"')
    return _unquote(text, text.tokens[0])


def _unquote(text: Text, token: Token) -> str:
    """The text in quotes that a token is."""
    try:
        return str(ast.literal_eval(token.text))
    except (SyntaxError, ValueError):
        text.fail_at(token, "this text in quotes cannot be read", "write \\\\ for a backslash")


def name_of(text: Text) -> str:
    """The one name of a text; words of the language and of Python are refused."""
    word = text.text
    text.require(
        not keyword.iskeyword(word),
        f"'{word}' is a word of Python and cannot be a name",
        PYTHON_WORDS[word][1] if word == "lambda" else "",
    )
    text.require(
        word.isidentifier(),
        f"'{word}' is not a name" if word else "a name is missing here",
        "letters, digits and _, not beginning with a digit",
    )
    text.require(
        plain(word) not in {*ATOMS, *RESERVED}, f"'{word}' is a word of the language and cannot be a name"
    )
    return plain(word)


def is_declaration(text: Text) -> bool:
    """Whether the statement reads ``name: kind …``."""
    return [token.text for token in text.tokens[1:2]] == [":"] and text.tokens[0].kind == "name"


def _parts(text: Text, start: int, end: int, depth: int = 0) -> list[Text]:
    """The parts between the commas inside ``depth`` brackets."""
    commas = [t for t in text.tokens if t.text == "," and t.depth == depth and start <= t.start < end]
    starts, ends = [start, *(t.end for t in commas)], [*(t.start for t in commas), end]
    return [text.cut(a, b, depth) for a, b in zip(starts, ends, strict=True)]


def listed(text: Text) -> list[Text]:
    """The parts between the commas of a text; none of an empty one."""
    return [part for part in _parts(text, text.start, text.end) if part.text]


def multipliers(text: Text) -> list[Multiplier]:
    """Read declarations with ``from dual(name)`` or ``from expression``, separated by commas."""
    out = []
    for part in listed(text):
        left, right = split_at(part, "from")
        declared = declaration(left)
        tokens = right.tokens if right is not None else ()
        words = [token.text for token in tokens]
        if right is None:
            out.append(Multiplier(declared))
        elif words[:2] != ["dual", "("]:
            out.append(Multiplier(declared, start=parse_expr(right)))
        elif len(words) in (4, 9) and tokens[2].kind == "name":  # dual(name), or dual(name)[i, i]
            block = _diagonal_block(right, words[4:]) if len(words) == 9 else None
            out.append(Multiplier(declared, plain(words[2]), right.at(tokens[2]), block=block))
        else:
            right.fail("a multiplier starts from a constraint", "write: from dual(name)")
    return out


def _diagonal_block(text: Text, words: list[str]) -> int:
    """The number i of ``[i, i]``."""
    _, first, _, second, _ = words
    text.require(
        words[::2] == ["[", ",", "]"] and first == second and first.isdigit(),
        "a multiplier of a psd block is one of a diagonal block",
        "write: dual(name)[1, 1]",
    )
    return int(first)


def start(text: Text) -> Start:
    """Read ``name: X = expression, Y = expression``, or ``random`` alone."""
    head, rest = split_at(text, ":")
    text.require(
        rest is not None or head.text == "random",
        "a start has a name and values",
        "write: flat: X = eye(n), or random",
    )
    return Start(name_of(head), tuple(map(assignment, listed(rest))) if rest is not None else (), head.place)


def declaration(text: Text) -> Declaration:
    """Read ``name: kind[dims] sign = source "doc"``."""
    head, rest = split_at(text, ":")
    if rest is None:
        name, _, value = text.text.partition(
            "="
        )  # of ``x = cp.Variable(n, nonneg=True)`` the last word counts
        hints = [kind_instead(w, f"{name}:{value}") for w in re.findall(r"(\w+)(?=\(|=True)", value)]
        text.fail("a declaration is expected", ["write: name: matrix[m, n]", *filter(None, hints)][-1])
    name = name_of(head)
    tokens = rest.tokens
    kind = tokens[0].text if tokens else ""
    if kind not in KINDS:
        rest.fail_at(
            tokens[0] if kind else None,
            f"there is no kind '{kind}'" if kind else "a kind is missing here",
            kind_instead(kind, text.text) or suggest(kind, KINDS),
        )
    parts: list[Text] = []
    at = 1
    if [t.text for t in tokens[1:2]] == ["["]:
        at = next(i for i, t in enumerate(tokens) if i > 1 and t.text == "]" and t.depth == 0)
        parts = _parts(rest, tokens[1].end, tokens[at].start, depth=1)
        at += 1
    dims, spans = tuple(map(dimension, parts)), tuple(part.place for part in parts)
    if len(dims) != KINDS[kind]:
        plural = f"{KINDS[kind] or 'no'} dimension{'s' * (KINDS[kind] != 1)}"
        rest.fail_at(tokens[0], f"'{kind}' takes {plural}, not {len(dims)}", f"for example {EXAMPLES[kind]}")
    sign = source = doc = ""
    source_span: Span | None = None
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.text in (">=", ">", "<=", "<") and not sign:
            if token.text not in (">=", ">") or [t.text for t in tokens[at : at + 1]] != ["0"]:
                rest.fail_at(token, "a sign is '>= 0' or '> 0'", "other limits are constraints")
            sign, at = token.text, at + 1
        elif token.text == "=" and not source:
            words = list(takewhile(lambda t: t.kind == "name" or t.text == ".", tokens[at:]))
            # A call such as np.array([[1, 2]]) is no source.
            for number in tokens[at : at + 1] * (
                not words or [t.text for t in tokens[at + len(words) :][:1]] == ["("]
            ):
                rest.cut(number.start, rest.end).fail(
                    "what is given has no numbers here",
                    "write them where they are used, or under 'let': A = [[1, 2], [3, 4]], b = [[1], [2]]; a "
                    "number, under 'parameter': c = 2",
                )
            if not words:
                rest.fail_at(token, "a source is missing after '='", "for example workload.matrix")
            source, source_span = "".join(t.text for t in words), rest.span(words[0].start, words[-1].end)
            at += len(words)
        elif token.kind == "string" and not doc:
            doc = _unquote(rest, token)
        else:
            rest.fail_at(
                token,
                f"'{token.text}' cannot stand here in a declaration",
                kind_instead(token.text, text.text)
                or 'write: name: kind[dimensions] >= 0 = source "what it is"',
            )
    return Declaration(name, kind, dims, head.place, sign, source, doc, spans, source_span)


def dimension(text: Text) -> Dim:
    """Read a dimension, whose names are none of the language's words."""
    for token in text.tokens:
        if token.kind == "name":
            name_of(text.cut(token.start, token.end))
    return parse_dim(text)


def assignment(text: Text) -> Assignment:
    """Read ``name = expr`` or ``name: kind[dims] = expr``."""
    head, right = split_at(text, "=")
    if right is None:
        text.fail("an assignment is expected", "write: name = expression")
    declared = declaration(head) if is_declaration(head) else None
    return Assignment(
        declared.name if declared else name_of(head),
        parse_expr(right),
        declared.span if declared else head.place,
        declared,
    )


def step(text: Text) -> Step:
    """Read ``name = solve(program, Q=…)``, ``name = expression``, or a block that is repeated."""
    if text.tokens[0].text in ("repeat", "alternate"):
        return _loop(text)
    name, right = split_at(text, "=")
    if right and [token.text for token in right.tokens[:2]] == ["solve", "("]:
        program, span, arguments = parse_call(right)
        return SubProgram(name_of(name), program, arguments, name.place, span)
    return assignment(text)


def _loop(text: Text) -> Repeat:
    """Read ``repeat 10 until relation:`` or ``alternate 10:``, and the steps below it."""
    word = text.tokens[0]
    colon = next((t for t in text.outer if t.text == ":"), None)
    if colon is None:
        text.fail_at(
            word, f"a ':' is missing after '{word.text} …'", f"write: {word.text} 10: and steps below"
        )
    times, until = split_at(text.cut(word.end, colon.start), "until")
    if not times.text:
        text.fail_at(word, f"'{word.text}' says how often at most", f"write: {word.text} 10:")
    if until is not None:
        until.require(
            word.text != "alternate",
            "'alternate' ends by itself, when the objective of its last step falls no more",
            "write 'repeat' for another end",
        )
    block = statements(replace(text, start=colon.end, whole_tokens=text.tokens))
    steps = [replace(each, whole_tokens=each.tokens) for each in block]
    if not steps:
        text.fail_at(word, f"'{word.text}' has no steps", "indent them deeper, below it")
    return Repeat(
        parse_expr(times),
        tuple(map(step, steps)),
        text.at(word),
        parse_relation(until) if until is not None else None,
        word.text == "alternate",
    )


CONDITIONS = tuple(COMPARED.values())  # the relations of conditions
UNSAID = "?"  # begins the dimension of an index whose range the clause does not state


def parse_constraint(text: Text, *, strict: bool = False) -> Constraint:
    """Read ``name: left op right``, where the name may be absent; of a family also ``for j in m``.

    A family may have several indices, and a condition. ``strict``: without a family op may be ``<`` or ``>``.
    """
    head, clause = split_at(text, "for")
    name, relation = split_at(head, ":") if is_declaration(head) else (None, head)
    whole = parse_relation(relation or head, strict=strict and clause is None)
    bare = Constraint(name_of(name) if name else "", whole, (name or head).place)
    if clause is None:
        return bare
    families, where = clause_of(clause, bare.relation)
    if len(families) == 1 and not where:
        return replace(bare, family=families[0])
    sides = (bare.relation.left, bare.relation.right)
    left, right = (Entries(side, families, where, clause.place) for side in sides)
    return replace(bare, relation=replace(bare.relation, left=left, right=right))


def clause_of(clause: Text, relation: Relation) -> tuple[tuple[Family, ...], tuple[Relation, ...]]:
    """Read ``j in m``, ``i in n, j in m`` (or ``i in n for j in m``), ``i, j in n if |i - j| >= b``.

    Or the condition alone: then the indices are the names by which the relation takes entries, and run over
    the declared dimensions.
    """
    runs, condition = split_at(clause, "if")
    unsaid, hint = "a family of constraints says over what it runs", "write: for j in m"
    if condition is None and "in" not in [t.text for t in clause.outer]:
        clause.require(any(t.text in CONDITIONS for t in clause.outer), unsaid, hint)
        runs, condition = clause.cut(clause.start, clause.start), clause
    families: list[Family] = []
    waiting: list[Text] = []  # indices whose range is yet to come: i of ``i, j in n``
    for part in _ranges(runs):
        index, dim = split_at(part, "in")
        waiting.append(index)
        if dim is None:
            continue
        numbers = re.fullmatch(r"range\(([^(),]+)\)", dim.text)
        run = f"{index.text} in {numbers[1]}" if numbers else "j in m"
        dim.require("(" not in dim.text, "a family runs over a dimension", f"write: for {run}")
        families += [Family(name_of(each), dimension(dim), each.place) for each in waiting]
        waiting = []
    for index in waiting:
        index.fail(unsaid, hint)
    if condition is not None and not families:
        families = [
            Family(item.id, Dim.of(UNSAID + item.id), clause.place)
            for item in dict.fromkeys(
                item
                for side in (relation.left, relation.right)
                for node in walk(side)
                if isinstance(node, Index)
                for item in node.items
                if isinstance(item, Name)
            )
        ]
    if len(families) == 1 and condition is None:
        families = [replace(families[0], span=clause.place)]
    return tuple(families), () if condition is None else (_condition(condition),)


def _ranges(runs: Text) -> Iterator[Text]:
    """The ranges between commas, and after a further ``for``."""
    for part in listed(runs):
        rest: Text | None = part
        while rest is not None:
            one, rest = split_at(rest, "for")
            if not one.text:  # no name: the message is about the whole
                yield part
                break
            yield one


def _condition(text: Text) -> Relation:
    """Read ``left < right``, where a side may be ``|i - j|``."""
    op = next((token for token in text.outer if token.text in CONDITIONS), None)
    if op is None:
        text.fail("a condition on indices is one relation", "for example: if |i - j| >= b")

    def side(part: Text) -> Expr:
        bars = [token for token in part.tokens if token.text == "|"]
        if len(bars) == 2 and part.text[0] == part.text[-1] == "|":
            return Apply("abs", (parse_expr(part.cut(bars[0].end, bars[1].start)),), part.place)
        return parse_expr(part)

    left, right = (side(text.cut(*ends)) for ends in ((text.start, op.start), (op.end, text.end)))
    return Relation(left, op.text, right, text.place)


def with_dimensions(c: Constraint, declared: Mapping[str, Declaration], source: Source) -> Constraint:
    """The constraint with the dimensions of the indices whose ranges its clause does not state."""
    left, right = c.relation.left, c.relation.right
    if not (isinstance(left, Entries) and isinstance(right, Entries)):
        return c
    families = tuple(
        replace(f, dim=_declared_range(f, left, right, declared, source))
        if f.dim.name.startswith(UNSAID)
        else f
        for f in left.families
    )
    sides = replace(left, families=families), replace(right, families=families)
    return replace(c, relation=replace(c.relation, left=sides[0], right=sides[1]))


def _declared_range(
    f: Family, left: Entries, right: Entries, declared: Mapping[str, Declaration], source: Source
) -> Dim:
    """The dimension of the first array whose entries an index counts."""
    for side in (left.body, right.body):
        for node in walk(side):
            if isinstance(node, Index) and isinstance(node.base, Name) and node.base.id in declared:
                for item, dim in zip(node.items, declared[node.base.id].dims, strict=False):
                    if isinstance(item, Name) and item.id == f.index:
                        return dim
    source.fail(f.span, f"nothing says over what '{f.index}' runs", f"write: for {f.index} in n if …")
