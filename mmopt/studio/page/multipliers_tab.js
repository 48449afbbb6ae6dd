// The view of multipliers: a slider each, and the bound that they prove as they are set.

import { boundBar } from "./charts.js";
import { debounced, el, fill, oneAtATime, shown } from "./dom.js";

const STEPS = 400, SLOW = 200; // of a slider; milliseconds after which an answer is waited for in words
const WAITING = "Computing the bound…";

/** The view; `ask(multipliers)` gives the server's answer on the bound they prove. */
export class MultipliersTab {
  constructor(panel, ask) {
    this.panel = panel;
    this.ask = ask;
    this.count = 0;
    this.idle();
  }

  /** Nothing was solved yet, or there is nothing to set. */
  idle(words = "Solve first. Then you can set the multipliers of the constraints here.") {
    this.count += 1;
    fill(this.panel, el("p", {}, words));
  }

  /** Sliders for the multipliers of a solution: of many for the most that are shown at a time, the largest first. */
  draw(solution, most) {
    const numbers = solution.multipliers.flatMap(numbersOf);
    if (!numbers.length) {
      this.idle(solution.bounded_by ? `The bound is that of ${solution.bounded_by}: choose that program to set its multipliers.` : solution.has_certificate ? "This bound has no multipliers that you could set." : solution.lines.length ? "The solve kept no multipliers of the constraints that you could set. The view Solution says what its bound rests on." : "This program has no constraints, so it has no multipliers.");
      return;
    }
    const without = solution.has_certificate ? [] : solution.lines.map((line) => line.name).filter((name) => !solution.multipliers.some((m) => m.name === name));
    if (without.length) {
      this.idle(`The solve kept no multipliers of ${without.map((name) => `'${name}'`).join(", ")} that you could set here.`);
      return;
    }
    this.count += 1;
    const run = this.count;
    const largest = Math.max(...numbers.map((n) => Math.abs(n.start))) || 1;
    const bar = el("div"), said = el("p", { role: "status" }, WAITING), dual = el("p"), why = el("p", { class: "faint" });
    const parts = [bar, dual, said, why];
    const setBusy = (is) => parts.forEach((part) => part.setAttribute("aria-busy", is));
    let sent = 0, answered = 0;
    const waits = debounced(SLOW, () => {
      if (answered < sent) said.textContent = WAITING;
    });
    const values = () => Object.fromEntries(solution.multipliers.map((m) => {
      const all = [];
      for (const n of numbers) if (n.m === m) for (const at of n.at) all[at] = n.value;
      return [m.name, nested(all, m.shape)];
    }));
    const send = () => {
      setBusy(true);
      sent += 1;
      waits();
      asks({ number: sent, multipliers: values() });
    };
    const asks = oneAtATime(async ({ number, multipliers }) => {
      let answer;
      try {
        answer = await this.ask(multipliers);
      } catch (error) {
        answer = { problem: { message: error.message } };
      }
      if (run !== this.count) return;
      answered = number;
      setBusy(number < sent);
      answer.dual = cleaned(answer.dual, solution);
      dual.textContent = dualWords(answer, solution);
      if (answer.problem) { // the picture before stays, dimmed
        bar.setAttribute("aria-busy", "true");
        said.textContent = answer.problem.message;
        why.textContent = answer.problem.hint ?? "";
        return;
      }
      const none = solution.sense === "maximize" ? Infinity : -Infinity;
      fill(bar, boundBar(answer.bound, solution, digitsOf(solution), answer.dual ? answer.dual.value ?? none : null));
      said.textContent = proves(answer.bound, solution, answer.grade);
      why.textContent = answer.why ?? "";
    });
    const means = new Map(solution.multipliers.map((m) => [m, average(numbers, m)]));
    const sliders = el("div", { class: "sliders" });
    const order = numbers.length > most ? [...numbers].sort((a, b) => Math.abs(b.start) - Math.abs(a.start)) : numbers;
    const pages = Array.from({ length: Math.ceil(order.length / most) }, (_, k) => order.slice(k * most, (k + 1) * most));
    const which = el("select", { onchange: () => show() }, pages.map((page, k) =>
      el("option", { value: k }, `${k * most + 1} to ${k * most + page.length}`)));
    const show = () => fill(sliders, pages[Number(which.value)].map((number) => slider(number, largest, send)));
    const all = (make) => () => {
      numbers.forEach((n) => { n.value = make(n); });
      show();
      send();
    };
    show();
    fill(this.panel,
      el("h2", {}, "Many multipliers prove a bound; the best prove optimality"),
      el("p", {}, solution.sense === "maximize"
        ? "Multipliers prove an upper bound or nothing: no feasible point is better than the bound. If strong duality holds, the smallest of these bounds is the optimum."
        : "Multipliers prove a lower bound or nothing: no feasible point is better than the bound. If strong duality holds, the largest of these bounds is the optimum."),
      !solution.has_certificate && el("p", { class: "faint" }, "In addition to the multipliers, the bound uses ranges of the variables, which follow from the constraints and from the objective reached, and tangents in place of curved functions. So it may be better or worse than the dual function. Only the dual function is sure to be best at the optimal multipliers. “The solver's” may prove less than the solution's own bound: a solve also adjusts its multipliers if that proves more, and tries others from problems solved near its point."),
      bar, dual, said, why,
      el("p", { class: "row" },
        el("button", { type: "button", onclick: all((n) => (n.isOff ? 0 : means.get(n.m))) }, "All equal"),
        el("button", { type: "button", onclick: all((n) => n.start) }, "The solver's"),
        solution.multipliers.every((m) => m.lower === 0) && el("button", { type: "button", onclick: all(() => 0) }, "All zero")),
      pages.length > 1 && el("p", { class: "row" }, el("label", {}, "Sliders for multipliers ", which), el("span", {},
        `of ${numbers.length}, the largest first. All others stay at the solver's values, or where you left them.`)),
      sliders);
    send();
  }
}

/** The numbers of a multiplier, each with its places `at` in it: in a symmetric matrix two where it is off the diagonal. */
function numbersOf(m) {
  const size = m.shape.at(-1);
  return m.values.map((start, i) => {
    const mirrored = m.symmetric ? (i % size) * size + Math.floor(i / size) : i;
    return { m, i, start, value: start, at: [i, mirrored], isOff: mirrored !== i };
  }).filter(({ at: [here, mirrored] }) => here <= mirrored);
}

/** The dual function up to a solver's accuracy: 0 where it is next to it, no more than a feasible objective; null where it is far beyond one. */
function cleaned(dual, { objective, sense }) {
  if (!Number.isFinite(dual?.value) || !Number.isFinite(objective)) return dual;
  const size = Math.max(1, Math.abs(objective)), isMax = sense === "maximize";
  if ((isMax ? objective - dual.value : dual.value - objective) > 1e-6 * size) return null;
  const value = Math.abs(dual.value) < 1e-8 * size ? 0 : dual.value;
  return { value: isMax ? Math.max(value, objective) : Math.min(value, objective) };
}

/** As many digits as the view of the solution shows of the objective. */
function digitsOf(solution) {
  const row = solution.rests?.find((words) => words.startsWith("objective: ")) ?? "";
  return Math.max(10, row.split("   (")[0].replace(/e.*|\D/g, "").replace(/^0+/, "").length);
}

/** The mean of a multiplier's numbers, of a matrix inequality's diagonal; of all numbers where each multiplier is one. */
function average(numbers, m) {
  const isEach = numbers.every((n) => !n.m.shape.length);
  const mine = numbers.filter((n) => isEach || (n.m === m && !n.isOff));
  return mine.reduce((sum, n) => sum + n.start, 0) / mine.length;
}

/** What a bound proves, in words. Without a certificate the ranges of the variables prove it too. */
function proves(bound, solution, grade) {
  if (bound === null || bound === undefined) return "No bound is proved with these multipliers.";
  const { objective, sense, has_certificate: isAlone } = solution, digits = digitsOf(solution);
  const how = grade === "proved" || !grade ? "" : grade === "claimed" ? ", if its author is right," : ", up to rounding,";
  const start = isAlone ? `These multipliers prove${how}` : `With these multipliers and the ranges of the variables it is proved${how}`;
  if (sense === "maximize") {
    const above = `${start} that no feasible point is above ${shown(bound, digits, 1)}.`;
    return objective > 0 && bound > 0 ? `${above} The objective reached is ${part(objective, bound)} it.` : above;
  }
  const isPart = objective > 0 && bound > 0;
  if (isPart && isAlone) return `${start} ${part(bound, objective)} the objective reached.`;
  return `${start} that no feasible point is below ${shown(bound, digits, -1)}${isPart ? `, ${part(bound, objective)} the objective reached` : ""}.`;
}

/** The dual function at the multipliers, in words; none where a certificate takes its place. */
function dualWords(answer, solution) {
  const { sense, has_certificate: isAlone } = solution;
  if (answer.problem) return "";
  const moved = answer.is_moved ? " Multipliers outside their cones are moved inside: numbers below 0 to 0, and a matrix that is not psd by subtracting its least eigenvalue times the identity." : "";
  if (!answer.dual) return (isAlone ? "" : "The value of the dual function was not determined here.") + moved;
  const { value } = answer.dual, digits = digitsOf(solution);
  const isMax = sense === "maximize";
  return (value === null
    ? `The dual function, as computed and not proved, is ${isMax ? "+∞" : "−∞"} here: the Lagrangian ${isMax ? "rises" : "falls"} without bound. If it is linear in a variable, rounding of the multipliers is enough for that.`
    : `The dual function, as computed and not proved, is ${value === 0 ? "0 up to the solver's accuracy" : shown(value, digits)}.`) + moved;
}

/** A part of a whole in words, never more than it is: percents, or what is missing where that is little. */
function part(some, whole) {
  if (some >= whole) return "all of";
  const missing = (whole - some) / whole;
  return missing > 1e-4 ? `${shown(100 * (some / whole), 4, -1)} % of` : `all but ${shown(missing, 2, 1)} of`;
}

/** Numbers in rows, as their shape says. */
function nested(values, shape) {
  if (!shape.length) return values[0];
  const [, columns] = shape;
  return columns === undefined ? values : Array.from({ length: shape[0] }, (_, i) => values.slice(i * columns, (i + 1) * columns));
}

/** A slider with a field for one number: in powers where it may not be negative, else on both sides of 0. */
function slider(it, largest, onChange) {
  const { m, i } = it;
  const isSigned = m.lower !== 0;
  const top = 4 * largest, bottom = top * 1e-4;
  const name = labelOf(m, i);
  const place = (value) => (isSigned ? (value / top + 1) / 2 * STEPS
    : value <= bottom ? 0 : Math.min(STEPS, 1 + (STEPS - 1) * Math.log(value / bottom) / Math.log(top / bottom)));
  const number = (at) => (isSigned ? (2 * at / STEPS - 1) * top
    : at <= 0 ? 0 : bottom * (top / bottom) ** ((at - 1) / (STEPS - 1)));
  const output = el("output", {});
  const show = () => {
    output.textContent = shown(it.value, 4);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  const input = el("input", { type: "range", min: 0, max: STEPS, step: "any", value: place(it.value), "aria-label": name, oninput: () => {
    it.value = number(Number(input.value));
    show();
    onChange();
  } });
  show();
  return el("label", { class: "slider" }, el("span", {}, name), input, output);
}

/** The name of one number of a multiplier, counted from 0 as in programs. */
function labelOf(m, i) {
  const [rows, columns] = m.shape;
  if (!m.shape.length) return m.name;
  return columns === undefined || !rows ? `${m.name}[${i}]` : `${m.name}[${Math.floor(i / columns)}, ${i % columns}]`;
}
