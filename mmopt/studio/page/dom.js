// Elements and numbers: everything that is shown is made here, of text and never of HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element; keys of `props` that begin with "on" are listeners, those of `style` CSS properties. */
export function el(tag, props = {}, ...children) {
  return dressed(document.createElement(tag), props, children);
}

/** An SVG element. */
export function svg(tag, props = {}, ...children) {
  return dressed(document.createElementNS(SVG, tag), props, children);
}

/** An element with attributes, listeners and children; null and false are left out. */
function dressed(node, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(node.style, value);
    else if (key === "value" || key === "checked" || key === "open") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...there(children));
  return node;
}

/** Puts children in place of those that are there. */
export function fill(node, ...children) {
  node.replaceChildren(...there(children));
}

/** Children out of nested lists, without null, false and empty texts. */
function there(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}

/** The element with an id. */
export const byId = (id) => document.getElementById(id);

/** A number in at most `digits` significant digits, rounded up (way 1), down (−1) or to the nearest; or words. */
export function shown(value, digits = 6, way = 0) {
  if (value === null || value === undefined) return "none";
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value), near = Number(value.toPrecision(digits));
  if (size < Number.MIN_VALUE * 2 ** 52) return "0"; // a zero that was rounded outward
  if (way * (near - value) < 0) return shown(near + way * 10 ** (Math.floor(Math.log10(size)) - digits + 1), digits);
  const text = size !== 0 && (size < 1e-4 || size >= 1e7) ? near.toExponential() : String(near);
  return text.replaceAll("-", "−").replace("e+", "e");
}

/** A gap, rounded up: in percent, or as a power of ten where it is small. */
export function shownGap(gap) {
  if (gap === null || gap === undefined) return "none";
  if (Math.abs(gap) < 1e-4) return shown(gap, 2, 1);
  return `${shown(100 * gap, 3, 1)} %`;
}

/** A number with its noun. */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Does `act` once `wait` milliseconds have passed since the last call. */
export function debounced(wait, act) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...args), wait);
  };
}

/** Sends one request at a time: `act` is called with the newest of the values that came meanwhile. */
export function oneAtATime(act) {
  let busy = false, waiting = null;
  return async function next(value) {
    if (busy) {
      waiting = [value];
      return;
    }
    busy = true;
    try {
      await act(value);
    } finally {
      busy = false;
      if (waiting) {
        const [newest] = waiting;
        waiting = null;
        next(newest);
      }
    }
  };
}

/** A table of rows of texts or nodes; `numbers` are the columns that are set to the right. */
export function table(heads, rows, numbers = [], caption = "") {
  const place = (i) => ({ class: numbers.includes(i) ? "number" : null });
  return el("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": caption || "table" },
    el("table", {},
      caption && el("caption", {}, caption),
      el("thead", {}, el("tr", {}, heads.map((head, i) => el("th", { scope: "col", ...place(i) }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) =>
        i === 0 ? el("th", { scope: "row", ...place(i) }, cell) : el("td", place(i), cell)))))));
}

/** A part that opens on a click; what is inside is made when it is first opened. */
export function folded(title, make, isOpen = false, onchange = null) {
  const body = el("div", {});
  let isMade = false;
  const node = el("details", {
    ontoggle: () => {
      if (node.open && !isMade) fill(body, make());
      isMade ||= node.open;
      onchange?.(node.open);
    },
  }, el("summary", {}, title), body);
  node.open = isOpen;
  return node;
}
