// The editor: a text field, for undo and screen readers, over the same text in colours with marks.
// While a quiz covers words, another field stands in its place, which holds spaces instead of them.

import { byId, debounced, el, fill } from "./dom.js";

const KINDS = new Set("scalar vector matrix symmetric psd dim".split(" "));
const WORDS = new Set("for in if from dual on norm solve repeat until alternate".split(" "));
const PROSE = new Set(["about", "proof"]);
// Sections that tell what a quiz asks for.
const TELLING = new Set(["title", "class", "about", "proof", "bound", "formulation of", "certificate", "source"]);
const TOKEN = /#.*|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[\p{L}_][\p{L}\p{N}_]*|\s+|./gu;

/** The editor; it calls `onText` as the text changes and `onPlace` with what is pointed at or null. */
export class Editor {
  constructor({ onText, onPlace }) {
    this.source = byId("text");
    this.veil = byId("covered");
    this.field = this.source; // the one that is seen
    this.paint = document.querySelector(".paint");
    this.gutter = document.querySelector(".gutter");
    this.words = { atoms: new Set(), keywords: [] };
    this.marks = [];
    this.pointed = null;
    this.isCovered = false;
    this.rows = [];
    this.onPlace = onPlace;
    this.onText = onText;
    this.isReplacing = this.isUsed = false; // by its first text there is something to undo
    this.source.addEventListener("input", () => this.isReplacing || this.changed());
    document.addEventListener("selectionchange", debounced(30, () => {
      if (document.activeElement === this.field) onPlace(this.caret());
    }));
    const sheet = this.field.parentElement;
    sheet.addEventListener("scroll", () => this.follow(), true);
    sheet.addEventListener("pointermove", (event) => onPlace(this.under(event)));
    sheet.addEventListener("pointerleave", () => onPlace(null));
    new ResizeObserver(() => this.follow()).observe(sheet);
  }

  get text() {
    return this.source.value;
  }

  /** The words to be coloured. */
  learn(lists) {
    this.words = { atoms: new Set(lists.atoms), keywords: [...lists.keywords].sort((a, b) => b.length - a.length) };
    this.draw();
  }

  /** The text has changed: it is drawn anew, without marks. */
  changed() {
    this.marks = [];
    this.pointed = null;
    this.isUsed = true;
    this.draw();
    this.onText();
  }

  /** Another text, which undo takes back. */
  replace(text) {
    if (text === this.text) return;
    const before = document.activeElement, field = this.source;
    field.hidden = false; // only what is seen takes a text that can be undone
    field.focus({ preventScroll: true });
    field.select();
    this.isReplacing = true; // a browser tells of each line twice
    const done = this.isUsed && (text ? document.execCommand("insertText", false, text) : document.execCommand("delete"));
    if (!done || this.text !== text) field.value = text;
    this.isReplacing = false;
    this.changed();
    field.setSelectionRange(0, 0);
    this.field.scrollTop = field.scrollTop = 0;
    if (!before || before === document.body) field.blur();
    else if (before !== field) before.focus({ preventScroll: true });
    field.hidden = this.isCovered;
  }

  /** Marks under mistakes. */
  mark(problems) {
    this.marks = problems.filter((problem) => problem.line > 0);
    this.source.setAttribute("aria-invalid", String(problems.length > 0));
    this.draw();
  }

  /** A mark on the text of a node, `[line, column, width]`, or on none. */
  point(place) {
    const before = this.pointed;
    this.pointed = place;
    for (const line of new Set([before?.[0], place?.[0]])) if (line) this.redraw(line - 1);
  }

  /** Whether what gives an answer away is covered; not while someone writes it. */
  cover(isWanted) {
    const isCovered = isWanted && document.activeElement !== this.source;
    if (isCovered === this.isCovered) return;
    this.isCovered = this.source.hidden = isCovered;
    this.veil.hidden = !isCovered;
    this.field = isCovered ? this.veil : this.source;
    this.draw();
  }

  /** Puts the selection on a place and shows it. */
  select(line, column, width) {
    const lines = this.text.split("\n");
    const row = Math.min(Math.max(line, 1), lines.length) - 1;
    const start = lines.slice(0, row).reduce((sum, each) => sum + each.length + 1, 0);
    const [from, to] = units(lines[row], column, width);
    this.field.focus();
    this.field.setSelectionRange(start + from, start + to);
    const height = this.metrics().height;
    this.field.scrollTop = Math.max(0, row * height - this.field.clientHeight / 2);
  }

  /** The place of the caret, `[line, column]`. */
  caret() {
    const before = this.text.slice(0, this.field.selectionStart).split("\n");
    return [before.length, [...before.at(-1)].length + 1];
  }

  /** The place under a pointer. */
  under(event) {
    const { height, width, left, top } = this.metrics();
    const box = this.field.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top - top + this.field.scrollTop) / height);
    const column = Math.floor((event.clientX - box.left - left + this.field.scrollLeft) / width);
    return row >= 0 && row < this.rows.length && column >= 0 ? [row + 1, column + 1] : null;
  }

  /** Size of a letter and the space around the text, in pixels. */
  metrics() {
    const style = getComputedStyle(this.field);
    const context = (this.canvas ??= document.createElement("canvas")).getContext("2d");
    context.font = `${style.fontSize} ${style.fontFamily}`;
    return { height: parseFloat(style.lineHeight), width: context.measureText("0").width,
      left: parseFloat(style.paddingLeft), top: parseFloat(style.paddingTop) };
  }

  /** Scrolls colours and line numbers with the text. */
  follow() {
    this.paint.style.transform = `translate(${-this.field.scrollLeft}px, ${-this.field.scrollTop}px)`;
    this.gutter.style.transform = `translateY(${-this.field.scrollTop}px)`;
  }

  /** Draws all lines again. */
  draw() {
    let section = "";
    this.rows = this.text.split("\n").map((line) => {
      const heading = this.words.keywords.find((word) => line.startsWith(word) && !/[\w]/.test(line[word.length] ?? " "));
      if (heading) section = heading;
      else if (/^\S/.test(line) && !line.startsWith("#")) section = "";
      return { line, heading: heading ?? "", section, node: el("div") };
    });
    this.rows.forEach((row, i) => this.redraw(i));
    this.veil.value = this.isCovered ? this.rows.map((row) => row.node.textContent).join("\n") : "";
    fill(this.paint, this.rows.map((row) => row.node));
    if (this.gutter.childElementCount !== this.rows.length) {
      fill(this.gutter, this.rows.map((_, i) => el("div", {}, String(i + 1))));
    }
    const wrong = new Set(this.marks.map((mark) => mark.line - 1));
    [...this.gutter.children].forEach((number, i) => number.classList.toggle("wrong", wrong.has(i)));
    this.follow();
  }

  /** Draws one line again: its words in colours, cut where a mark begins or ends. */
  redraw(index) {
    const row = this.rows[index];
    if (!row) return;
    const spans = this.marks.filter((mark) => mark.line === index + 1)
      .map((mark) => [...units(row.line, mark.column, mark.width), "wavy"]);
    if (this.pointed?.[0] === index + 1) spans.push([...units(row.line, this.pointed[1], this.pointed[2]), "pointed"]);
    const cuts = [...new Set(spans.flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b);
    const parts = [];
    for (const [from, written, name] of this.tokens(row)) {
      const text = name === "covered" ? written.replace(/\S/g, " ") : written;
      let at = from;
      for (const cut of [...cuts.filter((c) => c > from && c < from + text.length), from + text.length]) {
        const names = spans.filter(([a, b]) => a <= at && cut <= b).map((span) => span[2]);
        parts.push(el("span", { class: [name, ...names].filter(Boolean).join(" ") || null }, text.slice(at - from, cut - from)));
        at = cut;
      }
    }
    // A mark behind the end of the line still shows.
    for (const [from, , name] of spans) if (from >= row.line.length) parts.push(el("span", { class: name }, " "));
    fill(row.node, parts);
  }

  /** The words of a line with the names of their colours: `[start, text, name]`. */
  *tokens({ line, heading, section }) {
    const isCovered = this.isCovered && TELLING.has(section);
    if (heading) yield [0, heading, "word-section"];
    let at = heading.length;
    if (isCovered || (PROSE.has(section) && !heading)) {
      if (at < line.length) yield [at, line.slice(at), isCovered ? "covered" : "word-prose"];
      return;
    }
    for (const [text] of line.slice(at).matchAll(TOKEN)) {
      const isComment = text.startsWith("#");
      yield [at, text, isComment && this.isCovered ? "covered" : isComment ? "word-comment"
        : /^["']/.test(text) ? (this.isCovered ? "covered" : "word-string") : /^\d/.test(text) ? "word-number"
        : this.words.atoms.has(text) ? "word-atom" : KINDS.has(text) || WORDS.has(text) ? "word-kind" : ""];
      at += text.length;
    }
  }
}

/** From and to in a line, in JavaScript's units, of a column from 1 and a width in characters. */
export function units(line, column, width) {
  const letters = [...line];
  const from = letters.slice(0, Math.max(0, column - 1)).join("").length;
  return [from, from + Math.max(1, letters.slice(Math.max(0, column - 1), column - 1 + width).join("").length)];
}
