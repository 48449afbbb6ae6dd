"""The page of a run: what was reached and how fast, where each solver fails and in which words."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aggregates import ACCURACIES, FAR, best_gaps, counted_calls, mean_time, times_to
from ladders import CHART, ENOUGH, climbed, ladder_figure, ladder_table
from measured_solve import KERNEL
from profiles import profile_figure
from strengths import RULES, strengths
from truths import truth_table

from mmopt.errors import counted
from mmopt.installation_and_files import write_whole
from mmopt.limits import Stop
from mmopt.report.chart_parts import check_chart, save

__all__ = ["BEYOND_STOP", "check_out", "page_of", "write_page"]

Rows = Sequence[Mapping[str, Any]]
Chart = dict[str, dict[str, Any]]
ERRORS = tuple(f"err{i}" for i in range(1, 7))
BEYOND_STOP = "beyond the proved optimum"
BUSY = 0.5  # of the load before a run
LEAST_SECONDS = 1e-6  # of a call, for the logarithm of a profile


def check_out(folder: Path) -> None:
    """OptionError unless charts can be drawn."""
    check_chart(folder / "profile.svg")


def page_of(title: str, rows: Rows, facts: Mapping[str, Mapping[str, Any]]) -> tuple[str, dict[str, Chart]]:
    """The page in Markdown, and for each of its charts, by file name, the times of its panels by solver."""
    limit, shift, clock = (facts["settings"][k] for k in ("limit", "shift", "clock"))
    ladders, truths = climbed(rows, clock, limit), [row for row in rows if row["truth"] is not None]
    unknown = _unbounded(rows)
    every = [row for row in rows if row["instance"] not in unknown]
    rows = [row for row in every if row["ladder"] is None and row["truth"] is None]
    solvers = list(dict.fromkeys(row["solver"] for row in every))
    classes = list(dict.fromkeys(row["class"] for row in rows))
    times = {accuracy: times_to(rows, accuracy, clock, limit) for accuracy in ACCURACIES}
    taken = {
        solver: [i for i in _instances(rows, solver) if not _is_refused(rows, solver, i)]
        for solver in solvers
    }
    parts = [f"# {title}", *_warnings(every, facts)]
    if unknown:
        parts.append(
            f"**Left out: {', '.join(unknown)}.** Nothing bounds their optima, so no point is judged."
        )
    parts += _legend(limit, shift, clock, rows) if rows else []
    parts += ["## What each is good and bad at", RULES]
    parts.append(_table(["solver", "good at", "bad at"], strengths(every, ladders, facts["settings"]), "---"))
    charts: dict[str, Chart] = {}
    for name in ("all classes", *classes) if rows else ():
        instances = list(
            dict.fromkeys(row["instance"] for row in rows if name in ("all classes", row["class"]))
        )
        able = [s for s in solvers if set(instances) <= set(taken[s])]
        shown = solvers if name == "all classes" else able
        parts += [f"## {name[0].upper()}{name[1:]}: {counted(len(instances), 'instance')}"]
        table = []
        for solver in shown:
            own = [i for i in instances if i in taken[solver]]
            counts = [sum(math.isfinite(times[a][solver, i]) for i in own) for a in ACCURACIES]
            means = [
                f"{mean_time([times[a][solver, i] for i in own], shift, limit, factor):.3g}"
                if solver in able
                else "-"
                for a in ACCURACIES
                for factor in (1.0, FAR)
            ]
            table.append([solver, str(len(own)), *map(str, counts), *means])
        heads = [f"gap {a:.0e}" for a in ACCURACIES]
        charged = [f"{head}, {words}" for head in heads for words in ("×1", f"×{FAR:g}")]
        parts.append(_table(["solver", "takes", *heads, *charged], table))
        drawn = [s for s in shown if s != KERNEL or s in able]
        if name == "all classes" and len(instances) > 1 and drawn:
            file = f"profile-{'-'.join(name.lower().split())}.svg"
            charts[file] = {
                f"gap {a:.0e}": {
                    s: [max(times[a].get((s, i), math.inf), LEAST_SECONDS) for i in instances] for s in drawn
                }
                for a in ACCURACIES
            }
            parts.append(f"![Performance profiles, {name}]({file})")
    if len({row["suite"] for row in rows}) > 1:
        parts += ["## By suite", _by_suite(rows, solvers, times)]
    if ladders:
        parts += ["## How far each gets as the size grows", _ladder_words(limit, clock)]
        for name, steps in ladders.items():
            parts += [f"**{name}**", _table(*ladder_table(steps))]
        charts[CHART] = {name: dict(steps) for name, steps in ladders.items()}
        parts.append(f"![Time against size]({CHART})")
    if truths:
        parts += ["## Problems without a solution", TRUTH_WORDS, _table(*truth_table(truths), "---")]
    if rows:
        parts += ["## Where each fails", *_failures(rows, times, taken)]
        parts += ["## DIMACS errors of the solvers' own points", *_errors(rows, solvers, clock, limit)]
        parts += ["## Where the time goes", *_spent(rows, solvers, classes, clock)]
    parts += ["## Machine and versions", *_facts(facts)]
    return "\n\n".join(parts) + "\n", charts


def write_page(text: str, charts: Mapping[str, Chart], folder: Path) -> list[Path]:
    """The page and its charts as files; ResultError where that is not possible."""
    written = [folder / "page.md", *(folder / name for name in charts)]
    write_whole(written[0], text.encode())
    for path, chart in zip(written[1:], charts.values(), strict=True):
        save(path, partial(ladder_figure if path.name == CHART else profile_figure, chart))
    return written


TRUTH_WORDS = (
    "Each solver is called once, at 1e-6, on the problem in its own units; cvxpy with its defaults. "
    "*proved*: it says so, and its ray, moved within its own errors, proves it exactly (`proved_rays.py`). "
    "*ray up to 1e+06*: its ray is none exactly, and shows only that no feasible point (of an unbounded "
    "problem: no dual one) has all entries below that. *nothing*: no such word. Of a *weakly* infeasible or "
    "unbounded problem no ray is a proof: right are *nothing*, or the word; a ray with it reaches as far as "
    "shown. cvxpy hands on rays of infeasible problems, and none of unbounded ones. mmopt is taken at its "
    "word: its message says how far its proof reaches; of an unbounded problem it claims none."
)


def _ladder_words(limit: float, clock: str) -> str:
    words = "wall" if clock == "seconds" else "CPU"
    return (
        f"Seconds ({words}) to a gap of {ENOUGH:.0e}, proved from the solver's own x and y, by cells; "
        f"*largest*: of those solved within {limit:g} s of wall time. *no*: not reached, and no further step "
        "is tried; a dash: not called, or the solver does not take it."
    )


def _by_suite(rows: Rows, solvers: Iterable[str], times: Mapping[float, Any]) -> str:
    """How many instances of each suite each solver has solved, at each accuracy."""
    suites: dict[str, list[str]] = {}
    for row in rows:
        suites.setdefault(row["suite"], []).append(row["instance"])
    table = []
    for solver in solvers:
        cells = [
            " / ".join(
                str(sum(math.isfinite(times[a].get((solver, i), math.inf)) for i in dict.fromkeys(names)))
                for a in ACCURACIES
            )
            for names in suites.values()
        ]
        table.append([solver, *cells])
    heads = [f"{suite} ({len(set(names))})" for suite, names in suites.items()]
    return f"Solved to {', '.join(f'{a:.0e}' for a in ACCURACIES)}.\n\n{_table(['solver', *heads], table)}"


def _unbounded(rows: Rows) -> list[str]:
    """The instances that have points and, from whomever, no bound to judge them by."""
    judged = {row["instance"] for row in rows if row["gap"] is not None and row["gap"] < math.inf}
    plain = [row for row in rows if row["ladder"] is None and row["truth"] is None]
    pointed = {row["instance"] for row in plain if math.isfinite(row.get("objective") or math.inf)}
    bounded = {row["instance"] for row in plain if row["lower"] is not None}
    return sorted(pointed - judged - bounded)


def _instances(rows: Rows, solver: str) -> list[str]:
    return list(dict.fromkeys(row["instance"] for row in rows if row["solver"] == solver))


def _is_refused(rows: Rows, solver: str, instance: str) -> bool:
    """Whether the solver does not take such problems: that is no failure."""
    return any(
        row["stop"] == Stop.UNSUITABLE
        for row in rows
        if (row["solver"], row["instance"]) == (solver, instance)
    )


def _warnings(rows: Rows, facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Warn that not the whole suite was run, or that a point is better than it can be."""
    said = []
    load = facts.get("disturbances", {}).get("load", "0")
    if float(load.split()[0]) > BUSY:
        said.append(f"**On a busy machine: its load was {load}.** Small differences in time mean nothing.")
    counts = facts.get("instances")
    if counts and counts["done"] < counts["chosen"]:
        said.append(
            f"**Partial: interrupted after {counts['done']} of {counts['chosen']} instances chosen.** The "
            "instance that was interrupted is left out."
        )
    elif counts and counts["done"] < counts["of the suite"]:
        said.append(f"**Partial: {counts['done']} of the suite's {counts['of the suite']} instances.**")
    said += [
        f"**Error: {row['solver']} on {row['instance']}: {row['reason']}.** The call is not counted."
        for row in rows
        if row["stop"] == BEYOND_STOP
    ]
    return said


def _legend(limit: float, shift: float, clock: str, rows: Rows) -> list[str]:
    proved = len({row["instance"] for row in rows if row["lower"] is not None})
    count = len({row["instance"] for row in rows})
    words = "wall" if clock == "seconds" else "CPU"
    return [
        "Each solver on each instance, called at tolerances from 1e-3 to 1e-11, each time in a fresh "
        f"process, for {limit:g} s of wall time in all. mmopt repairs each point and evaluates it from the "
        "program file; "
        f"its *gap* is the distance of that objective from the proved optimum ({proved} of {count} "
        "instances; else from a bound that is proved once, from the program's certificate or its lines), "
        "relative where both are positive. So it judges x; the errors below judge y too.",
        f"*gap 1e-06*: instances with a call that reached it; *×1*, *×{FAR:g}*: shifted geometric mean of "
        f"the {words} seconds of the quickest such call, compiling left out, shift {shift:g} s, a failure "
        "charged so many limits. A dash: the solver does not take all these instances. A profile shows "
        "the share of the instances solved within a factor of the quickest solver; what a solver does not "
        "take is not solved.",
        "All take the same cone problem, compiled and scaled by mmopt. *cvxpy:clarabel* is plain cvxpy: that "
        "problem written in cvxpy and solved once with all defaults; its gap is of its point after mmopt's "
        "repair, as everybody's, its errors are of the point before. *mmopt* (as it chooses, with its proof) "
        "and *kernel* (its own solver) take the program, and their time has compiling and proof in it.",
    ]


def _failures(rows: Rows, times: Mapping[float, Any], taken: Mapping[str, Sequence[str]]) -> list[str]:
    gaps, lines = best_gaps(rows), []
    for solver, instances in taken.items():
        refused = [i for i in _instances(rows, solver) if i not in instances]
        said: list[str] = []
        for coarser, accuracy in zip((None, *ACCURACIES), ACCURACIES, strict=False):
            groups: dict[str, list[str]] = {}
            for i in instances:
                missed = math.isinf(times[accuracy][solver, i])
                if missed and (coarser is None or math.isfinite(times[coarser][solver, i])):
                    gap = gaps[solver, i]
                    best = "no point" if math.isinf(gap) else f"{gap:.1e}"
                    late = ", late" * (gap <= accuracy)
                    groups.setdefault(_why(rows, solver, i), []).append(f"{i} ({best}{late})")
            for why, names in groups.items():
                said.append(f"- not to {accuracy:.0e}, {why}: {', '.join(names)}")
        if refused:
            said.append(f"- does not take {len(refused)}: {_why(rows, solver, refused[0])}")
        lines.append(f"**{solver}**" + ("" if said else ": nowhere"))
        if said:
            lines.append("\n".join(said))
    return lines


def _why(rows: Rows, solver: str, instance: str) -> str:
    """The solver's last word, or why it gave none."""
    own = [row for row in rows if (row["solver"], row["instance"]) == (solver, instance)]
    word = next((row["word"] for row in reversed(own) if row["word"]), "")
    reason = own[-1]["reason"]
    if word and word in reason:
        word = ""
    return " — ".join(part for part in (f'"{word}"' if word else "", reason) if part) or str(own[-1]["stop"])


def _errors(rows: Rows, solvers: Iterable[str], clock: str, limit: float) -> list[str]:
    """The median and the worst of each error over instances, at the call that counts."""
    finest = ACCURACIES[-1]
    by_accuracy = {a: counted_calls(rows, a, clock, limit) for a in ACCURACIES}
    table = []
    for solver in solvers:
        counted = {
            a: [r for (name, _), r in calls.items() if name == solver and _has_errors(r)]
            for a, calls in by_accuracy.items()
        }
        if any(counted.values()):
            worst = [[max(abs(row[e]) for e in ERRORS) for row in counted[a]] for a in ACCURACIES]
            sizes = [[abs(row[e]) for row in counted[finest]] for e in ERRORS]
            table.append([solver, *map(_median_and_largest, [*worst, *sizes])])
    return [
        "Median and largest over the instances. *worst at*: the largest of the six, of the solver's point as "
        "it was before the repair, at the call that counts for that gap; where it is far above the gap, the "
        f"accuracy is partly the repair's. The six singly, at the call that counts for {finest:.0e}: err1, "
        "err2: (x, s) on its equations and in its cones; err3, err4: y; err5: objectives; err6: s and y. "
        "`dimacs_errors.py` has the formulas.",
        _table(["solver", *(f"worst at {a:.0e}" for a in ACCURACIES), *ERRORS], table),
    ]


def _has_errors(row: Mapping[str, Any]) -> bool:
    return row["err1"] is not None and not math.isnan(row["err1"])


def _median_and_largest(sizes: Sequence[float]) -> str:
    return f"{statistics.median(sizes):.0e} / {max(sizes):.0e}" if sizes else "-"


def _spent(rows: Rows, solvers: Iterable[str], classes: Iterable[str], clock: str) -> list[str]:
    table = []
    for solver in solvers:
        for name in classes:
            own = [
                r for r in rows if (r["solver"], r["class"]) == (solver, name) and r["seconds"] is not None
            ]
            if own:
                wrapper = [r["seconds"] - r["own"] for r in own if r["own"] is not None]
                figures = (
                    [r["compile"] for r in own],
                    wrapper,
                    [r["own"] for r in own if r["own"] is not None],
                    [r["seconds"] for r in own],
                    [r["cpu"] for r in own],
                )
                ends = [
                    [
                        (r[f"{clock}_least"], r[clock], r[f"{clock}_most"])[k]
                        for r in own
                        if r[f"{clock}_least"]
                    ]
                    for k in range(3)
                ]
                table.append(
                    [
                        solver,
                        name,
                        *(f"{1e3 * statistics.median(f):.2g}" if f else "-" for f in figures),
                        " / ".join(f"{1e3 * statistics.median(end):.2g}" for end in ends if end) or "-",
                    ]
                )
    return [
        "Medians over all calls, in milliseconds. *compile*: from program and workload to the conic "
        "problem, by mmopt; *wrapper*: into the solver's form and back; *solver*: what it takes itself; "
        "*call*: both; *CPU*: of the call. Each of these is the median of up to as many repeats as the "
        "settings say; *spread*: the medians of their least, median and largest, by the clock that counts.",
        _table(["solver", "class", "compile", "wrapper", "solver", "call", "CPU", "spread"], table),
    ]


def _facts(facts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines = [
        f"- {part}: " + ", ".join(f"{k} {v}" for k, v in values.items()) for part, values in facts.items()
    ]
    return ["\n".join(lines)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str = "---:") -> str:
    lines = [heads, ["---", *[align] * (len(heads) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
