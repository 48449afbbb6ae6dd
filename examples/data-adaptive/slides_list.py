"""The slides' list of mechanisms: where each lives, and why."""

from __future__ import annotations

__all__ = ["MECHANISMS_OF_THE_SLIDES", "slides_list"]

OURS, HERE, LIBRARY, RESEARCH = "mmopt", "this example", "a library", "research code"

# Libraries are on PyPI, research code is on GitHub and not packaged: as in the list of examples/reproduce.
MECHANISMS_OF_THE_SLIDES = (
    ("Identity", "Dwork '06", OURS, "baseline `identity`"),
    ("Fourier basis", "Barak '07", OURS, "baseline `fourier`, for marginals"),
    ("Hierarchical ranges (H2, HB)", "Hay '10, Qardaji '13", OURS, "baseline `hierarchical`"),
    ("Haar wavelet (Privelet)", "Xiao '10", OURS, "baseline `wavelet`"),
    ("Quad-tree", "Cormode '12", OURS, "baseline `quadtree`: the tree that does not look at the data"),
    ("Matrix mechanism", "Li '10, Li '12", OURS, "programs `l2_strategy`, `eigen_design`"),
    ("Data cubes", "Ding '11", OURS, "baseline `datacube`"),
    ("Low-rank mechanism", "Yuan '12", OURS, "program `low_rank`"),
    ("Weighted hierarchies (GreedyH)", "Li '14", OURS, "baseline `greedy_h`"),
    ("HDMM", "McKenna '18", OURS, "program `p_identity`, and its templates"),
    ("Uniform", "", HERE, "one noisy total"),
    ("DAWA", "Li '14", HERE, "its partition, then GreedyH, or our program on the buckets"),
    (
        "MWEM",
        "Hardt '12",
        HERE,
        "`mwem.py`; others: `smartnoise-synth`, the repository of `mbi` (not its wheel)",
    ),
    (
        "AIM (later than the slides)",
        "McKenna '22",
        LIBRARY,
        "OpenDP with `mbi`: `aim.py` runs it; `smartnoise-synth`",
    ),
    ("EFPA", "Acs '12", HERE, "`efpa.py`; another in `dpcomp_core`, by its authors, which is not private"),
    ("UGrid, AGrid", "Qardaji '13", HERE, "`grids.py`; others in `dpcomp_core`, `ektelo`"),
    (
        "PrivBayes",
        "Zhang '14",
        LIBRARY,
        "`DataSynthesizer`; makes rows by a network of attributes: one or two leave it no choice",
    ),
    (
        "DualQuery",
        "Gaboardi '14",
        RESEARCH,
        "early examples of `mbi`; is for more cells than can be listed: where they can, MWEM does its task",
    ),
    (
        "AHP",
        "Zhang '14",
        RESEARCH,
        "`dpcomp_core`, `ektelo`; groups cells of like noisy counts wherever they are: a third partition, "
        "not another idea",
    ),
    (
        "PHP",
        "Acs '12",
        RESEARCH,
        "`dpcomp_core`; a partition by bisection, cut by cut: DAWA's is the best of all at once",
    ),
    ("k-d tree (DPCube)", "Xiao '10", RESEARCH, "`dpcomp_core`; two dimensions; not tried"),
    ("hybrid k-d tree", "Cormode '12", RESEARCH, "`dp-spatial-decompositions`; two dimensions; not tried"),
    (
        "v-optimal histogram",
        "Xu '12",
        RESEARCH,
        "`dpcomp_core` (`StructureFirst`); buckets of least squared deviation",
    ),
    ("iReduct", "Xiao '11", "nowhere", "no code that we know of"),
)


def slides_list() -> list[str]:
    """Lines of markdown."""
    return [
        "## The rest of the slides' list",
        "",
        "| mechanism | source | lives in | which, or why not here |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in MECHANISMS_OF_THE_SLIDES),
        "",
        "AIM and the best strategy for two-way marginals, at the same rho, are in [aim.md](aim.md).",
        "",
        "mmopt itself looks at no data before it measures: its errors are known, and proved, beforehand.",
    ]
