// Formulas: trees of MathML from the server, made into elements through a list of what may occur.

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS = new Set(("math mrow mi mo mn ms mtext mspace msub msup msubsup mfrac msqrt mroot mtable mtr mtd " +
  "mover munder munderover mpadded mphantom").split(" "));
const ATTRIBUTES = new Set(("display displaystyle mathvariant stretchy fence form lspace rspace minsize maxsize " +
  "movablelimits width columnalign rowspacing columnspacing accent accentunder linethickness scriptlevel " +
  "symmetric largeop separator").split(" "));
const DEEPEST = 200;

/** The elements of a tree `[tag, {attribute: value}, child…]`; what is not in the lists becomes its text. */
export function formula(tree, depth = 0) {
  if (typeof tree === "string" || typeof tree === "number") return document.createTextNode(String(tree));
  if (!Array.isArray(tree) || depth > DEEPEST) return document.createTextNode("");
  const [tag, attributes, ...children] = tree;
  const node = TAGS.has(tag) ? document.createElementNS(MATHML, tag) : document.createDocumentFragment();
  if (TAGS.has(tag)) {
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (ATTRIBUTES.has(key)) node.setAttribute(key, String(value));
    }
  }
  node.append(...children.map((child) => formula(child, depth + 1)));
  return node;
}

/** A sentence: words with formulas between them. */
export function sentence(parts) {
  return (parts ?? []).map((part) => formula(part));
}
