// The view of a solution: its figures and what they rest on, the strategy, errors, gap against time.

import { errorChart, gapChart, heatMap } from "./charts.js";
import { el, fill, folded, shown, shownGap, table } from "./dom.js";

/** Labels of the rows that are shown above the list, or elsewhere. */
const ABOVE = new Set(["program", "solver", "status", "objective", "bound", "gap", "seconds", "warning"]);

/** The most entries of a vector that are shown in a line. */
const SHORT = 12;

/** The view; `jump(problem)` shows the place of one; it keeps the chosen epsilon and what is open from one solution to the next. */
export class SolutionTab {
  constructor(panel, jump) {
    this.panel = panel;
    this.jump = jump;
    this.epsilon = 1;
    this.isLog = false;
    this.open = {};
    this.idle();
  }

  /** Nothing was solved yet. */
  idle(words = ["Press Solve", el("span", { class: "of-workload" }, ": the program is solved for the queries chosen above"), "."]) {
    fill(this.panel, el("p", {}, words));
  }

  /** A solve that runs, with its points so far. */
  running(points, seconds, sense) {
    const last = points.at(-1), way = { minimize: 1, maximize: -1 }[sense] ?? 0;
    fill(this.panel, el("p", {}, `Solving since ${shown(seconds, 3)} s.`),
      last && this.figures([["objective", shown(last.objective, 7, way)], [way < 0 ? "upper bound" : "bound", shown(last.bound, 7, -way)], ["gap", shownGap(last.gap)]]),
      points.length > 1 && [el("h3", {}, "Gap against time"), gapChart(points)]);
  }

  /** A solve that ended without a solution. */
  failed(problem, stop) {
    fill(this.panel, el("p", { class: "wrong" }, stop && stop !== "no result" ? `No solution: ${stop}.` : "No solution."),
      problem && (problem.line > 0 ? el("button", { type: "button", class: "problem", onclick: () => this.jump(problem) },
        el("span", { class: "where" }, `${problem.file === "workload" ? "workload file, " : ""}${problem.line}:${problem.column} `), problem.message)
        : el("p", {}, problem.message)), problem?.hint && el("p", { class: "faint hint" }, problem.hint));
  }

  /** Objective, bound and gap, large, each with a text and what it rests on. */
  figures(figures) {
    return el("dl", { class: "figures" }, figures.map(([name, value, below]) => el("div", { class: "figure" },
      el("dt", {}, name), el("dd", {}, value), below && el("dd", { class: "faint" }, below))));
  }

  /** A solution with the points on its way. */
  draw(solution, points) {
    const s = solution, up = s.sense === "maximize" ? "upper " : "";
    // Rows "label: text", of which a figure's text has in brackets what it rests on.
    const rows = s.rests.map((row) => [row.slice(0, row.indexOf(": ")), row.slice(row.indexOf(": ") + 2)]);
    const textOf = (label, other) => rows.find(([name]) => name === label)?.[1] ?? other;
    const figure = (label, name, value) => {
      const [text, words] = textOf(label, value).split("   (");
      return [name, text.replace(/e-0?/, "e−").replace(/^-/, "−"), words?.replace(/\)$/, "")];
    };
    const others = rows.filter(([name]) => !ABOVE.has(name)).map(([name, text]) => `${name}: ${text.replace(/, at Solution\.\w+/, "")}`);
    fill(this.panel,
      el("h2", {}, `${s.program}, ${s.sense}d`),
      this.figures([figure("objective", "objective", shown(s.objective)), figure("bound", `${up}bound`, shown(s.bound)), figure("gap", "gap", shownGap(s.gap))]),
      el("p", { class: "faint" }, [textOf("status"), textOf("solver"), textOf("seconds") && `seconds: ${textOf("seconds")}`].filter(Boolean).join(" · ")),
      others.length > 0 && el("ul", { class: "rests" }, others.map((words) => el("li", {}, words))),
      textOf("error bound") && el("p", { class: "faint" }, `The ${up}bound is on this program's objective; the error bound is on the total error of every strategy, whatever its program.`),
      s.warnings.length > 0 && el("ul", { class: "rests wrong" }, s.warnings.map((words) => el("li", {}, words))),
      this.point(s), this.lines(s),
      s.matrix && [el("h3", {}, "Strategy"), heatMap(s.matrix),
        this.folded("matrix", "The strategy as a table", () => table(["row", ...s.matrix.columns],
          s.matrix.rows.map((row, i) => [String(i + 1), ...row.map((x) => shown(x, 4))]),
          s.matrix.rows[0].map((_, j) => j + 1), "Strategy"))],
      s.queries.length > 0 && this.errors(s),
      points.length > 1 && [el("h3", {}, "Gap against time"), gapChart(points),
        this.folded("points", "The points as a table", () => table(["seconds", "objective", "bound", "gap"],
          points.map((p) => [shown(p.seconds, 3), shown(p.objective), shown(p.bound), shownGap(p.gap)]), [0, 1, 2, 3], "Gap against time"))]);
  }

  /** The values of what is chosen: short ones in a line, the others in tables. */
  point(s) {
    return [el("h3", {}, "Point"), Object.entries(s.variables).map(([name, value]) => {
      const rows = [value].flat().map((row) => [row].flat()), isMatrix = Array.isArray(value?.[0]);
      if (!isMatrix && rows.length <= SHORT) {
        return el("p", {}, `${name} = ${Array.isArray(value) ? `(${rows.map((row) => shown(row[0])).join(", ")})` : shown(value)}`);
      }
      return this.folded(`of ${name}`, `${name}, ${isMatrix ? `${rows.length} × ${rows[0].length}` : `${rows.length} entries`}`, () =>
        table(["", ...rows[0].map((_, j) => String(j))], rows.map((row, i) => [String(i), ...row.map((x) => shown(x, 4))]), rows[0].map((_, j) => j + 1), name));
    })];
  }

  /** Which lines are tight, and their multipliers. */
  lines(s) {
    if (!s.lines.length) return [];
    return [el("h3", {}, "Constraints"), table(["constraint", "tight rows", "largest multipliers"], s.lines.map((line) => [line.name,
      line.count === null ? "" : `${line.tight} of ${line.count}`,
      [line.largest.map(([label, value]) => (label === line.name ? shown(value) : `${/^\d/.test(label) ? `[${label}]` : label}: ${shown(value, 4)}`)).join("; ") || (line.multipliers ? "negligible" : ""),
        line.more && `and ${line.more} more`, line.largest.length && line.zero && `zero: ${line.zero}`, line.words].filter(Boolean).join("; ")]), [], "Constraints at the point"),
      s.legend && el("p", { class: "faint" }, s.legend)];
  }

  /** A part that stays open from one solution to the next. */
  folded(key, title, make) {
    return folded(title, make, this.open[key] ?? false, (is) => { this.open[key] = is; });
  }

  /** Standard errors of the queries, at a privacy that a slider sets. */
  errors(s) {
    const steps = s.epsilons;
    let at = steps.reduce((best, step, i) =>
      (Math.abs(Math.log(step.epsilon / this.epsilon)) < Math.abs(Math.log(steps[best].epsilon / this.epsilon)) ? i : best), 0);
    const box = el("div"), said = el("output", {}), rows = el("div");
    const draw = () => {
      const step = steps[at];
      const series = [["this strategy", "error"], ["noise on the cells", "identity"], ["noise on the queries, then least squares", "workload"]]
        .map(([name, key]) => ({ name, values: s.queries.map((q) => ((q[key] ?? null) === null ? null : q[key] * step.scale)) }))
        .filter((each) => each.values.some((v) => v !== null));
      said.textContent = `ε = ${shown(step.epsilon, 3)}${step.delta ? `, δ = ${shown(step.delta, 2)}` : ""}`;
      fill(box, errorChart(series, this.isLog));
      fill(rows, this.folded("queries", "The errors as a table", () => table(["query", ...series.map((x) => x.name)],
        s.queries.map((q, i) => [q.label, ...series.map((x) => shown(x.values[i], 4))]), series.map((_, k) => k + 1), "Standard errors")));
    };
    draw();
    return [el("h3", {}, "Standard error of each query"),
      el("p", { class: "row" },
        el("label", {}, "Privacy ", el("input", { type: "range", min: 0, max: steps.length - 1, value: at,
          "aria-label": "epsilon", oninput: (event) => {
            at = Number(event.target.value);
            this.epsilon = steps[at].epsilon;
            draw();
            event.target.setAttribute("aria-valuetext", said.textContent);
          } })), said,
        el("label", { class: "check" }, el("input", { type: "checkbox", checked: this.isLog, onchange: (event) => {
          this.isLog = event.target.checked;
          draw();
        } }), " logarithmic")),
      box, s.more > 0 && el("p", { class: "faint" }, `${s.more} more queries are left out.`), rows];
  }
}
