// The quiz: the curvature of each node and the verdict on each line are chosen, then shown.

import { counted, el, fill } from "./dom.js";
import { formula, sentence } from "./formula.js";
import { curvatureWords, firstWord, isNumber, ruleOf, TreeView, treeOf } from "./tree.js";

const CHOICES = ["constant", "affine", "convex", "concave", "neither"];

/** The view; `on.load(number)` puts an example of the stock into the editor, `on.show()` tells that answers are shown. */
export class QuizTab extends TreeView {
  constructor(panel, on) {
    super();
    this.on = on;
    this.isShown = false;
    this.text = null;
    this.score = { right: 0, asked: 0 };
    this.stock = [];
    this.list = el("select", { onchange: () => this.list.value && on.load(Number(this.list.value)) });
    this.forward = el("button", { type: "button", onclick: () => this.next() }, "Next");
    this.question = el("p", { class: "words" });
    this.body = el("div", {});
    this.said = el("p", { role: "status" });
    this.total = el("p", { class: "faint" }, "No answers yet.");
    this.button = el("button", { type: "button", class: "main", onclick: () => this.show() }, "Show");
    fill(panel, el("h2", {}, "Quiz"),
      el("p", {}, "What is the curvature of each part, and is the constraint or objective accepted? Choose the most specific word: an affine expression is also convex and concave. The answers follow the rules, which may prove less than is true: “x - x” counts as affine. Titles, comments and descriptions in the text are hidden until the answers are shown. Any text can be a quiz: write it with another view open, and share the address."),
      el("p", { class: "row" }, el("label", {}, "Example ", this.list),
        this.forward),
      this.question, this.body, el("p", { class: "row" }, this.button), this.said, this.total);
  }

  /** The stock of examples. */
  learn(stock) {
    this.stock = stock;
    fill(this.list, el("option", { value: "" }, "the text in the editor"),
      [1, 2, 3].map((level) => el("optgroup", { label: `level ${level}` },
        stock.map((each, i) => each.level === level && el("option", { value: i + 1 }, `${i + 1}`)).filter(Boolean))));
    this.follow(this.text ?? "");
  }

  /** The next example. */
  next() {
    if (this.stock.length) this.on.load(Number(this.list.value || 0) % this.stock.length + 1);
  }

  /** Shows the number and the question of the example whose text this is, if it is one. */
  follow(text) {
    const number = this.stock.findIndex((each) => each.text === text) + 1;
    this.list.value = number || "";
    this.question.textContent = number ? this.stock[number - 1].question : "";
  }

  /** The tree of a checked program, its answers hidden; a text that was answered stays shown. */
  draw(text, answer) {
    this.follow(text);
    if (text === this.text && this.program && answer?.program) return;
    this.text = text;
    this.program = answer?.program ?? null;
    this.isShown = false;
    this.links = [];
    this.asked = [];
    this.said.textContent = "";
    this.button.disabled = !this.program?.lines.length;
    if (!this.program) {
      fill(this.body, el("p", {}, answer ? "The text cannot be read: see the problems below it." : "The text is being read."));
      return;
    }
    if (this.list.value) fill(this.question, sentence(this.program.about));
    fill(this.body, this.program.lines.map((line) => this.line(line)));
    if (!this.program.lines.length) fill(this.body, el("p", {}, "This program has no objective or constraint to ask about."));
  }

  /** A line: what is chosen for its nodes and for itself. */
  line(line) {
    const choose = (label, choices, truth, plain) => {
      const select = el("select", { "aria-label": label }, el("option", { value: "" }, "?"), choices.map((choice) => el("option", {}, choice)));
      const reply = el("span", { class: "reply" });
      this.asked.push({ select, truth, reply, plain });
      return [select, reply];
    };
    const trees = treeOf(line, this.links, { point: this.on.point, select: this.on.select }, (node) =>
      node.same !== null || isNumber(node) ? el("span", { class: "rule" }, ruleOf(node))
        : choose(`curvature of ${node.plain}`, CHOICES, firstWord(node.curvature), () => [curvatureWords(node), node.rule]));
    return el("section", { class: "line" }, el("h4", {}, el("span", { class: "scroll inline" }, `${line.name}: `, formula(line.formula))),
      trees, line.left_out && el("p", {}, line.left_out), el("p", { class: "row" }, el("span", {}, "This is "),
        choose(`is ${line.name} accepted`, ["accepted", "refused"], line.blamed ? "refused" : "accepted",
          () => [line.blamed ? "refused" : "accepted", line.blamed ? [line.blamed.message, line.blamed.hint].filter(Boolean).join(" — ") : ""])));
  }

  /** Shows the answers and counts them. */
  show() {
    if (this.isShown || !this.program) return;
    this.isShown = true;
    if (document.activeElement === this.button) this.forward.focus();
    this.button.disabled = true;
    let right = 0, answered = 0;
    for (const { select, truth, reply, plain } of this.asked) {
      const [curvature, rule] = plain();
      const isRight = select.value === truth;
      answered += select.value !== "";
      right += isRight;
      select.disabled = true;
      reply.className = `reply ${isRight ? "right" : select.value ? "wrong" : ""}`;
      fill(reply, isRight ? "✓ right" : select.value ? "✗ no" : "", " ", el("span", { class: `badge ${firstWord(curvature)}` }, curvature), " ",
        el("span", { class: "rule" }, rule));
    }
    this.score.right += right;
    this.score.asked += answered;
    this.said.textContent = `${right} of ${this.asked.length} right${answered < this.asked.length ? `, ${this.asked.length - answered} not answered` : ""}.`;
    this.total.textContent = `Total: ${this.score.right} right of ${counted(this.score.asked, "answer")}. The score is lost when you close the page.`;
    this.on.show();
  }
}
