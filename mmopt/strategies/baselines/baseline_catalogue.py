"""The baselines, in the order in which they are listed: simple ones first, then by kind of workload.

Left out: Privelet's wavelet of nominal attributes and Cormode et al.'s k-d trees (they need a hierarchy of
the values, or the data), geometric budgets per level (a weighting program finds better ones for
``Q=hierarchy``), strategies found by optimisation (they are programs).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from mmopt.strategies.baselines.catalogue_row import Baseline, Parameter
from mmopt.strategies.baselines.marginal_baselines import datacube, fourier, many_unions, not_marginals
from mmopt.strategies.baselines.plain_baselines import answers, cells
from mmopt.strategies.baselines.sector_baselines import (
    not_of_few,
    not_of_marginals,
    query_smasher,
    weighted_fourier,
)
from mmopt.strategies.baselines.stream_baselines import buffered, square_root
from mmopt.strategies.baselines.tree_baselines import greedy_h, hierarchical, quadtree, wavelet
from mmopt.workloads import Workload

__all__ = ["ALIASES", "CATALOGUE"]


def _one_attribute(workload: Workload) -> str | None:
    if len(workload.domain.shape) > 1:
        return f"it splits one attribute, the workload has {len(workload.domain.shape)}"
    return None


def _several_steps(workload: Workload) -> str | None:
    if len(workload.domain.shape) > 1:
        return f"its steps are the cells of one attribute, the workload has {len(workload.domain.shape)}"
    return None


def _several_attributes(workload: Workload) -> str | None:
    if len(workload.domain.shape) < 2:
        return "for one attribute it is hierarchical(branching=2)"
    return None


def _other_queries_than_marginals(workload: Workload) -> str | None:
    if not_of_marginals(workload) is None:
        return "for marginals it is residual_planner"
    return not_of_few(workload)


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
        reason_against=_one_attribute,
        depends_on_norm=True,
    ),
    Baseline(
        "quadtree",
        "Tree that splits all attributes at once",
        "Cormode et al., ICDE 2012, section 3",
        (1,),
        quadtree,
        (Parameter("branching", int, 2, "parts of each attribute's blocks", least=2),),
        reason_against=_several_attributes,
    ),
    Baseline(
        "square_root",
        "Square root of the prefix sums, a noise filter (lower-triangular Toeplitz)",
        "Fichtenberger et al., ICML 2023, section 3",
        (2,),
        square_root,
        reason_against=_several_steps,
    ),
    Baseline(
        "blt",
        "Noise filter with a few numbers of memory, best for prefix sums (buffered linear Toeplitz)",
        "Dvijotham et al., FOCS 2024",
        (2,),
        buffered,
        (Parameter("buffers", int, 3, "numbers that are remembered from step to step", least=1),),
        reason_against=_several_steps,
    ),
    Baseline(
        "fourier",
        "Fourier basis of the asked marginals",
        "Barak et al., PODS 2007, section 3",
        (1,),
        fourier,
        reason_against=not_marginals,
    ),
    Baseline(
        "datacube",
        "The marginals from which the asked ones follow with the least largest variance (BMAX)",
        "Ding et al., SIGMOD 2011, section 4",
        (1,),
        datacube,
        reason_against=many_unions,
        depends_on_norm=True,
    ),
    Baseline(
        "residual_planner",
        "The residuals of the asked marginals, each by itself with its own noise (ResidualPlanner)",
        "Xiao et al., NeurIPS 2023",
        (2,),
        query_smasher,
        reason_against=not_of_marginals,
    ),
    Baseline(
        "query_smasher",
        "Residual spaces of the queries, each by itself at its optimum (QuerySmasher)",
        "He et al., arXiv 2604.00868",
        (2,),
        query_smasher,
        reason_against=_other_queries_than_marginals,
    ),
    Baseline(
        "weighted_fourier",
        "Weighted characters of the asked attributes (weighted Fourier factorisation)",
        "arXiv 2512.21499",
        (2,),
        weighted_fourier,
        reason_against=not_of_few,
    ),
)

ALIASES: Mapping[str, str] = MappingProxyType({"haar": "wavelet", "hierarchy": "hierarchical(branching=2)"})
"""Short names, each for a call; they take no parameters."""
