// The view of the program: typeset, why each line is convex, its repair and its bound.

import { el, fill, folded } from "./dom.js";
import { formula, sentence } from "./formula.js";
import { TreeView, treeOf } from "./tree.js";

const open = { about: false, proof: false, legend: false };

/** The view; `on.point(node)` and `on.select(node)` are called as a node is pointed at or clicked. */
export class ProgramTab extends TreeView {
  constructor(panel, on) {
    super();
    this.panel = panel;
    this.on = on;
  }

  /** Draws a checked program; where it cannot be read, the one before is kept and marked as old. */
  draw(answer) {
    const program = answer?.program;
    this.panel.classList.toggle("old", !program && this.links.length > 0);
    if (!program) {
      this.links = this.links.map(([element, node]) => [element, { ...node, place: null }]);
      const note = el("p", { class: "note" }, answer
        ? "The text has a mistake; see below the text. This view shows the last text that was correct."
        : "The program is typeset here once its text can be read.");
      this.panel.querySelector(".note")?.remove();
      this.panel.prepend(note);
      return;
    }
    this.links = [];
    const isCurved = program.lines.some((line) => line.blamed);
    fill(this.panel,
      el("h2", {}, program.title || program.name),
      el("p", { class: "faint" }, [program.name, isCurved ? "declared convex, but not convex by the rules" : program.class, program.cite].filter(Boolean).join(" · ")),
      program.about.length > 0 && folded("What it is", () => paragraphs([program.about]), open.about, (is) => { open.about = is; }),
      el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The program in formulas" },
        el("table", { class: "statements" }, el("tbody", {}, program.statements.map((statement) => el("tr", {},
          el("th", { scope: "row" }, statement.label), el("td", {}, formula(statement.formula)),
          el("td", { class: "faint" }, sentence(statement.words))))))),
      program.lines.length > 0 && el("h3", {}, isCurved || program.class !== "convex" ? "Curvature" : "Why it is convex"),
      program.lines.length > 0 && folded("How to read the trees", () => el("p", {}, "Each node has its shape, its sign " +
        "where known, its curvature in the variables, and the rule that gives it. The mark ⪯ means curvature in the " +
        "order of psd matrices; without it the curvature of a matrix is entry by entry. Point at a node to see its text, " +
        "or at the text to see its node."), open.legend, (is) => { open.legend = is; }),
      program.lines.map((line) => this.line(line)),
      program.repair.length > 0 && [el("h3", {}, "Repair"), paragraphs(program.repair)],
      el("h3", {}, program.bound.is_claim ? "What its author claims" : "Bound"),
      program.bound.formula && el("p", { class: "scroll", tabindex: "0" }, formula(program.bound.formula)),
      paragraphs(program.bound.sentences),
      program.bound.proof.length > 0 && folded("Proof", () => paragraphs([program.bound.proof]), open.proof, (is) => { open.proof = is; }));
  }

  /** A line with the verdict on each side and its tree. */
  line(line) {
    const trees = treeOf(line, this.links, this.on);
    return el("section", { class: "line" },
      el("h4", {}, `${line.name}: `, el("span", { class: "scroll inline" }, formula(line.formula))),
      line.sides.map((side, i) => [
        el("p", { class: fits(side, line.wanted[i]) || !line.blamed ? "verdict" : "verdict wrong" },
          `${line.sides.length > 1 ? ["left side", "right side"][i] : "objective"}: ${verdict(side, line.wanted[i])}`),
        trees[i]]),
      line.left_out && el("p", {}, line.left_out),
      line.blamed && el("p", { class: "wrong" }, [line.blamed.message, line.blamed.hint].filter(Boolean).join(" — ")));
  }
}

/** Whether a side has the curvature that is wanted; affine always will do. */
export function fits(node, wanted) {
  return !wanted || ["constant", "affine", wanted].includes(node.curvature);
}

/** The curvature of a side against the wanted one, in words. */
function verdict(node, wanted) {
  if (!wanted) return node.curvature;
  if (!fits(node, wanted)) return `${node.curvature}; it has to be ${wanted}`;
  return node.curvature === wanted ? `${wanted}, as required` : `${node.curvature}, so ${wanted}, as required`;
}

/** Sentences, each a paragraph. */
export function paragraphs(sentences) {
  return sentences.map((words) => el("p", { class: "words" }, sentence(words)));
}
