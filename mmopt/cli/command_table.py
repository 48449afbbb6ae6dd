"""The commands: for each its function, its help, and its parameters. Nothing heavy is loaded here.

A row of ``COMMANDS`` or ``LEDGER_COMMANDS`` is all that help and completion need; the module with the
function is imported when the command runs (``app.py``). The function takes the parameters by name, with
these types; those that it has no name for are options of a solve.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from mmopt.cli.command_options import (
    AccuracyChart,
    Arrays,
    Confidence,
    DatabaseTable,
    DataFile,
    GapChart,
    Given,
    Iterations,
    Json,
    LedgerFile,
    NoReduce,
    OneProgram,
    ProgramName,
    QueriesFile,
    SavedStrategy,
    Seed,
    SolverName,
    Starts,
    Threads,
    TimeLimit,
    Tolerance,
    Verbose,
    WorkloadFile,
    WorkloadOrNone,
    baseline_words,
    listed,
    program_words,
    solver_words,
)


class Command:
    """A command of the command line.

    Attributes
    ----------
    function : the module in ``mmopt.cli.commands``, a colon, and the function.
    parameters : the type of each, annotated with its option or argument, and then with its default. Without
        one the default is None or False where the type allows that; else the parameter is required.
    """

    def __init__(self, function: str, help: str, **parameters: Any) -> None:
        self.function = function
        self.help = help
        self.parameters = parameters

    def load(self) -> Callable[..., None]:
        """Import the function."""
        module, _, name = self.function.partition(":")
        function: Callable[..., None] = getattr(import_module(f"mmopt.cli.commands.{module}"), name)
        return function


COMMANDS: Mapping[str, Command] = {
    "programs": Command(
        "programs:programs",
        """List the programs that are shipped.""",
        solvers=Annotated[bool, typer.Option("--solvers", help="Show which solver takes which program.")],
        as_json=Json,
    ),
    "show": Command(
        "programs:show",
        """Read back a release, or a saved solution.

        Of the folder of a release: the first answers, the accuracy, what was chosen and the guarantee,
        once its files are found to be those that its manifest lists, and its figures to follow from them;
        and what of the manifest nothing there confirms. Of a saved solution: its figures as stated, and
        its iterations; 'mmopt verify' checks them. 'mmopt explain PROGRAM' explains a program.
        """,
        source=Annotated[
            str,
            typer.Argument(
                metavar="FOLDER|FILE.npz",
                help="Written by --out of 'mmopt release', 'mmopt refine' or 'mmopt solve'.",
            ),
        ],
    ),
    "explain": Command(
        "programs:explain",
        """Explain a program, alone or for a workload.

        Its words and formulas, what it is given, its text, why it is convex; for a workload what it
        becomes, its size and who can solve it; with a solution what its multipliers say. A program that
        is not convex is explained too: the part to blame is marked.
        """,
        program=OneProgram,
        workload=Annotated[
            Path | None,
            typer.Argument(
                metavar="[WORKLOAD]", help="Workload file: what the program becomes with its numbers."
            ),
        ],
        given=Given,
        solution=Annotated[
            Path | None,
            typer.Option(metavar="FILE.npz", help="A saved solution: its multipliers and tight constraints."),
        ],
        solve=Annotated[bool, typer.Option("--solve", help="Solve it first, and explain the solution too.")],
        latex=Annotated[bool, typer.Option("--latex", help="A LaTeX document.")],
        formulas=Annotated[
            bool, typer.Option("--formulas", help="The program's formulas alone, as a LaTeX block.")
        ],
        html=Annotated[bool, typer.Option("--html", help="An HTML page in one file.")],
        out=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Write there; .html, .tex, .txt or .json says the form. A file is replaced.",
            ),
        ],
        as_json=Json,
    ),
    "studio": Command(
        "programs:studio",
        """Open a page to play with programs, in a browser on this machine.

        An editor that marks mistakes, the tree of each line with its curvature, solutions, multipliers to
        choose, solvers side by side, a quiz. The text is never executed, and nothing is stored. It serves
        until Ctrl-C; its address has a token, so pass it to nobody.
        """,
        port=Annotated[
            int,
            typer.Option(metavar="N", min=0, max=65535, help="Of 127.0.0.1; 0 takes a free one."),
            8347,
        ],
        only_print=Annotated[
            bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
        ],
    ),
    "init": Command(
        "workload_files:init",
        """Draft a workload file from a table's columns, never its values.

        What must come from public knowledge is asked for at a terminal, or stays open: FILL-IN, beside a
        comment that says what belongs there. 'mmopt check' names those that are left.
        """,
        data=DataFile,
        out=Annotated[
            Path,
            typer.Option(metavar="FILE.yaml", help="Write the draft there; it must not exist yet."),
            Path("workload.yaml"),
        ],
        column=Annotated[
            list[str] | None,
            typer.Option(
                metavar="NAME=FORM",
                help="What is publicly known of a column, as the file writes it: 'age={range: [0, 100], "
                "width: 5}', 'sex={values: [F, M]}'; or NAME=skip. May be repeated.",
            ),
        ],
        only=Annotated[
            str | None, typer.Option(metavar="A,B", help="These columns alone, separated by commas.")
        ],
        table=DatabaseTable,
        public=Annotated[
            bool,
            typer.Option(
                "--public", help="The table is public: read its values too, and propose forms that hold them."
            ),
        ],
        ask=Annotated[
            bool | None,
            typer.Option("--ask/--no-ask", help="Ask for what is open. Default: at a terminal."),
        ],
    ),
    "check": Command(
        "workload_files:check",
        """Check a workload file, a table for it, or a program.

        Of a file: its queries, domain and privacy. Of a table: its columns. Of a program: shapes,
        curvature, weak duality.
        """,
        target=Annotated[
            str,
            typer.Argument(
                metavar="WORKLOAD|PROGRAM", help="Workload file, shipped program, or .program file."
            ),
        ],
        data=Annotated[
            str | None,
            typer.Argument(
                metavar="[DATA]", help="Table, as of 'release': names and types of its columns are checked."
            ),
        ],
        table=DatabaseTable,
        cells=Annotated[
            bool,
            typer.Option(
                "--cells", help="Print the cells of the data vector in their order, and nothing else."
            ),
        ],
        seed=Annotated[
            int | None,
            typer.Option(min=0, metavar="N", help="Seed of a program's weak duality test. Default: fresh."),
        ],
        instances=Annotated[
            int | None,
            typer.Option(
                min=1, metavar="N", help="Random workloads of a program's weak duality test. Default: 5."
            ),
        ],
        given=Given,
    ),
    "accuracy": Command(
        "accuracy_release_simulate:accuracy",
        """Predict the accuracy of each answer, before any data is read.

        At the file's privacy: a standard error and an interval's half width for each query: those of
        'mmopt release' with the same file and options. Where every query has a target ('within' or
        'max_variance') no more is spent than they need.
        """,
        workload=WorkloadFile,
        program=ProgramName,
        given=Given,
        strategy=SavedStrategy,
        confidence=Confidence,
        out=QueriesFile,
        chart=AccuracyChart,
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        threads=Threads,
        as_json=Json,
    ),
    "budget": Command(
        "accuracy_release_simulate:budget",
        """Find the least privacy budget at which every accuracy wish holds.

        Wishes are 'within: 50' (counts, with 'confidence: 0.95') and 'max_variance: 600' beside the
        queries. Queries without one are left out: a release that answers them too may miss wishes at this
        budget. The kind of budget is that of the file's privacy, whatever its size: epsilon at its delta,
        epsilon alone, or rho, as without any.
        """,
        workload=WorkloadFile,
        delta=Annotated[
            float | None,
            typer.Option(
                metavar="D", help="Find epsilon at this delta. Default: that of the file's privacy."
            ),
        ],
        pure=Annotated[bool, typer.Option("--pure", help="Find epsilon alone (delta 0).")],
        out=QueriesFile,
        chart=AccuracyChart,
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        threads=Threads,
        as_json=Json,
    ),
    "solve": Command(
        "strategies_and_reports:solve",
        """Choose the best strategy, and prove how good it is.

        At the file's privacy, where it has one: by default the strategy of least predicted error, of both
        noises. Ctrl-C ends the solve and gives the best certified point so far.
        """,
        workload=WorkloadOrNone,
        program=ProgramName,
        given=Given,
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        max_iterations=Iterations,
        threads=Threads,
        start=Annotated[
            str | None,
            typer.Option(
                metavar="NAME|FILE",
                help="Search from this strategy alone: a baseline such as haar (mmopt baselines lists them), "
                "a .npy or .csv file, or a saved solution (.npz). For programs of class rank or smooth.",
            ),
        ],
        starts=Starts,
        seed=Seed,
        arrays=Arrays,
        no_reduce=NoReduce,
        derive=Annotated[
            bool | None,
            typer.Option(
                "--derive/--no-derive",
                help="Read a proved bound off the program's own lines, without its certificate. By default "
                "where no certificate proves one.",
            ),
        ],
        dry_run=Annotated[
            bool, typer.Option("--dry-run", help="Show sizes, cones, solvers and forecasts; solve nothing.")
        ],
        out=Annotated[
            Path | None,
            typer.Option(metavar="FILE.npz", help="Save the solution; an existing file is replaced."),
        ],
        history=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE.csv",
                help="Write one row for each iteration: objective, bound, residuals, seconds, and whether it "
                "is certified or the solver's own count; an existing file is replaced.",
            ),
        ],
        chart=GapChart,
        trace=Annotated[
            bool,
            typer.Option(
                "--trace",
                help="Show the way from the text to the answer as a tree: lines, numbers, reductions, cones, "
                "solvers, repair, judge, with sizes and seconds.",
            ),
        ],
        trace_page=Annotated[
            Path | None,
            typer.Option(
                "--trace-page",
                metavar="FILE.html",
                help="Write this tree as an HTML page, its branches to be opened; an existing file is "
                "replaced.",
            ),
        ],
        as_json=Json,
        verbose=Annotated[
            bool,
            typer.Option("--verbose", help="Show the iterations; on stderr what the solver prints."),
        ],
    ),
    "export": Command(
        "programs:export",
        """Write the compiled problem into a file for other programs.

        It is not reduced, and in its own units. A comment says which column is which variable. A point
        found elsewhere is judged by mmopt certify --point.
        """,
        program=OneProgram,
        workload=WorkloadFile,
        form=Annotated[
            str | None,
            typer.Option(
                "--format",
                metavar="cbf|sdpa|mps|npz",
                help="Conic Benchmark Format, SDPA sparse, free MPS, or NumPy arrays. Default: by the ending "
                "of --out; on standard output cbf.",
            ),
        ],
        given=Given,
        out=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE", help="Write there; an existing file is replaced. Default: standard output."
            ),
        ],
    ),
    "certify": Command(
        "strategies_and_reports:certify",
        """Judge a strategy or point from anywhere, beside a proved bound.

        It is repaired to feasibility as the program says; what that changed is told.
        """,
        workload=WorkloadFile,
        strategy=Annotated[
            str | None,
            typer.Argument(
                metavar="[STRATEGY]",
                help="A .npy or .csv file (one measured query a row), a saved solution (.npz), or a baseline "
                "such as haar (mmopt baselines lists them).",
            ),
        ],
        program=Annotated[
            str | None,
            typer.Option(
                metavar="NAME|FILE",
                help="Program; for a strategy one with a section 'from strategy'. Default: as for solve; for "
                "norm 1 a shipped one.",
            ),
        ],
        point=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="In place of STRATEGY, a point of the program: a .json or .npz file of its variables by "
                "name, also with multipliers, or of the 'columns' and 'rows' of what mmopt export "
                "wrote: x, and y in the dual cones with c + A.T @ y = 0; a .npy file of columns alone.",
            ),
        ],
        given=Given,
        norm=Annotated[
            int | None,
            typer.Option(
                min=1, max=2, metavar="1|2", help="1: Laplace noise, 2: Gaussian. Default: the program's."
            ),
        ],
        covariance=Annotated[
            bool,
            typer.Option(
                "--covariance", help="STRATEGY holds the covariance of the noise on the basis instead."
            ),
        ],
        basis=Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Basis of --covariance. Default: the workload's own."),
        ],
        no_solve=Annotated[
            bool, typer.Option("--no-solve", help="Ask no solver for better multipliers of the bound.")
        ],
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        out=Annotated[
            Path | None,
            typer.Option(metavar="FILE.npz", help="Save the result; an existing file is replaced."),
        ],
        as_json=Json,
    ),
    "verify": Command(
        "strategies_and_reports:verify",
        """Recheck every figure of a saved solution.

        They are recomputed from its variables, or from its factors. No solver is needed; only the bound
        of a strategy in factors is searched for anew.

        Exit status 0 when every figure holds, 1 when one does not, 2 when the file cannot be read.
        """,
        solution=Annotated[
            Path, typer.Argument(metavar="SOLUTION", help="Saved by --out or Solution.save (.npz).")
        ],
        workload=WorkloadOrNone,
        program=Annotated[
            str | None,
            typer.Option(
                metavar="NAME|FILE",
                help="What the saved program is compared with. Default: the one shipped under its name.",
            ),
        ],
        as_json=Json,
    ),
    "compare": Command(
        "compare:compare",
        """Rank programs, solvers and baselines on one workload.

        'mmopt baselines' has the baselines alone, and 'mmopt templates' strategies kept in factors, which
        take domains too large for most programs.

        Where the file has privacy, by the standard error that a release would have there (where every
        query has a target, by the privacy at which all are met), whatever the noise; else noise by noise,
        at unit noise. Every program with every solver at every tolerance, each in a process of its own.
        What cannot be solved is listed with the reason. Ctrl-C ends the comparison with what there is.
        """,
        workload=WorkloadOrNone,
        programs=Annotated[
            str | None,
            typer.Option(
                metavar="A,B",
                autocompletion=listed(program_words),
                help="Programs, separated by commas: shipped names, or paths ending in .program. Default: "
                "all that are shipped, but for other formulations of the same problem, programs for "
                "neighbours of their own or without a strategy, and searches predicted to take more "
                "than a third of --time-limit.",
            ),
        ],
        formulations=Annotated[
            bool,
            typer.Option("--formulations", help="Add the other shipped formulations of the same problems."),
        ],
        solvers=Annotated[
            str | None,
            typer.Option(
                metavar="X,Y",
                autocompletion=listed(solver_words),
                help="Solvers, separated by commas; all: the kernels that know a program, and every solver "
                "that is installed. Default: the one that solve would choose.",
            ),
        ],
        tolerance=Annotated[
            str | None,
            typer.Option(
                metavar="GAP,GAP",
                help="Proved gaps asked for, separated by commas. Default: 1e-6, or 1e-4 for a first-order "
                "solver.",
            ),
        ],
        time_limit=Annotated[
            float,
            typer.Option(
                metavar="SECONDS",
                help="For the solver of each combination; one that does not stop is killed a fifth of that "
                "and two seconds later.",
            ),
            60.0,
        ],
        total_time=Annotated[
            float | None,
            typer.Option(
                metavar="SECONDS",
                help="For all programs; those that are not started by then are listed. Default: 300, none "
                "with --programs.",
            ),
        ],
        memory_limit=Annotated[
            float | None,
            typer.Option(
                metavar="GIB",
                help="Memory that each combination may take (Linux only). Default: three quarters of the "
                "machine's.",
            ),
        ],
        given=Given,
        max_iterations=Iterations,
        threads=Threads,
        chart=GapChart,
        baselines=Annotated[
            list[str] | None,
            typer.Option(
                "--baseline",
                metavar="NAME",
                autocompletion=baseline_words,
                help="A baseline to stand beside the programs, with parameters if wanted: "
                "'hierarchical(branching=16)'. May be repeated. Default: all (mmopt baselines lists "
                "them).",
            ),
        ],
        no_baselines=Annotated[bool, typer.Option("--no-baselines", help="Leave out the baselines.")],
        as_json=Json,
        verbose=Verbose,
    ),
    "baselines": Command(
        "strategies_and_reports:baselines",
        """List what is used without optimising, and what each costs.

        Hierarchies, wavelets, marginals and others, which 'mmopt compare' ranks beside programs.

        Where the file has privacy, errors are standard errors of a release there, the least first,
        whatever the noise; else total squared errors for noise of unit variance per unit of sensitivity.
        """,
        workload=Annotated[
            Path | None,
            typer.Argument(metavar="[WORKLOAD]", help="Workload file (YAML). Default: list the names."),
        ],
        names=Annotated[
            list[str] | None,
            typer.Option(
                "--baseline",
                metavar="NAME",
                autocompletion=baseline_words,
                help="A baseline, with parameters if wanted: 'hierarchical(branching=16)'. May be repeated. "
                "Default: all.",
            ),
        ],
        as_json=Json,
    ),
    "tune": Command(
        "strategies_and_reports:tune",
        """Show what a sub-workload gains when its queries count for more.

        The others lose meanwhile. Errors are root mean squares per query, at the file's privacy; without
        one, and for replaced rows and participations, for unit noise per unit of sensitivity:
        ``unit_rmse`` in --json, beside ``rmse``.
        """,
        workload=WorkloadFile,
        subworkload=Annotated[
            str,
            typer.Argument(metavar="SUBWORKLOAD", help="As the workload file names it (subworkload: NAME)."),
        ],
        factors=Annotated[
            str,
            typer.Option(
                metavar="C,C",
                help="Factors of its queries' weights, separated by commas. Weights multiply squared errors.",
            ),
            "1,4,16",
        ],
        noise=Annotated[
            str,
            typer.Option(
                metavar="laplace|gaussian",
                help="gaussian: the program's strategies. laplace: products of strategies on the attributes.",
            ),
            "gaussian",
        ],
        program=Annotated[
            str | None,
            typer.Option(
                metavar="NAME|FILE", help="A program that minimises total error. Default: l2_strategy."
            ),
        ],
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        as_json=Json,
        verbose=Verbose,
    ),
    "templates": Command(
        "strategies_and_reports:templates",
        """Optimise strategies in factors, for domains of any size.

        Products, unions of them, weighted marginals, queries of few attributes. For workloads of products
        over domains too large for a matrix. The bound holds for every strategy. Where the file has
        privacy, rmse is the standard error of a release there, and the best first.
        """,
        workload=WorkloadFile,
        noise=Annotated[
            str | None,
            typer.Option(
                metavar="laplace|gaussian",
                help="laplace for ε, gaussian for (ε, δ). Default: those that the file's privacy allows, all "
                "templates in one list; without privacy gaussian.",
            ),
        ],
        names=Annotated[
            str | None,
            typer.Option(
                "--templates",
                metavar="A,B",
                help="identity, product, union, marginals, sectorwise (Gaussian noise). Default: all.",
            ),
        ],
        seed=Annotated[int, typer.Option(min=0, metavar="N", help="Seed of random starts."), 0],
        out=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE.npz", help="Save the best strategy, for 'mmopt release --strategy FILE.npz'."
            ),
        ],
        as_json=Json,
    ),
    "report": Command(
        "strategies_and_reports:report",
        """Write one HTML page on a workload, its strategy and a release.

        Queries, errors, program and bound; also solvers compared. It loads nothing, and reads on a phone
        and on paper. No table is read: of a release the page shows its answers, which are private
        already.
        """,
        workload=WorkloadFile,
        out=Annotated[
            Path,
            typer.Option(metavar="FILE.html", help="Write the page there; an existing file is replaced."),
        ],
        program=ProgramName,
        given=Given,
        strategy=SavedStrategy,
        release=Annotated[
            Path | None,
            typer.Option(metavar="FOLDER", help="A release of this workload: its strategy, its answers."),
        ],
        compare=Annotated[
            str | None,
            typer.Option(
                metavar="A,B",
                autocompletion=listed(program_words),
                help="Solve these programs too, and show them side by side.",
            ),
        ],
        solvers=Annotated[
            str | None,
            typer.Option(
                metavar="X,Y",
                autocompletion=listed(solver_words),
                help="Solvers to compare, of --compare; else of the program itself.",
            ),
        ],
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
    ),
    "release": Command(
        "accuracy_release_simulate:release",
        """Answer the queries on a table, with differential privacy.

        The answers are written with their intervals, and a manifest of what was done.

        Everything that can be refused is refused before the rows of the table are read.
        """,
        workload=WorkloadFile,
        data=DataFile,
        program=ProgramName,
        given=Given,
        strategy=SavedStrategy,
        out=Annotated[
            Path,
            typer.Option(metavar="DIR", help="New folder for answers, chart, strategy and manifest."),
            Path("release"),
        ],
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
        max_iterations=Iterations,
        threads=Threads,
        simulate=Annotated[
            int | None,
            typer.Option(
                min=0,
                metavar="SEED",
                help="Repeatable noise for trying things out. NOT private: never publish it.",
            ),
        ],
        confidence=Confidence,
        table=DatabaseTable,
        ledger=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE", help="Spend from this ledger ('mmopt ledger create'), or be refused by it."
            ),
        ],
        data_set=Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="The data set's name in the ledger. Default: that of the table of a database, where one "
                "is named, or of the file up to its first dot.",
            ),
        ],
        part=Annotated[
            str | None,
            typer.Option(
                metavar="VALUE", help="Count only the rows with this value of the ledger's partition."
            ),
        ],
        anyway=Annotated[
            bool, typer.Option("--anyway", help="Release though an accuracy wish will be missed.")
        ],
        as_json=Json,
        verbose=Verbose,
    ),
    "refine": Command(
        "accuracy_release_simulate:refine",
        """Make answers non-negative, whole and of known totals.

        Answers that counts can have stand beside the unbiased ones. They are the answers of counts, so
        that they add up, and as near to the released ones as can be, each distance in standard errors;
        how near is proved. It reads published numbers alone and spends no privacy. Refined answers are
        biased: standard errors and intervals stay those of the released estimates. Where queries tell
        more than 1,024 cells apart, counts are those of tables, any two with the same sums where they
        share attributes.
        """,
        folder=Annotated[Path, typer.Argument(metavar="FOLDER", help="Written by --out of 'mmopt release'.")],
        workload=WorkloadFile,
        total=Annotated[
            list[str] | None,
            typer.Option(
                metavar="[QUERY=]VALUE",
                help="How many rows were counted, without those that rules drop, where that is public; with "
                "the label of a query, as in answers.csv, its answer. May be repeated; those under 'known' "
                "in the workload file hold as well.",
            ),
        ],
        whole=Annotated[
            bool, typer.Option("--whole", help="Whole numbers, which still add up in hierarchies and tables.")
        ],
        out=Annotated[
            Path,
            typer.Option(metavar="DIR", help="New folder: the release, with a column 'refined'."),
            Path("refined"),
        ],
        tolerance=Tolerance,
        time_limit=TimeLimit,
        as_json=Json,
    ),
    "simulate": Command(
        "accuracy_release_simulate:simulate",
        """Simulate the errors of strategies on a table (NOT private).

        For choosing between strategies on data that may be seen, public data say: nothing that this
        prints may be published when the table is confidential.
        """,
        workload=WorkloadFile,
        data=DataFile,
        programs=Annotated[
            str | None,
            typer.Option(
                metavar="A,B", help="Programs to solve. Default: as for solve, unless --strategies."
            ),
        ],
        strategies=Annotated[
            str | None, typer.Option(metavar="FILE.npz,…", help="Solutions saved by 'mmopt solve --out'.")
        ],
        table=DatabaseTable,
        both=Annotated[
            bool, typer.Option("--both", help="Solve each program for 'normalise: rows' as well.")
        ],
        epsilon=Annotated[
            str | None, typer.Option(metavar="E,E", help="Epsilons. Default: the workload file's privacy.")
        ],
        delta=Annotated[
            float | None,
            typer.Option(metavar="D", help="Delta beside --epsilon. Default: the workload file's."),
        ],
        trials=Annotated[int, typer.Option(metavar="N", help="Draws of the noise."), 100],
        seed=Annotated[int, typer.Option(min=0, metavar="SEED", help="Seed of the noise."), 0],
        sanity=Annotated[
            float | None,
            typer.Option(
                metavar="COUNT", help="Least count that errors are divided by. Default: 0.1 % of the rows."
            ),
        ],
        tolerance=Tolerance,
        time_limit=TimeLimit,
        threads=Threads,
        as_json=Json,
    ),
}

#: The commands by job, in the order of a day; in ``mmopt --help`` a panel each.
PANELS: Mapping[str, tuple[str, ...]] = {
    "Release": (
        *("init", "check", "accuracy", "budget", "release"),
        *("show", "refine", "report", "ledger", "simulate"),
    ),
    "Choose and prove": ("solve", "verify", "certify", "explain", "programs", "export"),
    "Compare and teach": ("studio", "compare", "baselines", "templates", "tune"),
}

LEDGER_COMMANDS: Mapping[str, Command] = {
    "create": Command(
        "ledgers:create_ledger",
        """Declare what the releases of one data set may spend in all.""",
        file=Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, a new file.")],
        data_set=Annotated[
            str, typer.Option(metavar="NAME", help="Whose privacy is counted: the name that releases give.")
        ],
        rho=Annotated[
            float | None,
            typer.Option(
                metavar="R", help="The total, in zero-concentrated privacy: for all kinds of noise."
            ),
        ],
        epsilon=Annotated[
            float | None,
            typer.Option(metavar="E", help="The total, in pure epsilon: for Laplace noise alone."),
        ],
        neighbours=Annotated[
            str,
            typer.Option(
                metavar="UNIT",
                help="The unit of privacy, which that of each release has to be, as its manifest says it: "
                "add-remove, replace-one, 'rows 3', 'rows 3 of each person', …",
            ),
            "add-remove",
        ],
        partition=Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="Releases of the rows with one value of this column (--part) compose in parallel. For "
                "one row added or removed alone.",
            ),
        ],
    ),
    "show": Command(
        "ledgers:show_ledger",
        """List what was spent, when, on what, and what is left.""",
        file=LedgerFile,
        as_json=Json,
    ),
    "export": Command(
        "ledgers:export_ledger",
        """Write what was spent into a file for others to read.

        An existing one is replaced.
        """,
        file=LedgerFile,
        out=Annotated[
            Path,
            typer.Option(
                metavar="FILE", help="Write a .csv file, a line for each release, or a .json of all."
            ),
        ],
    ),
    "explain": Command(
        "ledgers:explain_ledger",
        """Say in words why the total holds.

        By which theorems, and to what (epsilon, delta) it amounts.
        """,
        file=LedgerFile,
    ),
}
