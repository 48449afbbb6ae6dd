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
        """List the shipped programs.""",
        solvers=Annotated[bool, typer.Option("--solvers", help="Show which solver accepts which program.")],
        as_json=Json,
    ),
    "show": Command(
        "programs:show",
        """Read back a release or a saved solution.

        For a release folder, the files are first checked against the manifest, and the figures are
        recomputed from the files. Then the first answers, their accuracy, the strategy and the guarantee
        are printed, and a list of what the manifest says but the files cannot confirm.

        For a saved solution, the stated figures and the iterations are printed. They are not checked
        here: use 'mmopt verify'. To explain a program, use 'mmopt explain PROGRAM'.
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
        """Explain a program, by itself or for a workload.

        Prints a description in words and formulas, the data it needs, its text, and the reason why it is
        convex. With a workload: the problem it becomes, its size, and the solvers that accept it. With a
        solution: what the multipliers mean. If a program is not convex, the part that breaks convexity
        is marked.
        """,
        program=OneProgram,
        workload=Annotated[
            Path | None,
            typer.Argument(
                metavar="[WORKLOAD]", help="Workload file: explain the problem for this workload."
            ),
        ],
        given=Given,
        solution=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE.npz", help="A saved solution: explain its multipliers and tight constraints."
            ),
        ],
        solve=Annotated[
            bool, typer.Option("--solve", help="Solve the program first, then explain the solution too.")
        ],
        latex=Annotated[bool, typer.Option("--latex", help="Print a LaTeX document.")],
        formulas=Annotated[
            bool, typer.Option("--formulas", help="Print only the formulas, as a LaTeX block.")
        ],
        html=Annotated[bool, typer.Option("--html", help="Print an HTML page in one file.")],
        out=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Write to this file; .html, .tex, .txt or .json sets the format. An existing file is "
                "replaced.",
            ),
        ],
        as_json=Json,
    ),
    "studio": Command(
        "programs:studio",
        """Try out programs on a page in your browser.

        The page has an editor that marks mistakes, expression trees with curvature, solutions,
        multipliers that you can set, a comparison of solvers, and a quiz. Program text is never executed,
        and nothing is stored. The server runs on this machine until you press Ctrl-C. Its address
        contains a secret token: do not share it.
        """,
        port=Annotated[
            int,
            typer.Option(metavar="N", min=0, max=65535, help="Port on 127.0.0.1; 0 picks a free one."),
            8347,
        ],
        only_print=Annotated[
            bool, typer.Option("--no-browser", help="Print the address without opening a browser.")
        ],
    ),
    "init": Command(
        "workload_files:init",
        """Draft a workload file from a table's columns, not its values.

        Bins and values have to come from public knowledge. At a terminal you are asked for them. What
        you leave open is marked FILL-IN, with a comment that says what belongs there. 'mmopt check' lists
        the marks that remain.
        """,
        data=DataFile,
        out=Annotated[
            Path,
            typer.Option(metavar="FILE.yaml", help="Write the draft to this file, which must not exist yet."),
            Path("workload.yaml"),
        ],
        column=Annotated[
            list[str] | None,
            typer.Option(
                metavar="NAME=FORM",
                help="What is publicly known about a column, written as in a workload file: 'age={range: "
                "[0, 100], width: 5}', 'sex={values: [F, M]}'; or NAME=skip. May be repeated.",
            ),
        ],
        only=Annotated[
            str | None, typer.Option(metavar="A,B", help="Use only these columns, separated by commas.")
        ],
        table=DatabaseTable,
        public=Annotated[
            bool,
            typer.Option(
                "--public",
                help="The table is public: read its values too, and propose domains that cover them.",
            ),
        ],
        ask=Annotated[
            bool | None,
            typer.Option("--ask/--no-ask", help="Ask for what is missing. Default: only at a terminal."),
        ],
    ),
    "check": Command(
        "workload_files:check",
        """Check a workload file, a table against it, or a program.

        Workload file: queries, domain and privacy. Table: column names and types. Program: shapes,
        curvature and weak duality.
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
                metavar="[DATA]", help="Table, as for 'release'; its column names and types are checked."
            ),
        ],
        table=DatabaseTable,
        cells=Annotated[
            bool,
            typer.Option("--cells", help="Print only the cells, in the order of the data vector."),
        ],
        seed=Annotated[
            int | None,
            typer.Option(min=0, metavar="N", help="Seed of the weak duality test. Default: fresh."),
        ],
        instances=Annotated[
            int | None,
            typer.Option(
                min=1, metavar="N", help="Number of random workloads for the weak duality test. Default: 5."
            ),
        ],
        given=Given,
    ),
    "accuracy": Command(
        "accuracy_release_simulate:accuracy",
        """Predict the accuracy of each answer, before any data is read.

        Prints the standard error of each query and the half width of its interval, at the file's privacy.
        'mmopt release' with the same file and options has the same figures. If every query has an
        accuracy target ('within' or 'max_variance'), only the privacy that the targets need is spent.
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
        """Find the least privacy budget that meets every accuracy target.

        A target is written with its queries in the workload file: 'within: 50' (counts, with 'confidence:
        0.95') or 'max_variance: 600'. Queries without a target are left out. A release that answers them
        too may miss targets at this budget.

        The budget has the same form as the file's privacy: epsilon at its delta, epsilon alone, or rho.
        If the file has no privacy, it is rho.
        """,
        workload=WorkloadFile,
        delta=Annotated[
            float | None,
            typer.Option(metavar="D", help="Find epsilon at this delta. Default: the delta in the file."),
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
        """Find the best strategy, and prove how good it is.

        If the file has privacy, the default is the strategy of least predicted error at that privacy, with
        Gaussian or Laplace noise. If every query has an accuracy target, it is the one that needs the least
        privacy. Ctrl-C stops the solve and returns the best point so far, with its bound.
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
                help="Start the search from this strategy only: a baseline such as haar (mmopt baselines "
                "lists them), a .npy or .csv file, or a saved solution (.npz). For programs of class rank or "
                "smooth.",
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
                help="Derive a proved bound from the objective and constraints, without the certificate. "
                "Default: only if no certificate proves a bound.",
            ),
        ],
        dry_run=Annotated[
            bool, typer.Option("--dry-run", help="Show sizes, cones, solvers and forecasts, without solving.")
        ],
        out=Annotated[
            Path | None,
            typer.Option(metavar="FILE.npz", help="Save the solution; an existing file is replaced."),
        ],
        history=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE.csv",
                help="Write one row per iteration: objective, bound, residuals, seconds, and whether the "
                "figures are computed by mmopt or reported by the solver. An existing file is replaced.",
            ),
        ],
        chart=GapChart,
        trace=Annotated[
            bool,
            typer.Option(
                "--trace",
                help="Show the path from text to answer as a tree: constraints, data, reductions, cones, "
                "solvers, repair and evaluation, with sizes and seconds. A template has no program, so only "
                "its evaluation is shown.",
            ),
        ],
        trace_page=Annotated[
            Path | None,
            typer.Option(
                "--trace-page",
                metavar="FILE.html",
                help="Write this tree as an HTML page with branches that open. An existing file is replaced.",
            ),
        ],
        as_json=Json,
        verbose=Annotated[
            bool,
            typer.Option("--verbose", help="Show the iterations, and on stderr what the solver prints."),
        ],
    ),
    "export": Command(
        "programs:export",
        """Write the compiled problem to a file for other software.

        The problem is neither reduced nor rescaled. A comment maps columns to variables. Use 'mmopt
        certify --point' to check a point that other software found.
        """,
        program=OneProgram,
        workload=WorkloadFile,
        form=Annotated[
            str | None,
            typer.Option(
                "--format",
                metavar="cbf|sdpa|mps|npz",
                help="Conic Benchmark Format, SDPA sparse, free MPS, or NumPy arrays. Default: the ending of "
                "--out, or cbf on standard output.",
            ),
        ],
        given=Given,
        out=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Write to this file; an existing file is replaced. Default: standard output.",
            ),
        ],
    ),
    "certify": Command(
        "strategies_and_reports:certify",
        """Evaluate any strategy or point, with a proved bound.

        The point is first made feasible by the program's 'repair'. The result says what that changed.
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
                help="Program; for a strategy, one with a section 'from strategy'. Default: as for solve, or "
                "a shipped program for norm 1.",
            ),
        ],
        point=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="A point of the program, instead of STRATEGY. A .json or .npz file has its variables by "
                "name, with or without multipliers; or the 'columns' and 'rows' of a problem written by "
                "mmopt export: x, and y in the dual cones with c + A.T @ y = 0. A .npy file has columns "
                "only.",
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
            typer.Option("--covariance", help="STRATEGY is the covariance of the noise on the basis."),
        ],
        basis=Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Basis for --covariance. Default: that of the workload."),
        ],
        no_solve=Annotated[bool, typer.Option("--no-solve", help="Do not call a solver for a better bound.")],
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

        The figures are recomputed from the saved variables or factors, without a solver. Only the bound
        of a factored strategy is searched for again.

        Exit status: 0 if every figure holds, 1 if one does not, 2 if the file cannot be read.
        """,
        solution=Annotated[
            Path, typer.Argument(metavar="SOLUTION", help="Saved by --out or Solution.save (.npz).")
        ],
        workload=WorkloadOrNone,
        program=Annotated[
            str | None,
            typer.Option(
                metavar="NAME|FILE",
                help="Program to compare the saved one with. Default: the shipped program of that name.",
            ),
        ],
        as_json=Json,
    ),
    "compare": Command(
        "compare:compare",
        """Rank programs, solvers and baselines on one workload.

        If the file has privacy, the ranking is by the standard error of a release at that privacy,
        whatever the noise. If every query has an accuracy target, it is by the least privacy cost that
        meets all targets. Without privacy, Gaussian and Laplace noise of variance 1 are ranked separately.

        Every program is run with every solver at every tolerance, each in its own process. What cannot be
        solved is listed with the reason. Ctrl-C stops and shows the results so far.

        'mmopt baselines' shows the baselines alone. 'mmopt templates' has factored strategies, for
        domains too large for most programs.
        """,
        workload=WorkloadOrNone,
        programs=Annotated[
            str | None,
            typer.Option(
                metavar="A,B",
                autocompletion=listed(program_words),
                help="Programs, separated by commas: shipped names, or paths ending in .program. Default: "
                "all shipped programs, except other formulations of the same problem, programs that set "
                "their own neighbour relation (such as replace_one), programs that give no strategy, and "
                "searches predicted to take more than a third of --time-limit.",
            ),
        ],
        formulations=Annotated[
            bool,
            typer.Option("--formulations", help="Include other shipped formulations of the same problems."),
        ],
        solvers=Annotated[
            str | None,
            typer.Option(
                metavar="X,Y",
                autocompletion=listed(solver_words),
                help="Solvers, separated by commas. 'all': the kernels that accept a program, and every "
                "installed solver. Default: the one that solve would choose.",
            ),
        ],
        tolerance=Annotated[
            str | None,
            typer.Option(
                metavar="GAP,GAP",
                help="Proved gaps to reach, separated by commas. Default: 1e-6, or 1e-4 for a first-order "
                "solver.",
            ),
        ],
        time_limit=Annotated[
            float,
            typer.Option(
                metavar="SECONDS",
                help="Time for each run of a solver. A solver that does not stop is killed at 1.2 times this "
                "limit plus 2 s.",
            ),
            60.0,
        ],
        total_time=Annotated[
            float | None,
            typer.Option(
                metavar="SECONDS",
                help="Time for all programs. Those not started by then are listed. Default: 300, or no limit "
                "with --programs.",
            ),
        ],
        memory_limit=Annotated[
            float | None,
            typer.Option(
                metavar="GIB",
                help="Memory limit for each run of a solver (Linux only). Default: three quarters of the "
                "machine's memory.",
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
                help="Baseline to compare with, with parameters if needed: "
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
        """List strategies that need no optimisation, with their errors.

        Baselines are hierarchies, wavelets, marginals and others. 'mmopt compare' ranks them together
        with programs.

        If the file has privacy, errors are the standard errors of a release at that privacy, smallest
        first, whatever the noise. Without privacy they are total squared errors for noise of variance 1
        per unit of sensitivity.
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
                help="Baseline, with parameters if needed: 'hierarchical(branching=16)'. May be repeated. "
                "Default: all.",
            ),
        ],
        as_json=Json,
    ),
    "tune": Command(
        "strategies_and_reports:tune",
        """Show what a sub-workload gains when its queries get more weight.

        The other queries lose accuracy in return. Errors are root mean squares per query at the file's
        privacy ('rmse' in --json). Without privacy, and for replaced rows and participations, they are for
        noise of variance 1 per unit of sensitivity ('unit_rmse').
        """,
        workload=WorkloadFile,
        subworkload=Annotated[
            str,
            typer.Argument(metavar="SUBWORKLOAD", help="Its name in the workload file (subworkload: NAME)."),
        ],
        factors=Annotated[
            str,
            typer.Option(
                metavar="C,C",
                help="Factors for the weights of its queries, separated by commas. Weights multiply squared "
                "errors.",
            ),
            "1,4,16",
        ],
        noise=Annotated[
            str,
            typer.Option(
                metavar="laplace|gaussian",
                help="gaussian: strategies of the program. laplace: products of strategies per attribute.",
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
        """Optimise factored strategies, for domains of any size.

        The templates are products, unions of products, weighted marginals, and queries of few attributes.
        They are for workloads of products over domains that are too large for a matrix. The bound holds
        for every strategy. If the file has privacy, rmse is the standard error of a release at that
        privacy, and the best strategy comes first.
        """,
        workload=WorkloadFile,
        noise=Annotated[
            str | None,
            typer.Option(
                metavar="laplace|gaussian",
                help="laplace for ε, gaussian for (ε, δ). Default: all noise that the file's privacy allows, "
                "in one list; gaussian without privacy.",
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
        """Write an HTML page on a workload, its strategy and a release.

        The page shows queries, errors, program and bound, and can compare solvers. It loads nothing from
        elsewhere, and can be read on a phone or printed. No table is read: the answers of a release are
        already private.
        """,
        workload=WorkloadFile,
        out=Annotated[
            Path,
            typer.Option(
                metavar="FILE.html", help="Write the page to this file; an existing file is replaced."
            ),
        ],
        program=ProgramName,
        given=Given,
        strategy=SavedStrategy,
        release=Annotated[
            Path | None,
            typer.Option(metavar="FOLDER", help="A release of this workload: show its strategy and answers."),
        ],
        compare=Annotated[
            str | None,
            typer.Option(
                metavar="A,B",
                autocompletion=listed(program_words),
                help="Solve these programs too, and compare them.",
            ),
        ],
        solvers=Annotated[
            str | None,
            typer.Option(
                metavar="X,Y",
                autocompletion=listed(solver_words),
                help="Solvers to compare, on the programs of --compare or else on the program itself.",
            ),
        ],
        solver=SolverName,
        tolerance=Tolerance,
        time_limit=TimeLimit,
    ),
    "release": Command(
        "accuracy_release_simulate:release",
        """Answer the queries on a table, with differential privacy.

        Writes the answers with their intervals, and a manifest that records how they were made. All checks
        that do not need the rows run before the rows are read.
        """,
        workload=WorkloadFile,
        data=DataFile,
        program=ProgramName,
        given=Given,
        strategy=SavedStrategy,
        out=Annotated[
            Path,
            typer.Option(metavar="DIR", help="New folder for the answers, chart, strategy and manifest."),
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
                help="Use repeatable noise for a trial run. NOT private: never publish the answers.",
            ),
        ],
        confidence=Confidence,
        table=DatabaseTable,
        ledger=Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Charge this ledger ('mmopt ledger create'). If too little is left, the release is "
                "refused.",
            ),
        ],
        data_set=Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="Name of the data set in the ledger. Default: the database table, if one is named, or "
                "the file name up to its first dot.",
            ),
        ],
        part=Annotated[
            str | None,
            typer.Option(
                metavar="VALUE", help="Count only rows with this value in the ledger's partition column."
            ),
        ],
        anyway=Annotated[
            bool, typer.Option("--anyway", help="Release even if an accuracy target will be missed.")
        ],
        as_json=Json,
        verbose=Verbose,
    ),
    "refine": Command(
        "accuracy_release_simulate:refine",
        """Make answers non-negative and consistent with known totals.

        All refined answers are computed from the same table of counts, so they add up. They are written
        next to the unbiased ones. The counts are those whose answers are nearest to the released ones,
        measured in standard errors. mmopt proves how near to the best they are. Only published numbers
        are read, so no privacy is spent.

        Refined answers are biased. Standard errors and intervals remain those of the released answers.

        If the queries distinguish more than 1,024 cells, the counts are those of tables of a few
        attributes. Any two of these tables agree on the counts for the attributes they share.
        """,
        folder=Annotated[Path, typer.Argument(metavar="FOLDER", help="Written by --out of 'mmopt release'.")],
        workload=WorkloadFile,
        total=Annotated[
            list[str] | None,
            typer.Option(
                metavar="[QUERY=]VALUE",
                help="A public total: the number of counted rows, without those that rules drop. QUERY=VALUE "
                "is the public answer to one query, by its label in answers.csv. May be repeated; totals "
                "under 'known' in the workload file also apply.",
            ),
        ],
        whole=Annotated[
            bool,
            typer.Option(
                "--whole", help="Make all answers whole; they still add up in hierarchies and tables."
            ),
        ],
        out=Annotated[
            Path,
            typer.Option(metavar="DIR", help="New folder for the release, with a column 'refined'."),
            Path("refined"),
        ],
        tolerance=Tolerance,
        time_limit=TimeLimit,
        as_json=Json,
    ),
    "simulate": Command(
        "accuracy_release_simulate:simulate",
        """Simulate the errors of strategies on a table (NOT private).

        Use it to choose between strategies on data that you may look at, such as public data. If the
        table is confidential, do not publish anything that this command prints.
        """,
        workload=WorkloadFile,
        data=DataFile,
        programs=Annotated[
            str | None,
            typer.Option(
                metavar="A,B", help="Programs to solve. Default: as for solve, or none with --strategies."
            ),
        ],
        strategies=Annotated[
            str | None, typer.Option(metavar="FILE.npz,…", help="Solutions saved by 'mmopt solve --out'.")
        ],
        table=DatabaseTable,
        both=Annotated[bool, typer.Option("--both", help="Also solve each program with 'normalise: rows'.")],
        epsilon=Annotated[
            str | None, typer.Option(metavar="E,E", help="Values of epsilon. Default: the file's privacy.")
        ],
        delta=Annotated[
            float | None,
            typer.Option(metavar="D", help="Delta for --epsilon. Default: that of the file."),
        ],
        trials=Annotated[int, typer.Option(metavar="N", help="Number of noise draws."), 100],
        seed=Annotated[int, typer.Option(min=0, metavar="SEED", help="Seed of the noise."), 0],
        sanity=Annotated[
            float | None,
            typer.Option(
                metavar="COUNT", help="Smallest count to divide errors by. Default: 0.1 % of the rows."
            ),
        ],
        tolerance=Tolerance,
        time_limit=TimeLimit,
        threads=Threads,
        as_json=Json,
    ),
}

#: The commands by job, in the usual order of use; in ``mmopt --help`` a panel each.
PANELS: Mapping[str, tuple[str, ...]] = {
    "Release": (
        *("init", "check", "accuracy", "budget", "release"),
        *("show", "refine", "report", "ledger", "simulate"),
    ),
    "Solve and prove": ("solve", "verify", "certify", "explain", "programs", "export"),
    "Compare and explore": ("studio", "compare", "baselines", "templates", "tune"),
}

LEDGER_COMMANDS: Mapping[str, Command] = {
    "create": Command(
        "ledgers:create_ledger",
        """Create a ledger: a total that releases may spend.""",
        file=Annotated[Path, typer.Argument(metavar="FILE", help="The ledger, a new file.")],
        data_set=Annotated[
            str, typer.Option(metavar="NAME", help="The data set's name, as releases give it.")
        ],
        rho=Annotated[
            float | None,
            typer.Option(
                metavar="R", help="The total, in zero-concentrated privacy; for every kind of noise."
            ),
        ],
        epsilon=Annotated[
            float | None,
            typer.Option(metavar="E", help="The total, in pure epsilon; for Laplace noise only."),
        ],
        neighbours=Annotated[
            str,
            typer.Option(
                metavar="UNIT",
                help="The unit of privacy, as manifests write it: add-remove, replace-one, 'rows 3', 'rows 3 "
                "of each person', … Every release must have the same unit.",
            ),
            "add-remove",
        ],
        partition=Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="Releases that count only rows with one value of this column (--part) compose in "
                "parallel. Requires the unit add-remove.",
            ),
        ],
    ),
    "show": Command(
        "ledgers:show_ledger",
        """List what was spent, when and on what, and what is left.""",
        file=LedgerFile,
        as_json=Json,
    ),
    "export": Command(
        "ledgers:export_ledger",
        """Write what was spent to a file for others to read.

        An existing file is replaced.
        """,
        file=LedgerFile,
        out=Annotated[
            Path,
            typer.Option(
                metavar="FILE", help="A .csv file with one line per release, or a .json file of everything."
            ),
        ],
    ),
    "explain": Command(
        "ledgers:explain_ledger",
        """Explain why the total holds.

        Names the theorems used, and the (epsilon, delta) that the total implies.
        """,
        file=LedgerFile,
    ),
}
