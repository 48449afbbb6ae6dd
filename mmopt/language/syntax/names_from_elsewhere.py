"""Names from cvxpy, CVX, JuMP, numpy and scipy, each with what is written here in its place.

A row of ``INSTEAD`` is a call, or a bare name, with what replaces it: an expression, perhaps with a condition
after ", where", or a sentence that begins with "not in the language" and says what comes nearest. Arguments
stand in braces. A row without brackets gives a name or a number in place of a name. An attribute is a call of
one argument. The arguments of a row are arrays by their names: x, y vectors of n entries, A, B, C, D matrices
(m, n), X a square one, P a psd one, s and t numbers, p, k, n, m whole ones. In ``KINDS_INSTEAD`` {name} is
the name declared, {array} a scalar, vector or matrix of its dimensions and {side} the first of them.
"""

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mmopt.language.atoms.table_of_atoms import FUNCTIONS

LIBRARIES = ("cp", "cvx", "cvxpy", "linalg", "math", "np", "numpy", "scipy", "torch")
NONE = "not in the language"

INSTEAD: Mapping[str, str] = MappingProxyType(
    {
        # Other names of the same.
        "absolute": "abs",
        "amax": "max",
        "amin": "min",
        "eigmax": "lambda_max",
        "eigmin": "lambda_min",
        "entr": "entropy",
        "fabs": "abs",
        "inverse": "inv",
        "lambdamax": "lambda_max",
        "lambdamin": "lambda_min",
        "ln": "log",
        "log_det": "logdet",
        "log_sum_exp": "logsumexp",
        "max_elemwise": "max",
        "max_entries": "max",
        "maximum": "max",
        "matrix_rank": "rank",
        "min_elemwise": "min",
        "min_entries": "min",
        "minimum": "min",
        "norm_nuc": "nuclear",
        "normNuc": "nuclear",
        "nuclear_norm": "nuclear",
        "nuclearnorm": "nuclear",
        "operatornorm": "sigma_max",
        "rel_entr": "rel_entropy",
        "sigmamax": "sigma_max",
        "softplus": "logistic",
        "spectral_norm": "sigma_max",
        "sqrtm": "root",
        "sum_entries": "sum",
        "tr": "trace",
        # Constants.
        "I(n)": "eye({n})",
        "identity(n)": "eye({n})",
        "speye(n)": "eye({n})",
        "zeros([m, n])": "0 * [[ones({m})]] @ [[ones({n})]].T, where 0 is enough outside blocks",
        "zeros(m, n)": "0 * [[ones({m})]] @ [[ones({n})]].T, where 0 is enough outside blocks",
        "zeros(n)": "0 * ones({n}), where 0 is enough outside blocks",
        "ones([m, n])": "[[ones({m})]] @ [[ones({n})]].T",
        "pi": "3.141592653589793",
        "range(n)": "{n}",
        # Entry by entry.
        "cosh(x)": "(exp({x}) + exp(-{x})) / 2",
        "exp2(x)": "exp(0.6931471805599453 * {x})",
        "expm1(x)": "exp({x}) - 1",
        "hinge(x)": "max(1 - {x}, 0)",
        "hinge_loss(x)": "max(1 - {x}, 0)",
        "inv_pos(x)": "1 / {x}, where {x} is declared > 0",
        "invpos(x)": "1 / {x}, where {x} is declared > 0",
        "kl_div(x, y)": "rel_entropy({x}, {y}) - {x} + {y}",
        "log10(x)": "0.4342944819032518 * log({x})",
        "log1p(x)": "log(1 + {x})",
        "log2(x)": "1.4426950408889634 * log({x})",
        "logaddexp(x, y)": "logsumexp([[{x}, {y}]], axis=1), where both are vectors; for numbers, without "
        "the axis",
        "mul_elemwise(x, y)": "{x} * {y}",
        "multiply(x, y)": "{x} * {y}",
        "neg(x)": "max(-{x}, 0)",
        "pos(x)": "max({x}, 0)",
        "pow(x, p)": "{x}**{p}",
        "pow_abs(x, p)": "abs({x})**{p}",
        "pow_p(x, p)": "{x}**{p}",
        "pow_pos(x, p)": "max({x}, 0)**{p}",
        "power(x, p)": "{x}**{p}",
        "reciprocal(x)": "1 / {x}, where {x} is declared > 0",
        "relu(x)": "max({x}, 0)",
        "scalene(x, s, t)": "{s} * max({x}, 0) + {t} * max(-{x}, 0)",
        "square(x)": "{x}**2",
        "square_pos(x)": "max({x}, 0)**2",
        # Of all entries.
        "average(x)": "sum({x}) / n, where n is the number of entries of {x}",
        "fro(A)": "norm({A}, fro)",
        "mean(x)": "sum({x}) / n, where n is the number of entries of {x}",
        "mixed_norm(A, 2, 1)": "sum(norm({A}, axis=1))",
        "norm1(x)": "norm({x}, 1)",
        "norm2(x)": "norm({x})",
        "normInf(x)": "norm({x}, inf)",
        "norm_1(x)": "norm({x}, 1)",
        "norm_2(x)": "norm({x})",
        "norm_fro(A)": "norm({A}, fro)",
        "norm_inf(x)": "norm({x}, inf)",
        "ptp(x)": "max({x}) - min({x})",
        "std(x)": "norm({x} - sum({x}) / n) / sqrt(n), where n is the number of entries of {x}",
        "sum_square(x)": "sum({x}**2)",
        "sum_squares(x)": "sum({x}**2)",
        "sumsq(x)": "sum({x}**2)",
        "sumsquares(x)": "sum({x}**2)",
        "total_variation(x)": "norm(diff({x}), 1), where {x} is a vector",
        "tv(x)": "norm(diff({x}), 1), where {x} is a vector",
        "var(x)": "sum(({x} - sum({x}) / n)**2) / n, where n is the number of entries of {x}",
        # Products and matrices.
        "array(x)": "{x}, where a column is [[1], [2]]; numbers are written under 'let', or passed as data",
        "bmat([[A, B], [C, D]])": "[[{A}, {B}], [{C}, {D}]]",
        "concatenate([x, y])": "[[{x}], [{y}]]",
        "diagonal(X)": "diag({X})",
        "dot(A, x)": "{A} @ {x}",
        "hcat(A, B)": "[[{A}, {B}]], where both are matrices, or vectors that become two columns",
        "hstack([A, B])": "[[{A}, {B}]], where both are matrices; vectors end to end are [[{A}], [{B}]]",
        "inner(x, y)": "{x} @ {y}, where both are vectors",
        "matmul(A, x)": "{A} @ {x}",
        "outer(x, y)": "[[{x}]] @ [[{y}]].T",
        "quad_form(x, P)": "{x}.T @ {P} @ {x}, where {P} is psd",
        "quadform(x, P)": "{x}.T @ {P} @ {x}, where {P} is psd",
        "tr_inv(P)": "trace(inv({P}))",
        "transpose(A)": "{A}.T",
        "vcat(A, B)": "[[{A}], [{B}]]",
        "vdot(x, y)": "{x} @ {y}",
        "vstack([A, B])": "[[{A}], [{B}]], where both are matrices; for vectors, the rows are [[{A}.T], "
        "[{B}.T]]",
    }
    # What has no form here.
    | dict.fromkeys(
        ("Parameter(n)", "arange(n)", "linspace(x, y)"),
        "not in the language: declare data, for example w: vector[n], and pass them by name",
    )
    | dict.fromkeys(("ceil(x)", "floor(x)", "round(x)"), "not in the language: variables cannot be integers")
    | dict.fromkeys(
        ("cardinality(x)", "count_nonzero(x)", "nnz(x)", "norm0(x)"),
        "not in the language: a count of entries is not convex; norm({x}, 1) is, and tends to make entries 0",
    )
    | dict.fromkeys(
        ("conj(x)", "imag(x)", "real(x)"),
        "not in the language: write a complex number as its real and its imaginary part",
    )
    | dict.fromkeys(
        ("conv(x, y)", "convolve(x, y)"),
        "not in the language: toeplitz({x}) @ {y} is its first entries, for data {x} as long as {y}",
    )
    | dict.fromkeys(
        ("argmax(x)", "argmin(x)", "cos(x)", "sin(x)", "sinh(x)", "tan(x)", "tanh(x)"),
        "not in the language: it is neither convex nor concave",
    )
    | dict.fromkeys(
        ("expit(x)", "sigmoid(x)"),
        "not in the language: a sigmoid is neither convex nor concave; minus its logarithm, the logistic "
        "loss log(1 + exp(-{x})), is convex: logistic(-{x})",
    )
    | dict.fromkeys(
        ("eig(X)", "eigh(X)", "eigvals(X)", "eigvalsh(X)"),
        "not in the language: use lambda_max({X}), lambda_min({X}), trace({X}) or logdet({X})",
    )
    | dict.fromkeys(
        ("flatten(X)", "ravel(X)", "reshape(X)", "roll(X)", "upper_tri(X)", "vec(X)"),
        "not in the language: X[i, j] is an entry, W[j, :] is a row, and a sum may run over i and j",
    )
    | dict.fromkeys(
        ("len(x)", "shape(x)", "size(x)"),
        "not in the language: sizes are dimensions, as n in x: vector[n]",
    )
    | {
        "H(X)": "not in the language: write a complex matrix as two real ones; the transpose is {X}.T",
        "PSD(X)": "not in the language: write the constraint {X} >> 0",
        "SOC(t, x)": "not in the language: write the constraint norm({x}) <= {t}",
        "Variable(n)": "not in the language: variables are declared under 'choose', for example x: "
        "vector[n] >= 0",
        "cummax(x)": "not in the language: write the constraints t[j] >= x[i] for i, j in n if i <= j",
        "det(X)": "not in the language: the determinant is neither convex nor concave; logdet({X}), its "
        "logarithm, is concave where {X} is psd",
        "det_rootn(X)": "not in the language: logdet({X}) / n, its logarithm, has the same maximum point",
        "dotsort(x, y)": "not in the language: the largest entry of {x} is max({x})",
        "harmonic_mean(x)": "not in the language: minimize sum(1 / {x}) instead, which is convex",
        "log_normcdf(x)": "not in the language: there is no function of the normal distribution",
        "loggamma(x)": "not in the language: there is no gamma function",
        "lstsq(A, y)": "not in the language: choose x, and minimize norm({A} @ x - {y}); for data it is "
        "pinv({A}) @ {y}",
        "matrix_power(X, k)": "not in the language: {X} @ {X} is the square, inv({X}) the inverse, "
        "root({X}) the root",
        "median(x)": "not in the language: for data it is a t that minimizes sum(abs({x} - t))",
        "partial_trace(X)": "not in the language: it is made of sums of entries, such as sum(X[i, i] for i "
        "in n)",
        "partial_transpose(X)": "not in the language: it is made of entries X[i, j]",
        "pnorm(x, p)": "not in the language: sum(abs({x})**{p}), its power {p}, has the same minimum point",
        "prod(x)": "not in the language: sum(log({x})), its logarithm, has the same maximum point",
        "sign(x)": "not in the language: a sign is neither convex nor concave; abs({x}) is convex",
        "slogdet(X)": "not in the language: for a psd matrix its second part is logdet({X})",
        "softmax(x)": "not in the language: it is neither convex nor concave; logsumexp({x}), a soft "
        "maximum, is convex",
        "svd(X)": "not in the language: use sigma_max({X}), nuclear({X}) or norm({X}, fro)",
        "von_neumann_entr(X)": "not in the language: entropy is of entries, not of eigenvalues",
    }
)

KINDS_INSTEAD: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(
        ("Bin", "Bool", "binary", "bool", "boolean"),
        "variables cannot be integers; {name}: {array} >= 0 with a constraint {name} <= 1 is the "
        "relaxation, and its optimum is a bound",
    )
    | dict.fromkeys(
        ("Int", "int", "integer", "integers"),
        "variables cannot be integers; {name}: {array} is the relaxation, and its optimum is a bound",
    )
    | dict.fromkeys(
        ("complex", "hermitian"),
        "variables cannot be complex; choose the real part A and the imaginary part B: "
        "with a constraint B == -B.T, A + iB is psd where [[A, -B], [B, A]] is",
    )
    | dict.fromkeys(("nonneg", "nonnegative", "pos", "positive"), "write {name}: {array} >= 0")
    | dict.fromkeys(("PSD", "posdef", "sdp", "semidefinite"), "write {name}: psd[{side}, {side}]")
    | dict.fromkeys(
        ("Parameter", "Variable", "array", "continuous", "float", "number", "real", "reals", "variable"),
        "write {name}: {array}",
    )
    | dict.fromkeys(
        ("diag", "diagonal"), "write {name}: vector[{side}], and diag({name}) where the matrix is meant"
    )
)


# The name, the form and the tree of each row.
_ROWS = [(form.partition("(")[0], form, ast.parse(form, mode="eval").body) for form in INSTEAD]


def kind_instead(kind: str, declared: str) -> str:
    """A hint for a kind from elsewhere in a declaration ``name: kind[n]``; "" where no row has it."""
    name, _, rest = declared.partition(":")
    inside = re.findall(r"\w[^],)]*", (re.findall(r"[\[(]([^\])]*)", rest) or [""])[0])
    dims = [dim for dim in inside if "=" not in dim]
    array = f"{('scalar', 'vector', 'matrix')[min(len(dims), 2)]}[{', '.join(dims)}]".removesuffix("[]")
    return KINDS_INSTEAD.get(kind, "").format(name=name.strip(), array=array, side=(dims or ["n"])[0])


def instead(text: str) -> str:
    """A hint with what to write for a call, an attribute or a name from elsewhere; "" where no row has it.

    Calls from elsewhere inside are replaced too.
    """
    try:
        tree, replacing = ast.parse(text, mode="eval").body, _Replacing()
    except SyntaxError:  # a formula in prose may stand for names that Python has not
        return ""
    new = replacing.by_row(tree) if isinstance(tree, ast.Name) else replacing.visit(tree)
    if isinstance(tree, ast.Attribute) and new is tree:
        new = replacing.by_row(ast.Call(ast.Name(tree.attr), [tree.value], []))
    written = f"write {ast.unparse(new).replace(' ** ', '**')}"
    if replacing.sentence is None:
        return ""
    hint = replacing.sentence or ", where ".join(dict.fromkeys([written, *replacing.conditions]))
    return re.sub(r"\(\(([^()]*)\)\)", r"(\1)", hint)


class _Replacing(ast.NodeTransformer):
    """Replaces what comes from elsewhere, the innermost first.

    conditions : of what was replaced. sentence : of the outermost: why nothing replaces it, "" where
    something does, None where no row has it.
    """

    def __init__(self) -> None:
        self.conditions: list[str] = []
        self.sentence: str | None = None

    def visit(self, node: ast.AST) -> Any:
        self.generic_visit(node)
        match node:
            case ast.Attribute(value=ast.Name(id=base), attr=name) if base in LIBRARIES:
                return self.by_row(ast.Name(name))
            case ast.Call(func=ast.Attribute(value=base, attr=name), args=args):
                return self.by_row(ast.Call(ast.Name(name), [base, *args], node.keywords))
            case ast.Call(func=ast.Name() as func):
                return self.by_row(ast.Call(self.by_row(func), node.args, node.keywords))
        return node

    def by_row(self, node: ast.expr) -> ast.expr:
        """The node as the first row says that it fits; itself where it fits none."""
        name, words = ast.unparse(getattr(node, "func", node)), dict[str, str]()
        self.sentence = "" if name in FUNCTIONS else None
        for form, tree in ((form, tree) for first, form, tree in _ROWS if first == name):
            value, _, condition = INSTEAD[form].partition(", where ")
            if not (form == name if isinstance(tree, ast.Name) else _fits(tree, node, words)):
                words = {word: word for word in re.findall(r"\w+", form)}
                self.sentence = f"{form} is {INSTEAD[form]}".format(**words)
            elif value.startswith(NONE):
                self.sentence = INSTEAD[form].format(**words)
                return node
            else:
                self.sentence = ""
                self.conditions += [condition.format(**words)] if condition else []
                # Brackets that are not needed go when the tree is written.
                return ast.parse(value.format(**words), mode="eval").body
        return node


def _fits(row: ast.AST, node: ast.AST, words: dict[str, str]) -> bool:
    """Whether a node has the form of a row, except names; ``words`` takes what stands in place of each."""
    if isinstance(row, ast.Name) and isinstance(node, ast.expr):
        is_closed = isinstance(
            node, ast.Name | ast.Call | ast.Constant | ast.List | ast.Tuple | ast.Subscript
        )
        words[row.id] = ast.unparse(node) if is_closed else f"({ast.unparse(node)})"
        return True
    a, b = ([*ast.iter_child_nodes(each)] for each in (row, node))
    return (
        (type(row) is type(node) or (isinstance(row, ast.List) and isinstance(node, ast.Tuple)))
        and len(a) == len(b)
        and (bool(a) or ast.dump(row) == ast.dump(node))
        and all(_fits(*pair, words) for pair in zip(a, b, strict=True))
    )
