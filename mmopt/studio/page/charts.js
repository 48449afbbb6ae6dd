// Pictures: a matrix as a heat map, series over queries, gap against time, a bound against the optimum.

import { el, fill, shown, svg } from "./dom.js";

const WIDTH = 640;
const [SHADES, DARK_SHADES] = [["#b2182b", "#ef8a62", "#f7f7f7", "#67a9cf", "#2166ac"],
  ["#ffb3a0", "#c2503c", "#22262c", "#3d78b5", "#a8d4ff"]].map((row) => row.map((hex) =>
  [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16))));

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The colour of a number between −1 and 1: red below zero, that of the sheet at it, blue above. */
function shade(t) {
  const at = (Math.max(-1, Math.min(1, t)) + 1) * 2;
  const low = Math.min(3, Math.floor(at));
  const shades = dark.matches ? DARK_SHADES : SHADES;
  return shades[low].map((value, i) => Math.round(value + (shades[low + 1][i] - value) * (at - low)));
}

/** A matrix as a heat map with the numbers at its ends; pointing at a cell says its number. */
export function heatMap({ rows, columns }) {
  const height = rows.length, width = rows[0]?.length ?? 0;
  const largest = rows.reduce((most, row) => row.reduce((m, x) => Math.max(m, Math.abs(x ?? 0)), most), 0) || 1;
  const canvas = el("canvas", { width, height, class: "heat", role: "img",
    "aria-label": `The strategy, ${height} rows by ${width} cells, numbers up to ${shown(largest, 4)}. A table is below.` });
  const context = canvas.getContext("2d");
  const image = context.createImageData(Math.max(1, width), Math.max(1, height));
  canvas.style.aspectRatio = `${Math.max(1, width)} / ${Math.max(1, height)}`;
  const said = el("output", { class: "faint said" }, "Point at a cell to read its number.");
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const j = Math.min(width - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * width)));
    const i = Math.min(height - 1, Math.max(0, Math.floor((event.clientY - box.top) / box.height * height)));
    said.textContent = `row ${i + 1}, cell ${columns[j]}: ${shown(rows[i][j], 5)}`;
  });
  const steps = [-1, -0.5, 0, 0.5, 1];
  const legend = el("p", { class: "legend" });
  const paint = () => {
    rows.forEach((row, i) => row.forEach((x, j) => image.data.set([...shade((x ?? 0) / largest), 255], 4 * (i * width + j))));
    context.putImageData(image, 0, 0);
    fill(legend, steps.map((t) => el("span", {},
      el("span", { class: "swatch", style: { background: `rgb(${shade(t).join(", ")})` } }), shown(t * largest, 3))));
  };
  paint();
  dark.addEventListener("change", function repaint() {
    if (canvas.isConnected) paint();
    else dark.removeEventListener("change", repaint);
  });
  const every = Math.ceil(height / 16);
  const numbers = el("div", { class: "row-numbers", "aria-hidden": "true" }, rows.map((_, i) => i % every === 0 &&
    el("span", { style: { top: `${(i + 0.5) / height * 100}%` } }, String(i + 1))));
  return el("div", {}, el("div", { class: "heat-box" }, numbers, canvas), legend, said);
}

/** Round numbers from 0 or `low` to `high`, about five of them. */
function ticks(low, high) {
  const rough = (high - low || 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const out = [];
  for (let t = Math.ceil(low / step) * step; t <= high * (1 + 1e-9) && out.length < 9; t += step) out.push(Number(t.toPrecision(10)));
  return out;
}

/** A power of ten in few letters. */
function power(t) {
  const exponent = Math.round(Math.log10(t));
  return Math.abs(exponent) < 4 ? shown(t, 2) : `10${[...String(exponent)].map((c) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻").join("")}`;
}

/** A chart's frame: axes, and functions from numbers to places. */
function frame({ xs, ys, isLog, xName, yName, height, label }) {
  const left = 64, right = WIDTH - 10, top = 34, bottom = height - 52;
  const y0 = isLog ? Math.floor(Math.log10(ys[0])) : ys[0];
  const y1 = isLog ? Math.max(y0 + 1, Math.ceil(Math.log10(ys[1]))) : ys[1];
  const x = (t) => left + (t - xs[0]) / (xs[1] - xs[0] || 1) * (right - left);
  const y = (t) => bottom - ((isLog ? Math.log10(Math.max(t, 10 ** y0)) : t) - y0) / (y1 - y0 || 1) * (bottom - top);
  const every = Math.max(1, Math.ceil((y1 - y0) / 6));
  const marks = isLog ? Array.from({ length: Math.floor((y1 - y0) / every) + 1 }, (_, i) => 10 ** (y0 + every * i)) : ticks(y0, y1);
  const node = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "chart", role: "img", "aria-label": label },
    marks.map((t) => [
      svg("line", { x1: left, x2: right, y1: y(t), y2: y(t), class: "grid" }),
      svg("text", { x: left - 6, y: y(t) + 4, "text-anchor": "end" }, isLog ? power(t) : shown(t, 3))]).flat(),
    ticks(...xs).map((t) => svg("text", { x: x(t), y: bottom + 20, "text-anchor": "middle" }, shown(t, 3))),
    svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }),
    svg("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, xName),
    svg("text", { x: 4, y: 18 }, yName));
  return { node, x, y };
}

/** Series over the queries: `[{name, values}]`, each a line and, for few queries, dots. */
export function errorChart(series, isLog) {
  const all = series.flatMap((each) => each.values).filter((v) => v !== null && Number.isFinite(v));
  const high = Math.max(...all, 1e-12), low = Math.min(...all.filter((v) => v > 0), high);
  const count = series[0]?.values.length ?? 0;
  const { node, x, y } = frame({ xs: [1, Math.max(2, count)], ys: isLog ? [low, high] : [0, high * 1.05], isLog,
    xName: "query", yName: "standard error", height: 300,
    label: `Standard error of each of ${count} queries: ${series.map((s) => s.name).join(", ")}. A table is below.` });
  series.forEach(({ name, values }, k) => {
    const points = values.flatMap((v, i) => (v === null ? [] : [[x(i + 1), y(v)]]));
    node.append(svg("polyline", { class: `series s${k}`, points: points.map((p) => p.map((c) => c.toFixed(1)).join(",")).join(" ") },
      svg("title", {}, name)));
    if (count <= 40) node.append(...points.map(([a, b], i) => svg("circle", { class: `dot s${k}`, cx: a, cy: b, r: 3 },
      svg("title", {}, `${name}, query ${i + 1}: ${shown(values[i], 4)}`))));
  });
  const key = el("p", { class: "legend" }, series.map(({ name }, k) => el("span", {},
    svg("svg", { viewBox: "0 0 30 10", class: "key", "aria-hidden": "true" }, svg("line", { class: `series s${k}`, x1: 0, x2: 30, y1: 5, y2: 5 })), name)));
  return el("div", {}, node, key);
}

/** The gap against time, with a logarithmic axis. */
export function gapChart(points) {
  const good = points.filter((p) => p.gap !== null && Number.isFinite(p.gap) && p.gap > 0);
  if (!good.length) return el("p", { class: "faint" }, "There was no bound or no gap during the solve.");
  const gaps = good.map((p) => p.gap), last = Math.max(...good.map((p) => p.seconds), 1e-3);
  const { node, x, y } = frame({ xs: [0, last], ys: [Math.min(...gaps), Math.max(...gaps)], isLog: true,
    xName: "seconds", yName: "gap", height: 240, label: `Gap against time, ${good.length} points, last ${shown(gaps.at(-1), 2)}` });
  node.append(svg("polyline", { class: "series s0", points: good.map((p) => `${x(p.seconds).toFixed(1)},${y(p.gap).toFixed(1)}`).join(" ") }));
  node.append(...good.map((p) => svg("circle", { class: "dot s0", cx: x(p.seconds), cy: y(p.gap), r: 3 },
    svg("title", {}, `${shown(p.seconds, 3)} s: ${shown(p.gap, 3)}`))));
  return node;
}

/** A bound against the objective reached, and the dual function unless null: as a bar of it, or else of the bound.

On a number line where one of them is not positive, of a length in powers of ten: so its ticks are seen to move. */
export function boundBar(bound, { objective: optimum, sense }, digits, dual = null) {
  const node = svg("svg", { viewBox: `0 0 ${WIDTH} ${dual === null ? 92 : 114}`, class: "chart bar", role: "img",
    "aria-label": `Bound ${shown(bound)}, objective reached ${shown(optimum, digits)}${dual === null ? "" : `, dual function ${shown(dual)}`}` });
  if (bound === null || optimum === null) return node;
  const way = sense === "maximize" ? 1 : -1, isInfinite = Math.abs(dual) === Infinity;
  const all = [bound, optimum, isInfinite ? bound : dual ?? bound], filled = isInfinite ? 0 : dual ?? bound;
  const isBar = Math.min(...all) >= 0 && optimum > 0 && Math.max(...all) <= 4 * optimum;
  const far = Math.max(...all.map((t) => Math.abs(t - optimum)), Math.abs(optimum) / 10 || 1e-3);
  const length = 10 ** Math.ceil(Math.log10(far));
  const low = isBar ? 0 : Math.min(...all) < optimum ? optimum - length : optimum;
  const high = isBar ? Math.max(...all) : Math.max(...all) > optimum ? optimum + length : optimum;
  const room = isBar ? 0 : (high - low || length) * 0.05;
  const x = (t) => 20 + (t - low + room) / (high - low + 2 * room) * (WIDTH - 40);
  const end = (t) => (x(t) > WIDTH * 0.7 ? "end" : x(t) < WIDTH * 0.3 ? "start" : "middle");
  if (isBar) node.append(
    svg("rect", { x: x(0), y: 30, width: x(optimum) - x(0), height: 26, class: "whole" }),
    svg("rect", { x: x(0), y: 30, width: Math.max(0, x(filled) - x(0)), height: 26, class: "part" }));
  else node.append(svg("line", { x1: 10, x2: WIDTH - 10, y1: 43, y2: 43, class: "axis" }));
  node.append(
    svg("line", { x1: x(bound), x2: x(bound), y1: 24, y2: 62, class: "tick part" }),
    svg("line", { x1: x(optimum), x2: x(optimum), y1: 24, y2: 62, class: "tick" }),
    svg("text", { x: x(bound), y: 18, "text-anchor": end(bound) }, `${sense === "maximize" ? "upper" : "lower"} bound ${shown(bound, digits, way)}`),
    svg("text", { x: x(optimum), y: 83, "text-anchor": end(optimum) }, `objective reached ${shown(optimum, digits, -way)}`));
  const at = isInfinite ? (dual > 0 ? high : low) : dual; // what is infinite is named at an end, without a tick
  if (dual !== null && !isInfinite) node.append(svg("line", { x1: x(at), x2: x(at), y1: 30, y2: 92, class: "tick dual" }));
  if (dual !== null) node.append(svg("text", { x: x(at), y: 107, "text-anchor": end(at) }, `dual function ${dual > 0 && isInfinite ? "+" : ""}${shown(dual, digits)}`));
  return node;
}
