// The view of a solution: its figures and what they rest on, the strategy, errors, gap against time.

import { errorChart, gapChart, heatMap } from "./charts.js";
import { el, fill, folded, shown, shownGap, table } from "./dom.js";

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
  idle(words = "Press Solve: the program is solved for the queries chosen above.") {
    fill(this.panel, el("p", {}, words));
  }

  /** A solve that runs, with its points so far. */
  running(points, seconds) {
    const last = points.at(-1);
    fill(this.panel, el("p", {}, `Solving since ${shown(seconds, 3)} s.`),
      last && this.figures({ objective: last.objective, bound: last.bound, gap: last.gap }),
      points.length > 1 && [el("h3", {}, "Gap against time"), gapChart(points)]);
  }

  /** A solve that ended without a solution. */
  failed(problem, stop) {
    fill(this.panel, el("p", { class: "wrong" }, stop && stop !== "no result" ? `No solution: ${stop}.` : "No solution."),
      problem && (problem.line > 0 ? el("button", { type: "button", class: "problem", onclick: () => this.jump(problem) },
        el("span", { class: "where" }, `${problem.file === "workload" ? "workload file, " : ""}${problem.line}:${problem.column} `), problem.message)
        : el("p", {}, problem.message)), problem?.hint && el("p", { class: "faint" }, problem.hint));
  }

  /** Objective, bound and gap, large. */
  figures({ objective, bound, gap, objective_grade: grade, bound_grade: boundGrade, sense }) {
    const one = (name, value, below) => el("div", { class: "figure" }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "faint" }, below || " "));
    return el("dl", { class: "figures" }, one("objective", shown(objective, 7, sense === "maximize" ? -1 : 1), grade),
      one(sense === "maximize" ? "upper bound" : "bound", shown(bound, 7, sense === "maximize" ? 1 : -1), boundGrade), one("gap", shownGap(gap), ""));
  }

  /** A solution with the points on its way. */
  draw(solution, points) {
    const s = solution;
    fill(this.panel,
      el("h2", {}, `${s.program}, ${s.sense}d`),
      this.figures(s),
      el("p", { class: "faint" }, [s.status, s.solver, s.seconds === null ? "" : `${shown(s.seconds, 3)} s`].filter(Boolean).join(" · ")),
      s.rests.length > 0 && el("ul", { class: "rests" }, s.rests.map((words) => el("li", {}, words))),
      s.warnings.length > 0 && el("ul", { class: "rests wrong" }, s.warnings.map((words) => el("li", {}, words))),
      s.matrix && s.matrix.rows.length > 0 && [el("h3", {}, "Strategy"), heatMap(s.matrix),
        this.folded("matrix", "The strategy as a table", () => table(["", ...(s.matrix.columns ?? [])],
          s.matrix.rows.map((row, i) => [s.matrix.labels?.[i] ?? String(i + 1), ...row.map((x) => shown(x, 4))]),
          s.matrix.rows[0].map((_, j) => j + 1), "Strategy"))],
      s.queries?.length > 0 && this.errors(s),
      points.length > 1 && [el("h3", {}, "Gap against time"), gapChart(points),
        this.folded("points", "The points as a table", () => table(["seconds", "objective", "bound", "gap"],
          points.map((p) => [shown(p.seconds, 3), shown(p.objective), shown(p.bound), shown(p.gap, 3)]), [0, 1, 2, 3], "Gap against time"))]);
  }

  /** A part that stays open from one solution to the next. */
  folded(key, title, make) {
    return folded(title, make, this.open[key] ?? false, (is) => { this.open[key] = is; });
  }

  /** Standard errors of the queries, at a privacy that a slider sets. */
  errors(s) {
    const steps = s.epsilons ?? [];
    const nearest = steps.reduce((best, step, i) =>
      (Math.abs(Math.log(step.epsilon / this.epsilon)) < Math.abs(Math.log(steps[best].epsilon / this.epsilon)) ? i : best), 0);
    const box = el("div"), said = el("output", {}), rows = el("div");
    const draw = (index) => {
      const step = steps[index];
      const times = step ? [step.scale, step.identity_scale ?? step.scale, step.workload_scale ?? step.scale] : [1, 1, 1];
      const series = [["this strategy", "error"], ["noise on the cells", "identity"], ["noise on the queries", "workload"]]
        .map(([name, key], k) => ({ name, values: s.queries.map((q) => ((q[key] ?? null) === null ? null : q[key] * times[k])) }))
        .filter((each) => each.values.some((v) => v !== null));
      said.textContent = step ? `ε = ${shown(step.epsilon, 3)}${step.delta ? `, δ = ${shown(step.delta, 2)}` : ""}` : "noise of standard deviation 1";
      fill(box, errorChart(series, this.isLog));
      fill(rows, this.folded("queries", "The errors as a table", () => table(["query", ...series.map((x) => x.name)],
        s.queries.map((q, i) => [q.label, ...series.map((x) => shown(x.values[i], 4))]), series.map((_, k) => k + 1), "Standard errors")));
    };
    draw(nearest);
    return [el("h3", {}, "Standard error of each query"),
      el("p", { class: "row" },
        steps.length > 1 && el("label", {}, "Privacy ", el("input", { type: "range", min: 0, max: steps.length - 1, value: nearest,
          "aria-label": "epsilon", oninput: (event) => {
            const index = Number(event.target.value);
            this.epsilon = steps[index].epsilon;
            draw(index);
            event.target.setAttribute("aria-valuetext", said.textContent);
          } })), said,
        el("label", { class: "check" }, el("input", { type: "checkbox", checked: this.isLog, onchange: (event) => {
          this.isLog = event.target.checked;
          draw(steps.findIndex((step) => step.epsilon === this.epsilon) < 0 ? nearest : steps.findIndex((step) => step.epsilon === this.epsilon));
        } }), " logarithmic")),
      box, s.more > 0 && el("p", { class: "faint" }, `${s.more} more queries are left out.`), rows];
  }
}
