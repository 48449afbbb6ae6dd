// The tree of a line: each node with its sign, curvature and rule, tied to its place in the text.

import { el } from "./dom.js";
import { formula } from "./formula.js";

/** Curvature with the order in which it holds. */
export function curvatureWords(node) {
  return node.curvature + (node.order ? " ⪯" : "");
}

/** The first word of a curvature: neither, of "neither convex nor concave". */
export const firstWord = (curvature) => curvature.split(" ")[0];

/** The badge of a node. */
function badge(node) {
  return el("span", { class: `badge ${firstWord(node.curvature)}`, title: node.order ? "in the order of psd matrices" : null },
    curvatureWords(node));
}

/**
 * The trees of the sides of a line; `links` gets [element, node] of each node, `extra(node, number)` gives
 * what stands behind a formula instead of the badges.
 */
export function treeOf(line, links, on, extra = null) {
  let number = 0;
  const item = (node) => {
    const mine = number++;
    const button = el("button", {
      type: "button", class: "node",
      "aria-label": extra ? node.plain : `${node.plain}: ${[node.shape, node.sign, curvatureWords(node)].filter(Boolean).join(", ")}`,
      onpointerenter: () => on.point(node), onpointerleave: () => on.point(null),
      onfocus: () => on.point(node), onblur: () => on.point(null), onclick: () => on.select(node),
    }, formula(node.parts.length ? node.short : node.formula));
    const isSame = node.same !== null && node.same !== undefined;
    const entry = el("li", { class: node.blamed && !extra ? "blamed" : null }, button,
      extra ? extra(node, mine) : [
        el("span", { class: "shape" }, [node.shape, node.sign].filter(Boolean).join(", ")), badge(node),
        el("span", { class: "rule" }, isSame ? "as above" : node.rule)],
      node.parts.length > 0 && el("ul", {}, node.parts.map(item)));
    links.push([button, node]);
    return entry;
  };
  return line.sides.map((side, i) => el("ul", { class: "tree scroll",
    "aria-label": line.sides.length > 1 ? ["left side", "right side"][i] : "objective" }, item(side)));
}

/** The innermost node whose text holds a place, of [element, node] pairs. */
export function innermost(links, place) {
  if (!place) return null;
  const [line, column] = place;
  const around = links.filter(([, node]) => node.place && node.place[0] === line &&
    node.place[1] <= column && column <= node.place[1] + node.place[2]);
  return around.reduce((best, link) => (best && best[1].place[2] <= link[1].place[2] ? best : link), null);
}
