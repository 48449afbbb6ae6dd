"""Tables of accuracy, plans, answers and ledgers.

Before any data there are tables of the accuracy of answers and of their shares of the cost, by group of
queries and by query, and of a planned release and simulated errors. A release has tables of its answers, and
rows about its queries, its cost and its accuracy, all from its manifest. A ledger has a table of its entries,
release by release.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mmopt.errors import counted, whole
from mmopt.ledger import Ledger
from mmopt.ledger.account import shown
from mmopt.mechanism.measured_and_simulated_releases import GroupErrors, Simulated
from mmopt.mechanism.release_plan import Plan, row_rules, wishes_and_missed
from mmopt.mechanism.release_writing import SIMULATED
from mmopt.mechanism.standard_errors_and_intervals import BEYOND
from mmopt.numerics.arrays import Array, rounded
from mmopt.report.table_style import (
    WARNING_ROWS,
    Row,
    Table,
    bold,
    by_reason,
    cell,
    few,
    figure,
    in_order,
    more_rows,
    pairs_table,
    percent,
    rows_table,
    wish_words,
)
from mmopt.results import Frame
from mmopt.strategies import Neighbours

ROUNDED = 1e-6  # of a half width: more than the rounding of both ends of an interval
EXACT = 1 - 2 * BEYOND  # takes away the margin that is added to half widths: 15, not 15.01
RULES = {"refuse": "refused", "drop": "dropped"}  # in words; any other rule is the label of a cell
NOISE_ALONE = "errors and intervals: for the noise only, not for sampling"
QUERIES_SHOWN = 10  # of a group
SHARES_SHOWN = 10  # queries on which a budget is spent


def accuracy_by_group(plan: Plan, confidence: float) -> Table:
    """Standard errors of each group, its largest half width, its target, and whether that is met."""
    widths = plan.intervals(confidence).widths * EXACT
    groups, wanted = plan.workload.groups(), wishes_and_missed(plan)
    return replace(_accuracy(groups, plan.standard_errors, widths, wanted, confidence), title=NOISE_ALONE)


def accuracy_of_answers(answers: Frame, accuracy: Mapping[str, Any]) -> Table:
    """``accuracy_by_group`` of answers, with what their manifest says of the accuracy."""
    groups, wanted = answer_groups(answers), accuracy.get("asked", {})
    widths = (answers["high"] - answers["low"]) / 2 * (1 - ROUNDED)
    wishes = [wanted.get(name, {}) for name, _ in groups]
    return _accuracy(groups, answers["standard_error"], widths, wishes, float(accuracy["confidence"]))


def _accuracy(
    groups: Sequence[tuple[str, slice]],
    errors: Array,
    widths: Array,
    wanted: Sequence[Mapping[str, float]],
    confidence: float,
) -> Table:
    """A row for each group: its standard errors, its largest half width, what was asked, whether it holds."""
    rows = []
    for (name, part), wish in zip(groups, wanted, strict=True):
        each = errors[part]
        values = (each.min(), np.sqrt(np.mean(each**2)), each.max(), widths[part].max())
        row = [bold(name), f"{len(each):,}", *(figure(float(v), 4, up=True) for v in values)]
        if any(wanted):
            held = f"{wish['missed']} missed" if wish.get("missed") else "yes" if wish else ""
            row += [wish_words(wish), held]
        rows.append(row)
    numbers = ["queries", "least", "rms", "largest", f"± {percent(confidence)}"]
    headings = ["target", "held"] if any(wanted) else []
    return rows_table(["standard error of", *numbers, *headings], rows, numbers, whole=headings)


def unmet_words(groups: Sequence[tuple[str, slice]], wanted: Iterable[Mapping[str, float]]) -> str:
    """The number of queries that miss their target, in words, by group; "" where none does."""
    missed = [
        f"{wish['missed']:,} of {part.stop - part.start:,} in '{name}' ({wish_words(wish)})"
        for (name, part), wish in zip(groups, wanted, strict=True)
        if wish.get("missed")
    ]
    return few(missed, most=6)


def accuracy_by_query(plan: Plan, confidence: float) -> Table:
    """The first queries of each group: standard error and half width of the interval."""
    widths = plan.intervals(confidence).widths
    rows: list[Row] = []
    for block, (name, part) in zip(plan.workload.blocks, plan.workload.groups(), strict=True):
        rows.append((bold(name),))
        for i, label in enumerate(block.labels(plan.workload.domain, QUERIES_SHOWN), part.start):
            values = (figure(value, 4, up=True) for value in (plan.standard_errors[i], widths[i] * EXACT))
            rows.append((f"  {label}", *values))
        rows += more_rows(part.stop - part.start - QUERIES_SHOWN, "  ")
    numbers = ("standard error", f"± {percent(confidence)}")
    return rows_table(("query", *numbers), rows, numbers)


def shares_by_group(plan: Plan, shares: Array, savings: Array | None) -> Table:
    """A row for each group: its target, its share of the cost, and the saving if all of it is relaxed."""
    groups = zip(plan.workload.groups(), plan.workload.wishes_by_group(), strict=True)
    rows = [
        (
            bold(name),
            f"{part.stop - part.start:,}",
            wish_words(wanted),
            *_share(shares[part].sum(), savings, i),
        )
        for i, ((name, part), wanted) in enumerate(groups)
    ]
    numbers = _SHARE[: 1 if savings is None else 2]
    return rows_table(("group", "queries", "target", *numbers), rows, ("queries", *numbers))


def shares_by_query(plan: Plan, shares: Array, savings: Array | None) -> Table:
    """The queries with the largest shares of the cost."""
    order = np.argsort(-shares, kind="stable")[:SHARES_SHOWN]
    labels = plan.workload.labels()
    rows = [(labels[i], *_share(shares[i], savings, i)) for i in order if shares[i] > 0]
    numbers = _SHARE[: 1 if savings is None else 2]
    return rows_table(("query that binds", *numbers), rows, numbers)


_SHARE = ("share of cost", "10 % wider saves")


def _share(share: float, savings: Array | None, i: int) -> list[str]:
    """A share in per cent, and of known savings the one at ``i``, as a limit rounded up to a tenth."""
    saved = [] if savings is None else [f"≤ {math.ceil(1000 * float(savings[i])) / 10:.1f} %"]
    return [f"{100 * share:.1f} %", *saved]


DIGITS = 12  # shown of a hash


def entries_table(ledger: Ledger) -> Table:
    """A row for each release, with the first digits of its hash."""
    terms, entries = ledger.account.terms, ledger.account.entries
    has_parts = terms.partition is not None
    heads = ["entry", terms.measure, *(["part"] * has_parts), "workload", "sha256", "time (UTC)", "folder"]
    rows = [
        [
            str(entry.number),
            shown(entry.spent),
            *([entry.part or "all rows"] * has_parts),
            entry.workload or "-",
            entry.workload_hash[:DIGITS],
            entry.time.partition("+")[0],
            "no folder was confirmed" if entry.state == "spent" else entry.folder,
        ]
        for entry in entries
    ]
    return rows_table(heads, rows, right=("entry", terms.measure))


NOT_PRIVATE = "SIMULATED ON THE DATA: these figures are not private and must not be published"
GROUPS_SHOWN = 12  # in a table of answers or of simulated errors


def privacy_rows(plan: Plan) -> list[tuple[str, str]]:
    """The cost of a release, the theorem for it, and its noise, as (name, text)."""
    remarks = (
        ("counted", _counted(plan.neighbours, row_rules(plan.workload))),
        ("scaled", plan.scaled_from),
        ("not covered", plan.not_covered),
        ("missed targets", unmet_words(plan.workload.groups(), wishes_and_missed(plan))),
        ("rounding", plan.rounding),
        ("warning", plan.warning),
    )
    return [
        ("privacy cost", cost_words(plan.rho, plan.epsilon, plan.delta)),
        ("allowed", plan.allowed_words),
        ("neighbours", plan.neighbours.words),
        ("sensitivity", plan.sensitivity_of),
        *((name, text) for name, text in remarks if text),
        ("theorem", plan.theorem),
        ("noise", f"{plan.kind} of scale {plan.noise:.6g} on the strategy's queries"),
        ("rmse", _rmse_words(plan.rmse, "predicted, per query", plan.why_bounds)),
    ]


def _rmse_words(rmse: float, of: str, bound: str) -> str:
    """A root mean squared error in words; bound : why it is one, or ""."""
    return f"{rounded(rmse, 6, up=True)} {of}{f' ({bound})' if bound else ''}"


def _counted(unit: Neighbours, rules: Mapping[str, Mapping[str, str]]) -> str:
    """The rows that are in the answers, in words; "" where these are all. rules : as ``row_rules``."""
    dropped = [repr(name) for name, one in rules.items() if "drop" in (one["outside"], one["missing"])]
    parts = [f"rows without a cell of {few(dropped, most=4)} are in no answer"] * bool(dropped)
    if unit.column:
        rows = f"at most {counted(unit.at_most, 'row')} of each {unit.column}"
        parts.insert(0, f"{rows}: answers and intervals are of these rows, not of all")
    return "; ".join(parts)


def _counted_by(manifest: Mapping[str, Any]) -> str:
    """``_counted`` of a release."""
    rules = (manifest.get("rows") or {}).get("rules", {})
    return _counted(Neighbours.of(manifest["privacy"]["neighbours"]), rules)


def cost_words(rho: float | None, epsilon: float | None, delta: float | None) -> str:
    """The privacy cost of a release in words, rounded up."""
    if rho is None:
        return f"epsilon = {rounded(str(epsilon), 6, up=True)}, pure (delta = 0)"
    at = "" if epsilon is None else f", epsilon = {rounded(str(epsilon), 6, up=True)} at delta = {delta!r}"
    return f"rho = {rounded(str(rho), 6, up=True)}{at}"


def answer_groups(frame: Frame) -> list[tuple[str, slice]]:
    """Names and rows of the groups of queries of an ``answers_frame``, in their order."""
    names = frame["query"].tolist()
    starts = [i for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    return [(names[a], slice(a, b)) for a, b in zip(starts, [*starts[1:], len(names)], strict=True)]


def answers_table(
    frame: Frame,
    first: int = 3,
    groups: int = GROUPS_SHOWN,
    manifest: Mapping[str, Any] | None = None,
) -> Table:
    """The first few answers of the first groups, with standard error and interval, of an ``answers_frame``.

    manifest : of the release, which says what is counted.
    """
    interval = f"{percent(frame.metadata['confidence'])} interval"
    parts = answer_groups(frame)
    rows: list[Row] = []
    for name, part in parts[:groups]:
        rows.append((bold(name),))
        rows += [_answer(frame, i) for i in range(part.start, min(part.stop, part.start + first))]
        rows += more_rows(part.stop - part.start - first, "  ")
    if len(parts) > groups:
        rows.append((cell(f"… {counted(len(parts) - groups, 'group')} more", "dim"),))
    numbers = ("answer", "standard error", interval, *(("refined",) if "refined" in frame.metadata else ()))
    title = "\n".join(filter(None, (NOISE_ALONE, _counted_by(manifest) if manifest else "")))
    return rows_table(("query", *numbers), rows, numbers, title)


def release_tables(
    manifest: Mapping[str, Any],
    answers: Frame,
    more: Iterable[tuple[str, str]] = (),
    first: int = 3,
    groups: int = GROUPS_SHOWN,
) -> list[Table]:
    """A release in the order of reading: warnings, its answers, their accuracy, and the rows about it.

    more : further rows; those of the manifest have priority. first : answers shown of each of so many groups.
    """
    rows = release_rows(manifest, answers)
    rows = in_order([*rows, *more, *rows])
    loud = [row for row in rows if row[0] in WARNING_ROWS]
    return [
        *[pairs_table(loud)] * bool(loud),
        answers_table(answers, first, groups, manifest),
        accuracy_of_answers(answers, manifest["accuracy"]),
        pairs_table(rows[len(loud) :]),
    ]


def _answer(frame: Frame, i: int) -> Row:
    """Row ``i`` of an ``answers_frame``, its numbers to as many decimals as its standard error needs."""
    error = float(frame["standard_error"][i])
    places = decimals(error)
    row = [
        f"  {frame['label'][i]}",
        f"{float(frame['estimate'][i]):z,.{places}f}",
        f"{error:.3g}" if 0 < error < 1e-6 else f"{error:,.{places}f}",
        interval(frame, i, places),
    ]
    if "refined" in frame.metadata:
        refined = float(frame["refined"][i])
        row.append(f"{refined:,.{0 if refined.is_integer() else places}f}")
    return row


def interval(frame: Frame, row: int, places: int) -> str:
    """The interval of an answer, its ends rounded outwards to so many decimals."""
    ends = (("low", ROUND_FLOOR), ("high", ROUND_CEILING))
    unit, context = Decimal(1).scaleb(-places), Context(prec=400)
    rounded_ends = (
        Decimal(repr(float(frame[name][row]))).quantize(unit, side, context) for name, side in ends
    )
    return f"[{', '.join(f'{end:z,f}' for end in rounded_ends)}]"


def decimals(error: float) -> int:
    """Decimals that show three digits of a standard error, at most six."""
    # Rounded first: 9.9999 is shown as 10.0, not as 10.00.
    return max(0, min(6, 2 - math.floor(math.log10(float(f"{error:.3g}"))))) if error > 0 else 0


def simulated_table(runs: Sequence[tuple[str, Simulated]]) -> Table:
    """A table of strategies by name under one privacy: each group's errors, then those of all queries."""
    numbers = ("relative", "±", "expected", "rmse", "predicted")
    rows: list[Row] = []
    for name, run in runs:
        rows.append((bold(f"{name} ({run.noise})"),))
        groups = run.groups if len(run.groups) > 1 else ()
        rows += [*map(_errors, groups[:GROUPS_SHOWN]), *more_rows(len(groups) - GROUPS_SHOWN, "  ")]
        rows.append(_errors(run.whole))
    return rows_table(("queries", *numbers), rows, numbers, str(runs[0][1].privacy or "set by targets"))


def _errors(errors: GroupErrors) -> Row:
    """The simulated and predicted errors of a group, or of all queries."""
    values = (errors.relative, errors.spread, errors.expected, errors.rmse, errors.predicted)
    return f"  {errors.name}", *(figure(v, d) for v, d in zip(values, (4, 1, 4, 4, 4), strict=True))


def release_rows(manifest: Mapping[str, Any], answers: Frame | None = None) -> list[tuple[str, str]]:
    """(name, text) for a manifest, of this version or of 0.1.0; a simulated one begins with a warning.

    answers : with them, also which targets are missed.
    """
    workload, privacy, noise = manifest["workload"], manifest["privacy"], manifest["noise"]
    accuracy, versions, refined = manifest["accuracy"], manifest["versions"], manifest.get("refined")
    file = manifest.get("workload_file", {}).get("name")
    covered = accuracy["coverage"]
    least = rounded(str(covered["least"]), 6, up=False)
    kind = "a lower bound" if covered["kind"] == "lower bound" else "by the law of the noise as it is drawn"
    groups, wanted = [] if answers is None else answer_groups(answers), accuracy.get("asked", {})
    rows = [
        ("not private", "" if manifest["private"] else SIMULATED),
        ("warning", manifest.get("warning", "")),
        ("missed targets", unmet_words(groups, [wanted.get(name, {}) for name, _ in groups])),
        (
            "workload",
            f"{workload['queries']:,} queries over {whole(workload['cells'])} cells"
            + (f", '{file}'" if file else ""),
        ),
        ("rows", _rows_words(manifest["rows"]) if "rows" in manifest else ""),
        ("chosen", manifest.get("chosen", "")),
        ("strategy", _strategy(manifest)),
        ("privacy cost", cost_words(privacy["rho"], privacy["epsilon"], privacy["delta"])),
        ("allowed", str(manifest.get("allowed") or "")),  # which older ones lack
        ("neighbours", Neighbours.of(privacy["neighbours"]).words),
        ("counted", _counted_by(manifest)),
        ("sensitivity", privacy.get("sensitivity", "")),
        ("scaled", privacy.get("scaled", "")),
        ("not covered", privacy.get("not_covered", "")),
        ("known", known_words(manifest["known"]) if "known" in manifest else ""),
        ("theorem", privacy["theorem"]),
        (
            "noise",
            f"{noise['kind']}, of scale {noise['scale_at_unit_strategy']:.6g} on the strategy's queries",
        ),
        ("rmse", _rmse_words(float(accuracy["rmse"]), "per query", accuracy.get("errors", ""))),
        ("refined", _refined_words(refined) if refined else ""),
        ("optimum", _optimum(refined) if refined else ""),
        (
            "intervals",
            f"{percent(float(accuracy['confidence']))}, each alone; each holds its count with "
            f"probability {least} or more ({kind})",
        ),
        ("ledger", _entry(ledger) if (ledger := manifest.get("ledger")) else ""),
        ("released", f"{manifest['time']}, by mmopt {versions['mmopt']}"),
    ]
    return [(name, text) for name, text in rows if text]


def known_words(about: Mapping[str, Any]) -> str:
    """The public totals of a workload file, in words."""
    each = (f"{one['of'] or 'all rows'}: {one['value']:.12g}" for one in about["totals"])
    return f"{', '.join(each)}; {about['note']}"


def _rows_words(rows: Mapping[str, Any]) -> str:
    """The declared treatment of rows, in words: where those without a cell go, how values are read."""
    rules, parts = rows["rules"], []
    for key, values in (("outside", "values outside the domain"), ("missing", "missing values")):
        by_rule = by_reason(
            (RULES.get(one[key], f"counted as '{one[key]}'"), name) for name, one in rules.items()
        )
        each = (rule + f" ({few(names, most=4)})" * (len(by_rule) > 1) for rule, names in by_rule)
        parts.append((by_rule, f"{values} {', '.join(each)}"))
    filters = [name for name, one in rules.items() if one["use"] == "filter"]
    parts += [
        (rows["null"], f"missing are also {', '.join(map(repr, rows['null'] or ()))}"),
        (rows["spelling"] != "exact", f"spelling {rows['spelling']}"),
        (rows["weight"], f"a line stands for as many rows as its '{rows['weight']}' says"),
        (filters, f"only filters: {few(filters)}"),
    ]
    return "; ".join(text for is_declared, text in parts if is_declared)


def _entry(ledger: Mapping[str, Any]) -> str:
    """The entry of a ledger, in words: what was spent, and what is left."""
    measure, part = ledger["measure"], ledger.get("part")
    part_words = f", part '{part['value']}' of '{part['column']}'" if part else ""
    spent = rounded(str(ledger["spent"]), 6, up=True)
    left, total = (shown(Fraction(ledger[name]), is_left=True) for name in ("left", "total"))
    entry = f"entry {ledger['entry']} of the data set '{ledger['data_set']}'{part_words}"
    return f"{entry}: {measure} {spent} spent of {total}, {left} left after it"


def _strategy(manifest: Mapping[str, Any]) -> str:
    """The strategy in words: its program or template, and the number of measured queries."""
    program, solution = manifest.get("program"), manifest.get("solution", {})
    name = program.get("name", "") if isinstance(program, Mapping) else str(program or "")
    words = name or (f"template {solution['template']}" if solution.get("template") else "")
    rows = f"{manifest['strategy']['rows']:,} measured queries"
    return f"{words}: {rows}" if words else rows


def _refined_words(about: Mapping[str, Any]) -> str:
    """The rules of the refined answers, and what they cost."""
    totals = "".join(f", {total['of']}: {total['value']:.12g}" for total in about["totals"])
    whole = about["whole"]
    near = "" if whole is None else f"{whole['within_one']:,} of them less than 1 from the value before"
    if whole is not None and whole["others"]:
        off = rounded(float(whole["largest_distance_of_others"]), 3, up=True)
        near += f", {whole['others']:,} off by up to {off}"
    remarks = f"{about['agreement']}; {about['note']}" if "agreement" in about else about["note"]
    remarks += f"; {about['not_covered']}" if "not_covered" in about else ""
    return f"non-negative{totals}{f', whole ({near})' if near else ''}; {remarks}"


def _optimum(about: Mapping[str, Any]) -> str:
    """The distance of refined answers, before they are made whole, from the best ones, in words."""
    far = about["standard_errors_from_best"]
    if far is None:
        return f"not proved: {about['status']}"
    words = f"gap {rounded(float(about['gap']), 2, up=True, layout='e')}, {about['grade']}"
    near = rounded(float(far), 2, up=True, layout="e")
    return f"{words}: each answer within {near} standard errors of its best value"
