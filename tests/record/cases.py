"""The cases of the golden record, a row each: name, kind of its figures, what is done."""

from record.calls import CALLS
from record.harness import Case

SLOW, NIGHTLY = ("slow",), ("nightly",)  # seconds, and many of them

STEPS = r"(?s)^(step [a-z]+ ).*?(?=^--)"  # as many as it takes
WORK = r"(?s)^(Work\n).*?(?=^\()"  # what it took

GAUSSIAN = "--program l2_strategy"  # not the better of both noises
TARGETS = "--program fitness_for_use"
TINY, SMALL = "examples/census2000/tiny.yaml", "examples/census2000/small.yaml"


def solved(*names: str, workload: str = TINY, more: str = "--tolerance 1e-8") -> tuple[str, ...]:
    """A solve of each program, as JSON."""
    return tuple(f"solve {workload} --program {name} {more} --json" for name in names)


def refused(*names: str) -> tuple[str, ...]:
    return tuple(f"check {name}" for name in names)


def released(workload: str, strategy: str, more: str = "", table: str = "people.csv") -> tuple[str, ...]:
    """A strategy found, released with simulated noise, and what was written."""
    return (
        f"{strategy} {workload} --out s.npz --json",
        f"verify s.npz {workload} --json",
        f"release {workload} {table} --strategy s.npz --simulate 7 --out out --json {more}",
        "cat out/answers.csv",
        "cat out/manifest.json",
    )


# ---------------------------------------------------------------- the table

CASES = (
    # closed forms
    Case("closed-forms", "exact", solved("singular_value_bound", "augment", more="")),
    # convex programs, by kernel
    Case("nuclear", "solve", solved("l2_strategy", "weighted_l2", "fitness_hybrid", "fitness_penalty")),
    Case("nuclear-forms", "solve", solved("l2_strategy_lmi", "l2_strategy_block", "l2_strategy_dual")),
    Case(
        "nuclear-targets",
        "secondary",
        solved("fitness_for_use", "fitness_lmi", "fitness_dual", "fitness_level"),
    ),
    Case("nuclear-small", "secondary", (f"solve {SMALL} --json",)),
    Case("weighting", "solve", solved("query_weighting", "query_weighting_inverse", "query_weighting_dual")),
    Case("weighting-groups", "solve", solved("group_weighting", "separate_weighting")),
    Case(
        "weighting-laplace",
        "solve",
        solved("laplace_weighting", "laplace_weighting_power", more="--given Q=identity"),
    ),
    Case(
        "weighting-wavelet", "solve", ("solve ten.yaml --program query_weighting --given Q=wavelet --json",)
    ),
    Case("softmax", "solve", solved("softmax_step")),
    # both conic solvers
    Case(
        "clarabel",
        "solve",
        solved("l2_strategy", "design_weighting", "query_weighting", more="--solver clarabel"),
    ),
    Case("clarabel-targets", "secondary", solved("fitness_for_use", more="--solver clarabel --no-reduce")),
    Case(
        "scs", "secondary", solved("l2_strategy", "query_weighting", "fitness_for_use", more="--solver scs")
    ),
    Case(
        "no-reduce",
        "solve",
        solved("l2_strategy", workload="total.yaml", more="--no-reduce --tolerance 1e-8"),
    ),
    # rank, smooth, procedures
    Case("rank", "local", solved("min_sensitivity", more="--starts 1")),
    Case("rotation", "local", solved("min_sensitivity_rotation", more="--starts 1 --seed 3")),
    Case("p-identity", "local", solved("p_identity", workload="ten-pure.yaml", more="--seed 1")),
    Case("eigen", "solve", solved("eigen_design", "eigen_separation", "principal_vectors")),
    Case("eigen-large", "solve", ("solve examples/adaptive/cdf.yaml --program eigen_design --json",)),
    Case("refined", "secondary", solved("fitness_refined")),
    Case("soft-maxima", "secondary", solved("fitness_softmax", more="")),
    Case("low-rank", "local", (f"solve {TINY} --program low_rank_gaussian",), STEPS),
    Case(
        "low-rank-laplace", "local", ("solve total.yaml --program low_rank --max-iterations 5",), STEPS, SLOW
    ),
    Case("soft-maxima-text", "secondary", (f"solve {TINY} --program fitness_softmax",), STEPS),
    # by component
    Case(
        "scalars",
        "exact",
        ("solve examples/marginals/workload.yaml --json", f"solve scalars.yaml {GAUSSIAN}"),
        marks=NIGHTLY,
    ),
    Case(
        "split",
        "solve",
        (f"solve split.yaml {GAUSSIAN} --tolerance 1e-9 --json", "solve split.yaml --dry-run"),
    ),
    Case("adult", "solve", ("solve examples/marginals/adult.yaml --program l2_strategy --json",)),
    Case("adult-targets", "secondary", ("solve examples/marginals/adult.yaml --json",)),
    Case(
        "census",
        "solve",
        (
            "check examples/sf1-like/workload.yaml",
            "solve examples/sf1-like/workload.yaml --program l2_strategy --json",
        ),
        marks=SLOW,
    ),
    # many attributes
    Case(
        "templates-gaussian", "local", ("templates examples/marginals/workload.yaml --json",), marks=NIGHTLY
    ),
    Case(
        "templates-laplace",
        "local",
        (
            "templates scalars.yaml --noise laplace --templates marginals,identity --json",
            "templates total.yaml --noise laplace --templates product --seed 2 --json",
            "templates parts.yaml --templates union",
            "templates total.yaml --templates identity,product",
        ),
        marks=NIGHTLY,
    ),
    # what is printed of a solve
    Case(
        "solve-text",
        "solve",
        ("solve total.yaml --tolerance 1e-8", f"solve parts.yaml {GAUSSIAN} --tolerance 1e-8"),
    ),
    Case(
        "solve-text-targets",
        "secondary",
        (f"solve targets.yaml {TARGETS}", "solve targets.yaml --program softmax_step"),
    ),
    Case(
        "certify",
        "exact",
        ("certify total.yaml identity --no-solve", "certify total.yaml identity.csv --norm 1"),
    ),
    Case(
        "export",
        "solve",
        (
            "export l2_strategy total.yaml",
            "export l2_strategy total.yaml --out problem.mps",
            "export p_identity total.yaml",
            "certify total.yaml --program l2_strategy --point none.json",
            "solve total.yaml --solver nowhere:solve",
        ),
    ),
    Case(
        "dry-run",
        "exact",
        ("solve ten.yaml --dry-run --program eigen_design", f"solve {TINY} --dry-run"),
    ),
    # explain, show, check, lists
    Case("explain", "solve", ("explain l2_strategy total.yaml --solve", "explain eigen_design")),
    Case("explain-targets", "secondary", (f"explain fitness_for_use {TINY} --solve",)),
    Case("explain-split", "solve", ("explain l2_strategy split.yaml --solve",)),
    Case(
        "explain-latex",
        "exact",
        ("explain fitness_for_use total.yaml --latex", "explain low_rank --formulas"),
    ),
    Case("explain-html", "exact", ("explain query_weighting total.yaml --html --out e.html", "cat e.html")),
    Case(
        "explain-refused", "exact", ("explain concave.program", "explain curved.program", "explain min_error")
    ),
    Case("explain-json", "exact", ("explain p_identity total.yaml --json",)),
    Case(
        "show",
        "exact",
        ("show fitness_for_use", "show nothing", "show none.npz", "show total.yaml"),
    ),
    Case("check", "exact", ("check total.yaml", "check total.yaml --cells", f"check {SMALL}")),
    Case(
        "check-program", "exact", ("check l2_strategy --seed 1 --instances 2", "check weak.program --seed 1")
    ),
    Case(
        "trace",
        "solve",
        (
            "solve total.yaml --program l2_strategy --solver conic --no-reduce --trace",
            "solve total.yaml --program l2_strategy --trace",
            "solve total.yaml --program min_error --dry-run",
        ),
        r"((?:violation before|after|\(Frobenius norm\)|iterations?|nuclear|clarabel)[\s│]+)\d[-+.\de]*",
    ),
    Case(
        "trace-json",
        "solve",
        ("solve total.yaml --program l2_strategy --solver conic --no-reduce --trace --json",),
        r'("(?:missed (?:before|after)|X moved by part|iteration|.+ took|words)": ).*$|(?<=clarabel )[\d.]+',
    ),
    Case("programs", "exact", ("programs", "programs --solvers", "--help")),
    Case(
        "help",
        "exact",
        ("solve --help", "release --help", "compare --help", "explain --help", "templates --help"),
    ),
    Case("help-pages", "exact", ("init --help", "report --help", "refine --help")),
    Case("help-ledger", "exact", ("ledger --help", "ledger create --help", "ledger show --help")),
    Case(
        "init",
        "exact",
        (
            *("init people.csv --out w.yaml", "cat w.yaml", "check w.yaml"),
            *("init people.csv --out p.yaml --public", "cat p.yaml", "check p.yaml"),
        ),
    ),
    Case("baselines", "exact", ("baselines", "baselines total.yaml --json", "baselines ten.yaml")),
    # compare, tune, simulate
    Case(
        "compare",
        "solve",
        ("compare total.yaml --programs l2_strategy,eigen_design --solvers nuclear,clarabel --json",),
        marks=SLOW,
    ),
    Case(
        "compare-text",
        "secondary",
        (f"compare {TINY} --programs l2_strategy,fitness_for_use --formulations --baseline wavelet",),
        also=WORK,
        marks=SLOW,
    ),
    # accuracy first
    Case(
        "accuracy",
        "local",
        ("accuracy total.yaml --json", "accuracy wishes.yaml", "accuracy rho.yaml --confidence 0.9"),
    ),
    Case(
        "budget",
        "local",
        ("budget wishes.yaml", "budget wishes.yaml --delta 1e-6 --json", "budget targets.yaml --pure"),
        marks=SLOW,
    ),
    Case("budget-refused", "exact", ("budget total.yaml", "budget wishes.yaml --delta 0.1 --pure")),
    Case("tune", "solve", ("tune parts.yaml ages --json", "tune parts.yaml sexes --factors 1,2")),
    Case("tune-laplace", "local", ("tune parts.yaml ages --noise laplace --factors 1,4 --json",)),
    Case(
        "simulate",
        "secondary",
        ("simulate total.yaml people.csv --programs l2_strategy,eigen_design --json",),
    ),
    Case(
        "simulate-text", "secondary", ("simulate total.yaml people.csv --trials 10 --seed 3 --epsilon 0.5,1",)
    ),
    # releases
    Case("release-dense", "secondary", released("total.yaml", f"solve {GAUSSIAN} --tolerance 1e-8")),
    Case(
        "release-targets",
        "secondary",
        released("targets.yaml", f"solve {TARGETS} --tolerance 1e-8", "--confidence 0.5"),
    ),
    Case("release-laplace", "local", released("pure.yaml", "solve --program p_identity")),
    Case("release-rho", "secondary", released("rho.yaml", "solve --program eigen_design")),
    Case(
        "release-component",
        "secondary",
        released("scalars.yaml", f"solve {GAUSSIAN}", table="places.csv"),
    ),
    Case("release-product", "local", released("pure.yaml", "templates --templates product --noise laplace")),
    Case(
        "release-product-gaussian",
        "local",
        released("total.yaml", "templates --templates product --noise gaussian"),
    ),
    Case("release-union", "local", released("total.yaml", "templates --templates union --noise gaussian")),
    Case(
        "release-union-laplace", "local", released("pure.yaml", "templates --templates union --noise laplace")
    ),
    Case(
        "release-marginals",
        "local",
        released("total.yaml", "templates --templates marginals --noise gaussian"),
    ),
    Case(
        "release-marginals-laplace",
        "local",
        released("pure.yaml", "templates --templates marginals --noise laplace"),
    ),
    Case(
        "release-text",
        "secondary",
        (
            "release total.yaml people.csv --program l2_strategy --tolerance 1e-8 --simulate 3",
            "release total.yaml people.csv --out real",
        ),
        also=r"^(  \S.*?  +)[-\d.]+ +[\d.]+ +\[.*\]$",
    ),
    Case(
        "release-refused",
        "exact",
        (
            "release pure.yaml people.csv --program l2_strategy",
            "release total.yaml people.csv --strategy none.npz",
            "release total.yaml odd.csv",
            "release total.yaml none.csv",
            "release parts.yaml people.csv --strategy saved/dense.npz",
            "release pure.yaml people.csv --strategy saved/dense.npz",
            "release total.yaml people.csv --confidence 2",
            "release huge.yaml people.csv",
        ),
    ),
    # refusals
    Case(
        "bad-workload",
        "exact",
        refused(*(f"bad-{what}.yaml" for what in ("key", "name", "bins", "syntax", "none"))),
    ),
    Case("bad-privacy", "exact", refused("bad-privacy.yaml", "bad-delta.yaml")),
    Case(
        "bad-program",
        "exact",
        refused(
            *(f"{what}.program" for what in ("concave", "curved", "shape", "word", "dims", "none")), "l2"
        ),
    ),
    Case(
        "bad-options",
        "exact",
        (
            "solve total.yaml --solver clarabell",
            "solve total.yaml --program l2_stratgy",
            "solve total.yaml --solver qoco",
            "solve total.yaml --arrays nothing",
            "solve total.yaml --program fitness_for_use",
            "solve total.yaml --tolerance -1",
            "solve total.yaml --given Q=haaar --program query_weighting",
            "solve total.yaml --given Z=3",
            "solve total.yaml --program l2_strategy --starts 3",
            "solve total.yaml --out no/such.npz",
            "solve total.yaml --nothing",
            "slve total.yaml",
            "compare total.yaml --programs l2_strategy,nothing",
            "templates total.yaml --templates square",
            "tune parts.yaml places",
            "verify none.npz total.yaml",
            "certify total.yaml none.csv",
        ),
    ),
    Case(
        "infeasible",
        "exact",
        (
            "solve total.yaml --program empty.program",
            "solve total.yaml --program empty.program --solver scs",
            "solve total.yaml --program twice.program",
        ),
    ),
    Case(
        "too-large",
        "exact",
        (
            "solve huge.yaml --program l2_strategy_lmi",
            "solve huge.yaml --solver clarabel",
            "solve examples/marginals/workload.yaml --program min_error",
            "solve examples/marginals/adult.yaml --no-reduce",
            "solve huge.yaml --dry-run",
        ),
    ),
    Case(
        "not-given",
        "exact",
        (f"solve {TINY} --program laplace_weighting --given Q=wavelet", "templates concave.program"),
    ),
    # saved by mmopt 0.1.0
    *(
        Case(f"saved-{name}", "exact", (f"verify saved/{name}.npz {workload}.yaml --json",))
        for name, workload in (
            ("dense", "total"),
            ("targets", "targets"),
            ("procedure", "total"),
            ("laplace", "total"),
            ("rank", "total"),
            ("scalars", "scalars"),
            ("split", "split"),
            ("product", "total"),
            ("union", "total"),
            ("marginals", "total"),
        )
    ),
    Case(
        "saved-text",
        "exact",
        (
            "verify saved/dense.npz total.yaml",
            "verify saved/dense.npz parts.yaml",
            "verify saved/union.npz total.yaml",
            "certify total.yaml saved/dense.npz --no-solve --json",
            "explain l2_strategy total.yaml --solution saved/dense.npz",
            "release total.yaml people.csv --strategy saved/marginals.npz --simulate 7 --out out --json",
            "simulate total.yaml people.csv --strategies saved/dense.npz,saved/union.npz --trials 5 --json",
        ),
    ),
    # the public names
    *(Case(step.__name__.replace("_", "-"), "solve", (step,)) for step in CALLS),
)
