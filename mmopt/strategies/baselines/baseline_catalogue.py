"""Baselines by name, ``hierarchical(branching=16)``: as strategies for a workload, and their costs.

They are in the order in which they are listed: simple ones first, then by kind of workload. Left out:
Privelet's wavelet of nominal attributes and Cormode et al.'s k-d trees (they need a hierarchy of the values,
or the data), geometric budgets per level (a weighting program finds better ones for ``Q=hierarchy``),
strategies found by optimisation (they are programs).
"""

import ast
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from mmopt.errors import OptionError, TooLargeError, suggest
from mmopt.numerics.arrays import Array
from mmopt.strategies import MarginalStrategy, ProductStrategy, Strategy, StrategyForm, largest_ratio
from mmopt.strategies.baselines.attribute_baselines import (
    Baseline,
    BaselineDesign,
    Parameter,
    answers,
    buffered,
    cells,
    greedy_h,
    hierarchical,
    quadtree,
    square_root,
    wavelet,
)
from mmopt.strategies.baselines.few_attribute_baselines import (
    datacube,
    fourier,
    query_smasher,
    weighted_fourier,
    why_not_by_sector,
    why_not_datacube,
    why_not_marginals,
    why_not_residual_planner,
)
from mmopt.strategies.baselines.orthogonal_rows import orthogonal, why_not_orthogonal
from mmopt.workloads import Kron, Workload


def _needs_one_attribute(words: str) -> Callable[[Workload], str | None]:
    """The reason against workloads on several attributes; ``words``: what the baseline does with one."""

    def reason(workload: Workload) -> str | None:
        """The reason against a workload."""
        count = len(workload.domain.shape)
        return f"{words} one attribute, the workload has {count}" if count > 1 else None

    return reason


_needs_steps = _needs_one_attribute("its steps are the cells of")


def _needs_several_attributes(workload: Workload) -> str | None:
    """The reason against workloads on one attribute."""
    return "for one attribute it is hierarchical(branching=2)" if len(workload.domain.shape) < 2 else None


def _needs_other_queries_than_marginals(workload: Workload) -> str | None:
    """The reason against marginals, and why sectors are no baseline for other queries."""
    is_of_marginals = why_not_residual_planner(workload) is None
    return "for marginals it is residual_planner" if is_of_marginals else why_not_by_sector(workload)


CATALOGUE: tuple[Baseline, ...] = (
    Baseline(
        "identity",
        "Noise on every cell (input perturbation)",
        "Dwork et al., TCC 2006",
        (1, 2),
        cells,
    ),
    Baseline(
        "workload",
        "Noise on every answer (Laplace or Gaussian mechanism)",
        "Dwork et al., TCC 2006",
        (1, 2),
        answers,
    ),
    Baseline(
        "orthogonal",
        "New queries over disjoint sets of cells (orthogonal mechanism)",
        "Huang et al., CIKM 2013, Algorithms 1 and 2",
        (1,),
        orthogonal,
        reason_against=why_not_orthogonal,
    ),
    Baseline(
        "hierarchical",
        "Hierarchy of ranges of each attribute; by default with the branching of HB, and no total",
        "Qardaji et al., PVLDB 2013, section 3; with a branching: Hay et al., PVLDB 2010, section 4",
        (1,),
        hierarchical,
        (
            Parameter("branching", int, None, "parts of each block; None: that of HB", least=2),
            Parameter("root", bool, None, "whether the total is measured; None: with a branching"),
        ),
        shown=("hierarchical(branching=2)",),
    ),
    Baseline(
        "wavelet",
        "Haar wavelet of each attribute (Privelet)",
        "Xiao et al., ICDE 2010, sections IV and VI",
        (1,),
        wavelet,
    ),
    Baseline(
        "greedy_h",
        "Binary hierarchy, blocks weighted for the workload (GreedyH)",
        "Li et al., PVLDB 2014, section 5",
        (1,),
        greedy_h,
        reason_against=_needs_one_attribute("it splits"),
        depends_on_norm=True,
    ),
    Baseline(
        "quadtree",
        "Tree that splits all attributes at once",
        "Cormode et al., ICDE 2012, section 3",
        (1,),
        quadtree,
        (Parameter("branching", int, 2, "parts of each attribute's blocks", least=2),),
        reason_against=_needs_several_attributes,
    ),
    Baseline(
        "square_root",
        "Square root of the prefix sums, a noise filter (lower-triangular Toeplitz)",
        "Fichtenberger et al., ICML 2023, section 3",
        (2,),
        square_root,
        reason_against=_needs_steps,
    ),
    Baseline(
        "blt",
        "Noise filter with a few numbers of memory, best for prefix sums (buffered linear Toeplitz)",
        "Dvijotham et al., FOCS 2024",
        (2,),
        buffered,
        (Parameter("buffers", int, 3, "numbers that are remembered from step to step", least=1),),
        reason_against=_needs_steps,
    ),
    Baseline(
        "fourier",
        "Fourier basis of the asked marginals",
        "Barak et al., PODS 2007, section 3",
        (1,),
        fourier,
        reason_against=why_not_marginals,
    ),
    Baseline(
        "datacube",
        "The marginals from which the asked ones follow with the least largest variance (BMAX)",
        "Ding et al., SIGMOD 2011, section 4",
        (1,),
        datacube,
        reason_against=why_not_datacube,
        depends_on_norm=True,
    ),
    Baseline(
        "residual_planner",
        "The residuals of the asked marginals, each by itself with its own noise (ResidualPlanner)",
        "Xiao et al., NeurIPS 2023",
        (2,),
        query_smasher,
        reason_against=why_not_residual_planner,
    ),
    Baseline(
        "query_smasher",
        "Residual spaces of the queries, each by itself at its optimum (QuerySmasher)",
        "He et al., arXiv 2604.00868",
        (2,),
        query_smasher,
        reason_against=_needs_other_queries_than_marginals,
    ),
    Baseline(
        "weighted_fourier",
        "Weighted characters of the asked attributes (weighted Fourier factorisation)",
        "arXiv 2512.21499",
        (2,),
        weighted_fourier,
        reason_against=why_not_by_sector,
    ),
)

#: Short names, each for a call; they take no parameters.
ALIASES: Mapping[str, str] = MappingProxyType({"haar": "wavelet", "hierarchy": "hierarchical(branching=2)"})


@dataclass(frozen=True)
class Call:
    """A row of the catalogue with the parameters that were given, by name."""

    baseline: Baseline
    given: tuple[tuple[str, int | None], ...] = ()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.given)
        return f"{self.baseline.name}({given})" if given else self.baseline.name


def baseline_names() -> tuple[str, ...]:
    """The baselines listed and compared by default: the names, in order, and calls with parameters."""
    return tuple(text for row in CATALOGUE for text in (row.name, *row.shown))


def baseline_words() -> tuple[str, ...]:
    """All names without parameters, short ones too."""
    return (*(row.name for row in CATALOGUE), *ALIASES)


def is_baseline(text: str) -> bool:
    """Whether the text means a baseline: a known name, or anything called with parameters."""
    head, bracket, _ = text.partition("(")
    is_call = bool(bracket) and head.strip().isidentifier() and text.rstrip().endswith(")")
    return text.strip() in baseline_words() or is_call


def baseline_call(text: str) -> Call:
    """The baseline that a text names; its values are Python's numbers, True, False and None.

    Raises
    ------
    OptionError : another form, an unknown name or parameter, a parameter that is given twice, or a value of
        another type or out of range; with the nearest names.
    """
    head, given = _parsed(text)
    if head in ALIASES:
        if given:
            raise OptionError(
                f"'{head}' is short for '{ALIASES[head]}' and takes no parameters",
                hint=f"write '{baseline_call(ALIASES[head]).baseline.name}' with the parameters",
            )
        return baseline_call(ALIASES[head])
    rows = {row.name: row for row in CATALOGUE}
    if head not in rows:
        raise OptionError(f"there is no baseline '{head}'", hint=suggest(head, baseline_words()))
    row = rows[head]
    parameters = {parameter.name: parameter for parameter in row.parameters}
    for name, value in given:
        if name not in parameters:
            takes = f"takes {', '.join(parameters)}" if parameters else "takes no parameters"
            raise OptionError(
                f"'{head}' has no parameter '{name}', it {takes}", hint=suggest(name, parameters)
            )
        _check(head, parameters[name], value)
    return Call(row, tuple(given))


def _parsed(text: str) -> tuple[str, list[tuple[str, int | None]]]:
    """The name in a text, and its parameters; OptionError for another form."""
    try:
        match ast.parse(text.strip(), mode="eval").body:
            case ast.Name(id=name):
                return name, []
            case ast.Call(func=ast.Name(id=name), args=[], keywords=given):
                literals = [one for one in given if isinstance(one.value, ast.Constant | ast.UnaryOp)]
                values = {one.arg: ast.literal_eval(one.value) for one in literals if one.arg}
                if len(values) == len(given):
                    return name, list(values.items())
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass  # another form, as what no case takes
    raise OptionError(
        f"the baseline is '{text}', expected a name, or a name with parameters",
        hint="for example hierarchical(branching=16)",
    )


def _check(head: str, parameter: Parameter, value: object) -> None:
    """OptionError for a value of another type, or out of range. None is fine where it is the default."""
    if value is None and parameter.default is None:
        return
    expected = {int: "an integer", bool: "True or False"}[parameter.kind]
    if parameter.least is not None:
        expected += f" of {parameter.least} or more"
    is_large = parameter.least is None or (isinstance(value, int) and value >= parameter.least)
    if not (type(value) is parameter.kind and is_large):
        raise OptionError(
            f"{parameter.name} of '{head}' is {value!r}, expected {expected}",
            hint=f"{parameter.name}: {parameter.about}",
        )


MOST_ENTRIES = 10**6  # of a matrix, above which a baseline is kept in factors
NOISE_NAMES = {1: "Laplace", 2: "Gaussian"}


@dataclass(frozen=True)
class Cost:
    """A baseline under one noise.

    norm : 1 for Laplace, 2 for Gaussian. rows : measured. sensitivity : of the unscaled rows, rounded
    upwards. error : total squared error, weighted, for noise of unit variance per unit of sensitivity;
    infinity where the rows do not determine the workload. rmse : √(unweighted error / m), in the same units.
    privacy_cost : the least Δ at which every query with a target meets it, sensitivity times the largest
    √(variance / target); None where no query has one, or where the variances do not fit in memory.
    """

    norm: int
    rows: int
    sensitivity: float
    error: float
    rmse: float
    privacy_cost: float | None = None


@dataclass(frozen=True)
class Evaluated:
    """A baseline evaluated on a workload.

    name : with the parameters that were given. detail : the choices for the workload, in words.
    costs : one for each norm; empty where the baseline does not apply. reason : why not, else None.
    """

    name: str
    title: str
    detail: str
    costs: tuple[Cost, ...]
    reason: str | None = None


def baseline(name: str, workload: Workload, norm: int = 2) -> Strategy:
    """A baseline as a strategy, an explicit matrix (p, n), not scaled; ``normalise`` scales it.

    Parameters
    ----------
    name : of the catalogue, with parameters if wanted: "hierarchical(branching=16)".
    norm : 1 for Laplace noise, 2 for Gaussian.

    Raises
    ------
    OptionError : an unknown name or parameter, a bad value, or a baseline that does not apply.
    TooLargeError : the matrix does not fit in memory.
    """
    return Strategy(design_rows(name, workload, norm), norm)


def baseline_strategy(text: str, workload: Workload, norm: int) -> StrategyForm:
    """A baseline as a strategy; a large one in factors or as marginals, where it has that form.

    Small ones are matrices: their sensitivity is exact where rows are replaced.

    Errors as for ``baseline``.
    """
    design = _design_of(text, workload, norm)
    is_large = math.prod(design.rows.shape) > MOST_ENTRIES
    if is_large and isinstance(design.closed_form, MarginalStrategy):
        return design.closed_form
    if is_large and isinstance(design.rows, Kron) and workload.products is not None:
        return ProductStrategy(tuple(Strategy(part.matrix(), norm) for part in design.rows.parts))
    return Strategy(design.rows.matrix(), norm)


def design_rows(text: str, workload: Workload, norm: int = 2) -> Array:
    """The rows (p, n) of a baseline, to be weighted by a program; errors as for ``baseline``."""
    return _design_of(text, workload, norm).rows.matrix()


def _design_of(text: str, workload: Workload, norm: int) -> BaselineDesign:
    """The design of the baseline that a text names; OptionError where it does not apply."""
    call = baseline_call(text)
    reason = call.baseline.reason_against(workload)
    if reason is not None:
        raise OptionError(f"the baseline '{call}' does not apply: {reason}")
    return call.baseline.build(workload, norm, **dict(call.given))


def evaluate(text: str, workload: Workload, norms: Sequence[int] = (1, 2)) -> Evaluated:
    """The costs of a baseline; a matrix is formed only where the error has no form by products or marginals.

    One that does not apply, or does not fit in memory, is returned with the reason.

    Raises
    ------
    OptionError : an unknown name or parameter, a bad value, or a norm other than 1 and 2.
    """
    call = baseline_call(text)
    title = call.baseline.title
    reason = call.baseline.reason_against(workload)
    if reason is not None:
        return Evaluated(str(call), title, "", (), reason)
    try:
        costs, details = zip(*_costs(call, workload, norms), strict=True)
    except TooLargeError as error:
        return Evaluated(str(call), title, "", (), error.message)
    each = [f"{NOISE_NAMES[norm]}: {detail}" for norm, detail in zip(norms, details, strict=True)]
    detail = details[0] if len({*details}) == 1 else "; ".join(each)
    return Evaluated(str(call), title, detail, costs)


def _ratio(design: BaselineDesign, workload: Workload) -> float | None:
    """The largest ratio of a variance to its target; None without targets, or for too many variances."""
    try:
        return largest_ratio(design.errors.variances(workload), workload) if workload.has_targets else None
    except TooLargeError:
        return None


def _costs(call: Call, workload: Workload, norms: Sequence[int]) -> Iterator[tuple[Cost, str]]:
    """For each norm the cost, and the choices for the workload in words."""
    plain = workload.unweighted
    for norm in norms:
        if norm == norms[0] or call.baseline.depends_on_norm:
            design = call.baseline.build(workload, norm, **dict(call.given))
            squared = design.errors.squared_error(workload)
            mean = (squared if plain is workload else design.errors.squared_error(plain)) / workload.m
            ratio = _ratio(design, workload)
        sensitivity = design.rows.largest_column_norm(norm)
        rmse = sensitivity * math.sqrt(mean)
        cost = None if ratio is None else sensitivity * math.sqrt(ratio)
        yield (
            Cost(norm, design.rows.shape[0], sensitivity, sensitivity**2 * squared, rmse, cost),
            design.detail,
        )
