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
Data without a source are passed by name, as ``givens``. The variables come back under ``variables``::

    s = solve(program=Program.parse(text), givens={"a": a})    # a program without a workload
    s = solve(workload, program, givens={"a": a})              # one for the queries of a workload
    s.variables["X"], s.multipliers["sensitivity"]             # by the names of variables and constraints
    s.objective, s.bound, s.gap

Array operations of other libraries are written as on paper. A sum has one or two indices,
``sum(C[i, j] * x[i, j] for i in m, j in n)``. An outer product is ``[[u]] @ [[v]].T``, and a matrix of ones
is ``[[ones(m)]] @ [[ones(n)]].T``.

Sections
--------
A section begins at the left margin. The indented lines below belong to it. A statement continues while
a bracket is open, or in lines indented deeper. ``#`` begins a comment.

program, title, source      name of the program; title and paper in quotes
class                       convex (default), rank, smooth, closed form or procedure (see Classes)
language, formulation of    language 1; the program that this is another formulation of
about, proof                prose. It may contain mathematics between backticks, and so may the quotes of a
                            declaration: expressions, also with relations (``X = A.T @ A``). A power may be
                            ``D^(1/2)``. A name that is not in the program has one letter or is Greek
given                       data: ``name: kind = source "what it is"``; without a source, the caller passes it
parameter                   data with a default: ``k: dim = 2*n``, ``t = 0.5`` or ``u: vector[n] = ones(n)``
let                         ``name = expression`` of the data, or, as an abbreviation, of the variables
require                     relations that the data have to satisfy, also ``<`` and ``>`` (see Curvature)
choose                      the variables, ``name: kind``
minimize, maximize          the objective: one number, convex or concave
subject to                  constraints: ``name: left <= right for j in m``. Relations are ``<= >= ==``, and
                            ``>> <<`` in the order of symmetric matrices (``X >> 0``: psd). A constraint on
                            numbers may have two indices and a condition (see Indices)
steps                       (procedure) see Procedures
start                       (smooth) starting points: ``name: X = expression, …``, or ``random``
search                      (rank) parameters of the heuristic, with defaults: ``penalty = 1``, the first
                            weight of the trace (3 times as large in every second start); ``growth = 1.5``,
                            its factor when progress stops; ``zero = 1e-6``, up to which a residual counts as
                            zero; ``rounds = 40`` per start
repair                      assignments that make a solver's point feasible, in order
value                       the objective on a common scale: ``objective**2 / 4``
strategy, covariance        the meaning of the solution: ``factor(X) norm 2``; ``Sigma on B``. Without either,
                            a program is solved and bounded, but nothing can be released
neighbours                  the unit of the guarantee: ``add-remove`` one row (default), ``replace-one``,
                            ``rows k`` of one person, or ``participation separation b at most k``. There the
                            cells of the one attribute are the steps of a stream, in order. A person is in at
                            most k steps, any two at least b apart, with one row in each, added or removed
from strategy               ``A: matrix[p, n]``, then each variable in terms of it: it makes a strategy from
                            elsewhere a point of the program
certificate                 multipliers ``d: vector[n] >= 0 from dual(name)``, then a bound that holds for all
                            of them: a lower bound if the objective is minimized, an upper one if it is
                            maximized. The multiplier of an equality ``a == b`` is free (``y: vector[m] from
                            dual(name)``; y @ (a - b) is added to a minimized objective, or subtracted from a
                            maximized one). That of ``X >> Y`` is a psd matrix (``Z: psd[n, n] from
                            dual(name)``), and that of a block constraint a diagonal block
                            (``dual(name)[1, 1]``). A multiplier may start from the point (``Y: matrix[r, n]
                            from W @ inv(X)``). The strategy may use multipliers. Without a certificate, the
                            solve of a convex program derives a bound from its constraints
bound                       ``l2_strategy``: its lower bound on total error, over all strategies; in a
                            procedure also the program of one of its steps

Classes
-------
convex        objective and constraints are convex; a conic solver finds the optimum
rank          convex, with one constraint ``rank(Z) == p``; a heuristic, whose status says if p was reached
smooth        not convex, but every atom has a gradient; a local search from several starts
closed form   no variables: ``let`` and ``strategy``
procedure     ``steps`` that solve other programs

Procedures
----------
A step is ``name = solve(program, Q=…)``, an assignment, or a block. After a solve, ``name.strategy``,
``name.objective``, every variable ``name.X`` and the multipliers ``name.constraint`` are available. The steps
of a block are indented below it: ``repeat 10 until a <= b:`` (at most 10 times; the relation is checked
before each), ``alternate 10:`` (until the objective of the last step no longer decreases). A smooth program
starts from an earlier step with ``solve(program, start=name)``.

Kinds
-----
scalar, vector[n], matrix[m, n], symmetric[n, n], psd[n, n] (symmetric positive semidefinite), and dim.
``>= 0`` after a kind means that every entry is nonnegative, ``> 0`` that it is positive. A dimension is a sum
or product of names and whole numbers. The data introduce the names. Sources: see ``SOURCES``.

Expressions
-----------
Python's grammar with numpy's meaning: ``+ -`` and ``* /`` entry by entry, ``@`` the matrix product,
``x**2`` a power with a constant exponent, ``X.T``, ``W[j, :]`` (a row), ``B[:, i]`` (a column), and
``[[A, B], [C, D]]`` a block matrix, in which a vector is a column and ``v.T`` a row. Stacked vectors and
numbers, ``[[x], [t]]``, are a vector. With a constraint ``Q == -Q.T`` the matrix ``[[P, -Q], [Q, P]]`` is
symmetric. If it is psd, so is the Hermitian matrix P + iQ. For a symmetric ``D >= 0`` the Laplacian
``diag(sum(D, axis=1)) - D`` is psd.

Indices
-------
``X[0, 3]`` and ``x[2]`` are entries, counted from 0; ``W[j, :]`` is a row. An index may be ``i + 1``. ::

    X[i, j] == 0 for i, j in n if |i - j| >= b        a constraint for each pair; also ``for |i - j| >= b``
    X[i, j] >= 0 for i in n for j in m                 the same as ``for i in n, j in m``, also in sums
    x[i] <= x[i + 1] for i in n - 1
    sum(X[i, j]**2 for i in n, j in n if i != j)       one number; ``for i, j in n`` is the same

A condition is one relation (``<= >= == < > !=``) between constants; in brackets write ``abs(i - j)``. It is
decided for the exact numbers, even where floats would round a side: a 1/3 that is passed as data is slightly
less than a third, so ``3 * v[i] >= 1`` fails for it. Sides that are equal up to rounding are compared as
fractions if they consist of data, ``+ - * /`` and abs. Otherwise, also if they use ``let``, the program is
refused. A norm takes entries of one index, as a sum does; max and min do too, but without a condition. A
constraint for all pairs has a matrix of multipliers, which is zero where its condition fails.

Atoms
-----
sum, max, min    of all entries; ``axis=0`` one per column, ``axis=1`` one per row. max is convex, min
                 concave; ``max(a, b)`` of two or more entry by entry
abs, sqrt        entry by entry; convex; concave
exp, log         entry by entry; convex; concave
norm             ``norm(x)`` of a vector, ``norm(x, 1)``, ``norm(x, inf)``; with an axis one per column or row
                 of a matrix; ``norm(X, fro)`` of a matrix; convex, and increasing in entries that are >= 0
huber            ``huber(x)``, ``huber(x, 2)``: x**2 up to 1 (2), then linear, entry by entry; convex
x.T @ P @ x      a quadratic form, with a constant psd P (see Curvature), also of an affine expression,
                 ``(A @ x - b).T @ P @ (A @ x - b)``; ``x @ x``; ``trace(X.T @ P @ X)``; convex
quad_over_lin    ``quad_over_lin(x, y)``: the sum of squares of x over a number y > 0; convex in both together
matrix_frac      ``matrix_frac(X, P)`` with P psd: ``trace(X.T @ inv(P) @ X)``, of a vector
                 ``x.T @ inv(P) @ x``, which is also accepted; convex in both together
geo_mean         the n-th root of the product of n entries; concave
sum_largest      ``sum_largest(x, k)``: the sum of the k largest entries; ``lambda_sum_largest(X, k)``: of the
                 k largest eigenvalues; convex. ``sum_smallest`` and ``lambda_sum_smallest`` are concave
cumsum, diff     sums of the first entries of a vector; differences x[i + 1] - x[i]
kron             ``kron(A, B)``: Kronecker product of two matrices, one of them constant
entropy          -x log(x), entry by entry; concave. ``rel_entropy(x, y)`` is x log(x / y); convex in both
rel_entropy      together
logistic         log(1 + exp(x)), which is also accepted, entry by entry; convex
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
factor           F with F.T @ F equal to a psd matrix. This atom and those below are evaluated, not optimised
pinv, rank       pseudo-inverse and rank
polar            the orthogonal matrix nearest to a square one (in smooth programs also optimised)
toeplitz         ``toeplitz(a)``: lower-triangular, constant along each diagonal (also optimised there)
stack, used_rows ``stack(A, B)``: A on top of B; ``used_rows(Q, a)``: the rows of Q whose amount is more than
                 n * 2**-52 times the largest of the n amounts
row_basis        independent rows that span those of a matrix: the identity if its columns are independent
consecutive      ``consecutive(e, 8)``: groups of 8 consecutive entries, one per row, as 0 and 1
leading          ``leading(e, 4)``: the first 4 entries are groups of one, the others are one group
windows          ``windows(e, 8)``: all runs of 8 consecutive entries, which overlap
support          1 where an entry is positive and more than a thousandth of the largest, else 0.
                 If rounding might change the choice of used_rows, row_basis, support or the groups, the
                 figures that depend on it are estimated, not proved

Curvature
---------
Entry by entry, the rules are those of disciplined convex programming. A matrix that is curved as a
whole (``inv``, ``root``, and sums of them) becomes an ordinary convex or concave expression by
``trace(F)``, ``diag(F)``, ``M.T @ F @ M``, or ``trace(P @ F)`` with P psd. P has to be declared psd, written
W.T @ W, or be a matrix of up to 40 rows of numbers that is proved psd.

Data have a sign if it is declared, if their numbers are written out (``1 - 0.95``), or if it follows from
``require``: ``beta < 1`` gives the sign of ``2 * (1 - beta)``, and ``u >= v`` that of ``u - v``. Such a
requirement has no ``for``, and is proved for the actual numbers. An exponent of variables consists of numbers
and scalar data, with ``+ - * /``: ``abs(x)**p`` is convex if ``p >= 1`` is required; ``x**p`` for x >= 0 is
concave if ``p >= 0`` and ``p <= 1`` are required, and convex if ``p <= 0`` is.

A program of class smooth needs no curvature. The search uses gradients, so every atom of variables needs a
gradient: all have one but factor, pinv, rank, stack and used_rows.

Folders
-------
- ``syntax/``: text to tree
- ``atoms/``: functions and operators, one row each
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
