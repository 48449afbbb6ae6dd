// The tree of a line: each node with its sign, curvature and rule, tied to its place in the text.

import { el } from "./dom.js";
import { formula } from "./formula.js";

/** Curvature with the order in which it holds. */
export function curvatureWords(node) {
  return node.curvature + (node.order ? " ⪯" : "");
}

/** The first word of a curvature: neither, of "neither convex nor concave by the rules". */
export const firstWord = (curvature) => curvature.split(" ")[0];

/** Whether a node is a number, with or without a sign. */
export const isNumber = (node) => node.rule === "a number" || (node.parts.length === 1 && node.curvature === "constant" && isNumber(node.parts[0]));

/** The rule of a node in words. */
export const ruleOf = (node) => (node.same !== null ? "as above" : isNumber(node) ? "a number" : node.rule);

/** The badge of a node. */
function badge(node) {
  return el("span", { class: `badge ${firstWord(node.curvature)}`, title: node.order ? "in the order of psd matrices" : null },
    curvatureWords(node));
}

/**
 * The trees of the sides of a line; `links` gets [element, node] of each node, `extra(node)` gives what stands
 * behind a formula instead of the badges. A negated number is a number, without parts.
 */
export function treeOf(line, links, on, extra = null) {
  const item = (node) => {
    const parts = isNumber(node) ? [] : node.parts;
    const button = el("button", {
      type: "button", class: "node",
      "aria-label": extra ? node.plain : `${node.plain}: ${[node.shape, node.sign, curvatureWords(node)].filter(Boolean).join(", ")}`,
      onpointerenter: () => on.point(node), onpointerleave: () => on.point(null),
      onfocus: () => on.point(node), onblur: () => on.point(null), onclick: () => on.select(node),
    }, formula(parts.length ? node.short : node.formula));
    const entry = el("li", { class: node.blamed && !extra ? "blamed" : null }, button,
      extra ? extra(node) : [
        el("span", { class: "shape" }, [node.shape, node.sign].filter(Boolean).join(", ")), badge(node),
        el("span", { class: "rule" }, ruleOf(node))],
      parts.length > 0 && el("ul", {}, parts.map(item)));
    links.push([button, node]);
    return entry;
  };
  return line.sides.map((side, i) => el("ul", { class: "tree scroll",
    "aria-label": line.sides.length > 1 ? ["left side", "right side"][i] : "objective" }, item(side)));
}

/** A view with trees: its links tie [element, node], and one node at most is marked. */
export class TreeView {
  links = [];
  current = null;

  /** Marks the innermost node whose text holds a place, `[line, column]`, or none. */
  point(place) {
    const around = !place ? [] : this.links.filter(([, { place: at }]) => at && at[0] === place[0] &&
      at[1] <= place[1] && place[1] <= at[1] + at[2]);
    this.current?.classList.remove("pointed");
    this.current = around.reduce((best, link) => (best && best[1].place[2] <= link[1].place[2] ? best : link), null)?.[0] ?? null;
    this.current?.classList.add("pointed");
  }
}
