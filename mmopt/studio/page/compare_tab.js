// The view of a comparison: formulations and solvers in sequence.

import { el, fill, shown, shownGap } from "./dom.js";

const HEADS = ["program", "solver", "variables", "cones", "seconds", "objective", "bound", "gap", "violation before repair", "ended"];

/** The view; `start({solvers, formulations, seconds})` begins a comparison. */
export class CompareTab {
  constructor(panel, start) {
    this.panel = panel;
    this.choices = el("fieldset", {}, el("legend", {}, "Solvers"));
    this.formulations = el("input", { type: "checkbox", checked: true });
    this.seconds = el("input", { type: "number", min: 1, value: 20 });
    this.body = el("tbody", {});
    this.said = el("p", { role: "status", class: "hint" });
    this.button = el("button", { type: "submit", class: "main" }, "Compare");
    fill(panel, el("h2", {}, "Formulations and solvers, one after the other"),
      el("form", { onsubmit: (event) => {
        event.preventDefault();
        const solvers = [...this.choices.querySelectorAll("input")].filter((box) => box.checked).map((box) => box.name);
        if (!solvers.length) this.said.textContent = "Choose a solver.";
        else start({ solvers, formulations: this.formulations.checked, seconds: Math.min(this.seconds.max, Math.max(1, Number(this.seconds.value) || 20)) });
      } }, this.choices,
      el("p", { class: "row" }, el("label", { class: "check" }, this.formulations, " other formulations of the program too"),
        el("label", {}, "Seconds for each ", this.seconds), this.button)),
      this.said,
      el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Comparison" },
        el("table", {}, el("thead", {}, el("tr", {}, HEADS.map((head, i) => el("th", { scope: "col", class: isNumber(i) ? "number" : null }, head)))), this.body)),
      el("p", { class: "faint" }, "A “value” is the objective on the scale that the formulations of a program share, if the formulation has another scale. “Violation before repair” is how far the solver's point is from satisfying the constraints. Objective and bound are those after the repair, to the nearest; the gap is rounded up."));
  }

  /** The solvers that may be chosen, and the most seconds. */
  learn(solvers, seconds) {
    this.seconds.max = seconds;
    fill(this.choices, el("legend", {}, "Solvers"), solvers.map((name) =>
      el("label", { class: "check" }, el("input", { type: "checkbox", name, checked: ["nuclear", "clarabel"].includes(name) }), ` ${name}`)));
  }

  /** A comparison begins. */
  begin() {
    fill(this.body);
    this.said.textContent = "Comparing.";
    this.button.disabled = true;
  }

  /** One row has ended. */
  add(row) {
    const cells = [row.program, row.solver, row.variables, row.cones, shown(row.seconds, 3), shown(row.objective),
      shown(row.bound), shownGap(row.gap), shown(row.violation, 2, 1), [row.stop, row.reason, row.value !== row.objective && `value ${shown(row.value)}`].filter(Boolean).join(": ")];
    this.body.append(el("tr", {}, cells.map((cell, i) => {
      const text = cell === null || cell === undefined || cell === "none" ? "–" : String(cell);
      return i === 0 ? el("th", { scope: "row" }, text) : el("td", { class: isNumber(i) ? "number" : i === cells.length - 1 ? "reason" : null }, text);
    })));
  }

  /** The comparison that runs has ended, as the words say. */
  end(words) {
    if (!this.button.disabled) return;
    this.said.textContent = words;
    this.button.disabled = false;
  }
}

/** Whether a column holds numbers. */
function isNumber(i) {
  return [2, 4, 5, 6, 7, 8].includes(i);
}
