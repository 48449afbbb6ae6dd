"""The program language: how an optimisation is written, checked, evaluated and printed.

A program is a text that reads like the paper it comes from::

    program l2_strategy
    title  "Least total error under (epsilon, delta)-differential privacy"
    given
        W: matrix[r, n] = workload.root    "the queries up to rotation"
    choose
        X: psd[n, n]                       "strategy Gram matrix A.T @ A"
    minimize
        trace(W @ inv(X) @ W.T)
    subject to
        sensitivity: diag(X) <= 1
    repair
        X = X / max(diag(X))
    strategy
        factor(X) norm 2
    certificate d: vector[n] >= 0 from dual(sensitivity)
        nuclear(W @ diag(sqrt(d)))**2 / sum(d)

``Program.parse(text)`` reads a text (a notebook cell), ``Program.load(name_or_path)`` a shipped
program or a file. ``check(program)`` finds shapes and curvature before any number is known. Every
mistake is an :class:`mmopt.errors.ProgramError` with file, line, column and what to do.

In Python
---------
What has no source is passed by its name, as ``givens``; what is chosen comes back under ``variables``::

    s = solve(program=Program.parse(text), givens={"a": a})    # a program without a workload
    s = solve(workload, program, givens={"a": a})              # one for the queries of a workload
    s.variables["X"], s.multipliers["sensitivity"]             # by the names under choose, and of the lines
    s.objective, s.bound, s.gap

What other libraries do with arrays is written as on paper: a sum has one or two indices,
``sum(C[i, j] * x[i, j] for i in m, j in n)``, an outer product is ``[[u]] @ [[v]].T``, a matrix of ones
``[[ones(m)]] @ [[ones(n)]].T``.

Sections
--------
A section begins at the left margin; what is indented below belongs to it. A statement goes on while
a bracket is open, or in lines indented deeper. ``#`` begins a comment.

program, title, source      name of the program; title and paper in quotes
class                       convex (default), rank, smooth, closed form or procedure (see Classes)
language, formulation of    language 1; the program of which this is another form
about, proof                words. In them, and in a declaration's quotes, mathematics may stand between
                            backticks: an expression, or some with relations between them (``X = A.T @ A``),
                            where a power may be ``D^(1/2)``, and names that the program lacks are of one
                            letter or Greek
given                       ``name: kind = source "what it is"``; without a source the caller passes it
parameter                   ``k: dim = 2*n``, ``t = 0.5`` or ``u: vector[n] = ones(n)``: a default
let                         ``name = expression`` of what is given, or (a way of writing) of what is chosen
require                     relations that what is given has to satisfy, also ``<`` and ``>`` (see Curvature)
choose                      ``name: kind``: what is optimised
minimize, maximize          one number, convex or concave
subject to                  ``name: left <= right for j in m``; relations ``<= >= ==``, and ``>> <<`` in
                            the order of symmetric matrices (``X >> 0``: psd). Numbers may be compared for
                            two indices, with a condition (see Indices)
steps                       (procedure) see Procedures
start                       (smooth) where to search from: ``name: X = expression, …``, or ``random``
search                      (rank) parameters of the heuristic, changed as others are: ``penalty = 1``, first
                            weight of the trace (3 times it in every second start), times which
                            ``growth = 1.5`` where it helps no more; a residual up to ``zero = 1e-6``
                            counts as zero; ``rounds = 40`` of each start
repair                      assignments that make a solver's point feasible, in order
value                       the objective on a common scale: ``objective**2 / 4``
strategy, covariance        what the solution means: ``factor(X) norm 2``; ``Sigma on B``. Without either a
                            program is solved and bounded, and nothing can be released
neighbours                  what the guarantee is for: ``add-remove`` a row (default), ``replace-one``,
                            ``rows k`` of one person, or ``participation separation b at most k``: of the
                            steps of a stream, the cells of its one attribute in order, a person is in at
                            most k, any two at least b apart, with one row in each, added or removed
from strategy               ``A: matrix[p, n]``, then what is chosen in terms of it: how a strategy that came
                            from elsewhere becomes a point of the program
certificate                 multipliers ``d: vector[n] >= 0 from dual(name)``, then a bound for any: a lower
                            one on what is minimized, an upper one on what is maximized. That of an equality
                            ``a == b`` is free (``y: vector[m] from dual(name)``: y @ (a - b) is added to what
                            is minimized, or taken from what is maximized), that of ``X >> Y`` a psd matrix
                            (``Z: psd[n, n] from dual(name)``), of a line of blocks a diagonal block
                            (``dual(name)[1, 1]``). A multiplier may start from the point (``Y: matrix[r, n]
                            from W @ inv(X)``). The strategy may use multipliers. Without one a solve of
                            a convex program reads a bound off its lines
bound                       ``l2_strategy``: its lower bound on total error, over all strategies; in a
                            procedure also a program of one of its steps

Classes
-------
convex        what is minimized and the constraints are convex; a conic solver finds the best point
rank          convex, and one constraint ``rank(Z) == p``; a heuristic, whose status says if p was reached
smooth        not convex, but every atom has a gradient; a local search from several starts
closed form   nothing is chosen: ``let`` and ``strategy``
procedure     ``steps`` that solve other programs

Procedures
----------
A step is ``name = solve(program, Q=…)``, an assignment, or a block. After a solve ``name.strategy``,
``name.objective``, every chosen ``name.X`` and the multipliers ``name.constraint`` are known. Blocks have
their steps indented below them: ``repeat 10 until a <= b:`` (at most 10 times, the relation looked at before
each), ``alternate 10:`` (until the objective of the last step falls no more). A smooth program starts
from an earlier step with ``solve(program, start=name)``.

Kinds
-----
scalar, vector[n], matrix[m, n], symmetric[n, n], psd[n, n] (symmetric positive semidefinite), and dim.
``>= 0`` after a kind says that every entry is nonnegative, ``> 0`` positive. A dimension is a sum or
product of names and whole numbers; the givens introduce the names. Sources: see ``SOURCES``.

Expressions
-----------
Python's grammar with numpy's meaning: ``+ -`` and ``* /`` entry by entry, ``@`` the matrix product,
``x**2`` a power with an exponent that is given, ``X.T``, ``W[j, :]`` (a row), ``B[:, i]`` (a column), and
``[[A, B], [C, D]]`` a block matrix, in which a vector is a column and ``v.T`` a row. Vectors and numbers
below each other, ``[[x], [t]]``, are a vector. With a line ``Q == -Q.T`` the matrix ``[[P, -Q], [Q, P]]`` is
symmetric: where it is psd, so is the Hermitian matrix P + iQ. For a symmetric ``D >= 0`` the Laplacian
``diag(sum(D, axis=1)) - D`` is psd.

Indices
-------
``X[0, 3]`` and ``x[2]`` are entries, counted from 0; ``W[j, :]`` is a row. An index may be ``i + 1``. ::

    X[i, j] == 0 for i, j in n if |i - j| >= b        a constraint for each pair; also ``for |i - j| >= b``
    X[i, j] >= 0 for i in n for j in m                 the same as ``for i in n, j in m``, also in sums
    x[i] <= x[i + 1] for i in n - 1
    sum(X[i, j]**2 for i in n, j in n if i != j)       one number; ``for i, j in n`` is the same

A condition is one relation (``<= >= == < > !=``) between numbers that are given; in brackets write
``abs(i - j)``. It is decided for the numbers themselves, also where floats would round a side: a 1/3 that is
passed is a little less than a third, so ``3 * v[i] >= 1`` fails for it. Where sides made of given numbers by
``+ - * /`` and abs are equal up to rounding, fractions decide; where others are, also those of ``let``, the
program is refused. Norms take entries of one index as sums do; max and min too, without a condition. A line
for all pairs has a matrix of multipliers, zero where its condition does not hold.

Atoms
-----
sum, max, min    of all entries; ``axis=0`` one per column, ``axis=1`` one per row. max is convex, min
                 concave; ``max(a, b)`` of two or more entry by entry
abs, sqrt        entry by entry; convex; concave
exp, log         entry by entry; convex; concave
norm             ``norm(x)`` of a vector, ``norm(x, 1)``, ``norm(x, inf)``; with an axis one per column or row
                 of a matrix; ``norm(X, fro)`` of a matrix; convex, and rising with entries that are >= 0
huber            ``huber(x)``, ``huber(x, 2)``: x**2 up to 1 (2), then straight, entry by entry; convex
x.T @ P @ x      a quadratic form, with P given and psd (see Curvature), also of an affine expression,
                 ``(A @ x - b).T @ P @ (A @ x - b)``; ``x @ x``; ``trace(X.T @ P @ X)``; convex
quad_over_lin    ``quad_over_lin(x, y)``: the sum of squares of x over a number y > 0; convex in both together
matrix_frac      ``matrix_frac(X, P)`` with P psd: ``trace(X.T @ inv(P) @ X)``, of a vector
                 ``x.T @ inv(P) @ x``, as it may also be written; convex in both together
geo_mean         the n-th root of the product of n entries; concave
sum_largest      ``sum_largest(x, k)``: the sum of the k largest entries; ``lambda_sum_largest(X, k)``: of the
                 k largest eigenvalues; convex. ``sum_smallest`` and ``lambda_sum_smallest`` are concave
cumsum, diff     sums of the first entries of a vector; differences x[i + 1] - x[i]
kron             ``kron(A, B)``: Kronecker product of two matrices, one of them given
entropy          -x log(x), entry by entry; concave. ``rel_entropy(x, y)`` is x log(x / y); convex in both
rel_entropy      together
logistic         log(1 + exp(x)), as it may also be written, entry by entry; convex
logsumexp        log(sum(exp(x))), of all entries or along an axis: a soft maximum; convex
trace, diag      diag of a vector is a diagonal matrix; both keep the curvature of a matrix
inv              matrix inverse; of a psd matrix convex and decreasing in the order of psd matrices
root             square root of a psd matrix; concave and increasing in that order
nuclear          sum of the singular values; convex; ``sigma_max`` the largest of them; convex
sigma_max
lambda_max       largest eigenvalue of a symmetric matrix; convex; lambda_min the smallest; concave
lambda_min
logdet           logarithm of the determinant of a psd matrix; concave and increasing in that order
eye, ones        identity matrix eye(n), vector of ones ones(n); an outer product is ``[[u]] @ [[v]].T``
factor           F with F.T @ F equal to a psd matrix; for what is evaluated, not optimised, as are
pinv, rank       pseudo-inverse and rank,
polar            the orthogonal matrix nearest to a square one (in smooth programs also optimised),
toeplitz         ``toeplitz(a)``: lower-triangular, the same along each diagonal (likewise),
stack, used_rows ``stack(A, B)`` one on the other, ``used_rows(Q, a)`` the rows of Q whose amount is more than
                 n * 2**-52 times the largest of the n amounts,
row_basis        independent rows that span those of a matrix: the identity where its columns are independent,
consecutive      ``consecutive(e, 8)`` groups of 8 consecutive entries, one a row of 0 and 1; with
leading          ``leading(e, 4)`` the first 4 are groups of one and the others one group,
windows          ``windows(e, 8)`` all runs of 8 consecutive entries, which overlap,
support          1 where an entry is positive and more than a thousandth of the largest, else 0.
                 Where rounding might change what used_rows, row_basis, support or the groups choose, the
                 figures that depend on it are estimated, not proved

Curvature
---------
Entry by entry the rules are those of disciplined convex programming. A matrix that is curved as a
whole (``inv``, ``root``, and sums of them) becomes an ordinary convex or concave expression by
``trace(F)``, ``diag(F)``, ``M.T @ F @ M``, or ``trace(P @ F)`` with P psd: declared so, written W.T @ W, or
a matrix of up to 40 rows of numbers that is proved psd.

What is given has a sign where it is declared, where its numbers are written out (``1 - 0.95``), or where it
follows from ``require``: after ``beta < 1`` that of ``2 * (1 - beta)`` is known, after ``u >= v`` that of
``u - v``. Such lines have no ``for``, and are then proved for the numbers. An exponent of what is chosen is
made of numbers and of scalars that are given, by ``+ - * /``: ``abs(x)**p`` is convex after ``p >= 1``;
``x**p`` of x >= 0 is concave after ``p >= 0`` and ``p <= 1``, and convex after ``p <= 0``.

A program of class smooth has no curvature to keep. It is searched by gradients, so every atom on what is
chosen has to have one: all but factor, pinv, rank, stack and used_rows.

Folders
-------
- ``syntax/``: text to tree
- ``atoms/``: functions and operators, a row each
- ``check/``: types and curvature, before any number is known
- ``evaluate/``: with numbers
- ``typeset.py``: LaTeX and plain text
"""

from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.expression_types import LARGEST_DIM, SCALAR, Curvature, Dim, Type, matrix
from mmopt.language.atoms.function_atoms import sparse_constant, symmetric
from mmopt.language.atoms.minorants import Near
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.curvature_survey import LineSurvey, Survey, TypedNode, survey
from mmopt.language.check.infer_types import Scope, dimension, infer, scoped, typed_parts, vector_on_diagonal
from mmopt.language.check.names_and_relations import AXES, SOURCES, rank_line
from mmopt.language.check.sections_after_constraints import START_ARGUMENT, alternates, solved_programs
from mmopt.language.check.whole_program import Checked, check, shipped, split_lets
from mmopt.language.evaluate.constraint_misses import (
    applied,
    charge,
    cleared,
    excess_with_errors,
    psd_deficit,
    rank_residual,
    sizes_of_terms,
    sizes_to_compare,
    together_at,
    undefined,
    undefined_in,
    violation,
    worst,
)
from mmopt.language.evaluate.evaluate_and_differentiate import (
    DECIDED,
    PARTIAL,
    EntryIndices,
    Memo,
    Shared,
    Tape,
    entry_indices,
    evaluate,
    evaluate_ball,
    in_rows,
    positions,
    share,
)
from mmopt.language.evaluate.number_systems import split_meaning, splits, without_form
from mmopt.language.syntax.exact_rewriting import (
    ENTRYWISE,
    TOGETHER,
    normal,
    number_of,
    sum_of_products,
    together,
    two_by_two,
    vectorised,
)
from mmopt.language.syntax.parse_and_write_expressions import STRICT, to_source
from mmopt.language.syntax.program import Program, program_names
from mmopt.language.syntax.program_sections import SEARCH, SECTIONS
from mmopt.language.syntax.syntax_tree import (
    Adoption,
    Apply,
    Assignment,
    Block,
    Certificate,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Family,
    Index,
    Meaning,
    Multiplier,
    Name,
    Number,
    Relation,
    Repeat,
    Span,
    Step,
    SubProgram,
    chain,
    children,
    is_rank,
    mentions,
    names_in,
    rewrite,
    transpose,
    walk,
)
from mmopt.language.typeset import (
    Formula,
    Sentence,
    latex_name,
    plain_name,
    plain_words,
    print_expr,
    print_relation,
    program_lines,
    prose,
    typeset_latex,
)

__all__ = [
    "ATOMS",
    "AXES",
    "DECIDED",
    "ENTRYWISE",
    "LARGEST_DIM",
    "PARTIAL",
    "SCALAR",
    "SEARCH",
    "SECTIONS",
    "SOURCES",
    "START_ARGUMENT",
    "STRICT",
    "TOGETHER",
    "Adoption",
    "Apply",
    "Assignment",
    "Atom",
    "Block",
    "Certificate",
    "Checked",
    "Constraint",
    "Curvature",
    "Declaration",
    "Dim",
    "Entries",
    "EntryIndices",
    "Expr",
    "Family",
    "Formula",
    "Index",
    "LineSurvey",
    "Meaning",
    "Memo",
    "Multiplier",
    "Name",
    "Near",
    "Number",
    "Program",
    "Relation",
    "Repeat",
    "Scope",
    "Sentence",
    "Shared",
    "Span",
    "Step",
    "SubProgram",
    "Survey",
    "Tape",
    "Type",
    "TypedNode",
    "alternates",
    "applied",
    "chain",
    "charge",
    "check",
    "children",
    "cleared",
    "dimension",
    "entry_indices",
    "evaluate",
    "evaluate_ball",
    "excess_with_errors",
    "in_rows",
    "infer",
    "is_rank",
    "latex_name",
    "matrix",
    "mentions",
    "names_in",
    "normal",
    "number_of",
    "plain_name",
    "plain_words",
    "positions",
    "print_expr",
    "print_relation",
    "program_lines",
    "program_names",
    "prose",
    "psd_deficit",
    "rank_line",
    "rank_residual",
    "rewrite",
    "scoped",
    "share",
    "shipped",
    "sizes_of_terms",
    "sizes_to_compare",
    "solved_programs",
    "sparse_constant",
    "split_lets",
    "split_meaning",
    "splits",
    "sum_of_products",
    "survey",
    "symmetric",
    "to_source",
    "together",
    "together_at",
    "transpose",
    "two_by_two",
    "typed_parts",
    "typeset_latex",
    "undefined",
    "undefined_in",
    "vector_on_diagonal",
    "vectorised",
    "violation",
    "walk",
    "without_form",
    "worst",
]
