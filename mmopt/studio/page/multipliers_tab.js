// The view of multipliers: a slider each, and the bound that any choice of them proves.

import { boundBar } from "./charts.js";
import { counted, el, fill, oneAtATime, shown } from "./dom.js";

const MOST = 24;
const SHOWN = 8;
const STEPS = 400;

/** The view; `ask(multipliers)` gives the server's answer on the bound they prove. */
export class MultipliersTab {
  constructor(panel, ask) {
    this.panel = panel;
    this.ask = ask;
    this.count = 0;
    this.idle();
  }

  /** Nothing was solved yet, or there is nothing to set. */
  idle(words = "Solve first: the multipliers of its lines are set here.") {
    this.count += 1;
    fill(this.panel, el("p", {}, words));
  }

  /** Sliders for the multipliers of a solution. */
  draw(solution) {
    const numbers = solution.multipliers.flatMap((m) => m.values.map((value, i) => ({ m, i, start: value })));
    if (!numbers.length) {
      this.idle(solution.bounded_by ? `The bound is that of ${solution.bounded_by}: choose that program to set its multipliers.` : solution.has_certificate ? "This bound takes no multipliers that could be set." : "This program has no multipliers: no line of it bounds its optimum by them.");
      return;
    }
    if (numbers.length > MOST) {
      this.idle(`There are ${numbers.length} multipliers, more than the ${MOST} for which there are sliders. Choose fewer cells.`);
      return;
    }
    this.count += 1;
    const run = this.count;
    const largest = Math.max(...numbers.map((n) => Math.abs(n.start))) || 1;
    const bar = el("div"), said = el("p", { role: "status" }), why = el("p", { class: "faint" });
    const sliders = numbers.map(({ m, i, start }) => slider(m, i, start, largest, () => send()));
    const values = () => Object.fromEntries(solution.multipliers.map((m) =>
      [m.name, sliders.filter((s) => s.m === m).map((s) => s.value())]));
    const send = () => asks(values());
    const asks = oneAtATime(async (multipliers) => {
      let answer;
      try {
        answer = await this.ask(multipliers);
      } catch (error) {
        answer = { problem: { message: error.message } };
      }
      if (run !== this.count) return;
      if (answer.problem) {
        fill(bar);
        said.textContent = answer.problem.message;
        why.textContent = answer.problem.hint ?? "";
        return;
      }
      fill(bar, boundBar(answer.bound, solution.objective, solution.sense));
      said.textContent = proves(answer.bound, solution, answer.grade);
      why.textContent = answer.why ?? "";
    });
    const rest = sliders.slice(SHOWN).map((s) => s.row);
    rest.forEach((row) => { row.hidden = true; });
    const all = (make) => () => {
      sliders.forEach((s) => s.set(make(s)));
      send();
    };
    fill(this.panel,
      el("h2", {}, "Any choice proves something, the best proves all"),
      el("p", {}, solution.sense === "maximize"
        ? "Each choice of multipliers proves an upper bound: no feasible point is better. The least of them is the optimum, where duality is strong."
        : "Each choice of multipliers proves a lower bound: no feasible point is better. The largest of them is the optimum, where duality is strong."),
      bar, said, why,
      el("p", { class: "row" },
        el("button", { type: "button", onclick: all((s) => average(numbers, s.m)) }, "All equal"),
        el("button", { type: "button", onclick: all((s) => s.start) }, "The solver's"),
        solution.multipliers.every((m) => m.lower === 0) && el("button", { type: "button", onclick: all(() => 0) }, "All zero")),
      el("div", { class: "sliders" }, sliders.map((s) => s.row)),
      rest.length > 0 && el("button", { type: "button", onclick: (event) => {
        rest.forEach((row) => { row.hidden = false; });
        event.target.remove();
        rest[0].querySelector("input").focus();
      } }, `Show ${counted(rest.length, "more slider")}`));
    send();
  }
}

/** The mean of a multiplier's numbers; of all numbers where each multiplier is one number. */
function average(numbers, m) {
  const isEach = numbers.every((n) => !n.m.shape.length);
  const mine = numbers.filter((n) => isEach || n.m === m);
  return mine.reduce((sum, n) => sum + n.start, 0) / mine.length;
}

/** What a bound proves, in words. */
function proves(bound, solution, grade) {
  if (bound === null || bound === undefined) return "These multipliers prove nothing.";
  const { objective, sense } = solution;
  const how = grade === "proved" || !grade ? "prove" : grade === "claimed" ? "prove, if its author is right," : "prove, up to rounding,";
  if (sense === "maximize") {
    return objective > 0 && bound > 0
      ? `These multipliers ${how} that no feasible point is above ${shown(bound, 7, 1)}. The objective reached is ${part(objective / bound)} it.`
      : `These multipliers ${how} that no feasible point is above ${shown(bound, 7, 1)}.`;
  }
  if (objective > 0 && bound > 0) return `These multipliers ${how} ${part(bound / objective)} the objective reached.`;
  if (objective > 0) return `These multipliers ${how} only that the objective is at least ${shown(bound, 7, -1)}.`;
  return `These multipliers ${how} that no feasible point is below ${shown(bound, 7, -1)}.`;
}

/** A part of 1 in words: percents, or what is missing where that is little. */
function part(ratio) {
  if (ratio < 0.9999 || ratio > 1) return `${shown(100 * ratio, 4)} % of`;
  return ratio === 1 ? "all of" : `all but ${shown(1 - ratio, 2)} of`;
}

/** A slider with a field for one number: in powers where it may not be negative, else on both sides of 0. */
function slider(m, i, start, largest, onChange) {
  const isSigned = m.lower !== 0;
  const top = 4 * largest, bottom = top * 1e-4;
  const name = labelOf(m, i);
  const place = (value) => (isSigned ? (value / top + 1) / 2 * STEPS
    : value <= bottom ? 0 : Math.min(STEPS, 1 + (STEPS - 1) * Math.log(value / bottom) / Math.log(top / bottom)));
  const number = (at) => (isSigned ? (2 * at / STEPS - 1) * top
    : at <= 0 ? 0 : bottom * (top / bottom) ** ((at - 1) / (STEPS - 1)));
  let value = start;
  const input = el("input", { type: "range", min: 0, max: STEPS, step: "any", "aria-label": name, oninput: () => {
    value = number(Number(input.value));
    show();
    onChange();
  } });
  const output = el("output", {});
  const show = () => {
    output.textContent = shown(value, 4);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const set = (next) => {
    value = next;
    input.value = place(value);
    show();
  };
  set(start);
  return { m, start, set, value: () => value,
    row: el("label", { class: "slider" }, el("span", {}, name), input, output) };
}

/** The name of one number of a multiplier, counted from 0 as in programs. */
function labelOf(m, i) {
  const [rows, columns] = m.shape;
  if (!m.shape.length) return m.name;
  return columns === undefined || !rows ? `${m.name}[${i}]` : `${m.name}[${Math.floor(i / columns)}, ${i % columns}]`;
}
