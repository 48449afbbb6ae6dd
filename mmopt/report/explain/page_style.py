"""The style sheet of an explanation's page: for a screen by day or night, a slide, and paper."""

__all__ = ["STYLE"]

STYLE = """
.mmopt-explain { --ink: #1b1f24; --faint: #636c76; --line: #d1d9e0; --paper: #ffffff; --bad: #c62828;
  --constant: #6e7781; --affine: #0969da; --convex: #1a7f37; --concave: #8250df;
  color: var(--ink); background: var(--paper); max-width: 60rem; margin: 0 auto; padding: 1rem;
  font: 16px/1.5 system-ui, sans-serif; }
@media (prefers-color-scheme: dark) { .mmopt-explain { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --paper: #0d1117; --bad: #ff7b72; --constant: #9198a1; --affine: #58a6ff; --convex: #3fb950;
  --concave: #bc8cff; } }
body:has(> .mmopt-explain) { margin: 0; }
.mmopt-explain h1 { font-size: 1.6em; line-height: 1.2; }
.mmopt-explain h2 { font-size: 1.25em; margin-top: 2em;
  padding-bottom: .2em; border-bottom: 1px solid var(--line); }
.mmopt-explain h3 { font-size: 1.05em; }
.mmopt-explain table { border-collapse: collapse; display: block; overflow-x: auto; margin: .8em 0; }
.mmopt-explain th, .mmopt-explain td { padding: .25em 1em .25em 0; text-align: left; vertical-align: top;
  background: none; border: none; }
.mmopt-explain thead th { border-bottom: 1px solid var(--line); color: var(--faint); font-weight: normal; }
.mmopt-explain .program th { color: var(--faint); font-weight: normal; white-space: nowrap; }
.mmopt-explain .program td + td { color: var(--faint); }
.mmopt-explain .number { text-align: right; white-space: nowrap; }
.mmopt-explain .whole { white-space: nowrap; }
.mmopt-explain pre { overflow-x: auto; color: inherit; background: none; }
.mmopt-explain .strong { font-weight: 600; margin-bottom: .2em; }
.mmopt-explain .loud { color: var(--bad); font-weight: 600; }
.mmopt-explain .tree, .mmopt-explain .tree ul { list-style: none; margin: 0; padding-left: 1.4em; }
.mmopt-explain .tree ul { border-left: 1px solid var(--line); margin-left: .3em; }
.mmopt-explain .tree { padding-left: 0; overflow-x: auto; }
.mmopt-explain .tree li { margin: .3em 0; }
.mmopt-explain summary { cursor: pointer; }
.mmopt-explain .badge { border: 1px solid currentcolor; border-radius: 1em; padding: 0 .6em; font-size: .8em;
  margin-left: .6em; white-space: nowrap; }
.mmopt-explain .constant { color: var(--constant); } .mmopt-explain .affine { color: var(--affine); }
.mmopt-explain .convex { color: var(--convex); } .mmopt-explain .concave { color: var(--concave); }
.mmopt-explain .neither { color: var(--bad); }
.mmopt-explain .known { font-size: .85em; margin: 0 .4em; }
.mmopt-explain .rule { font-size: .85em; color: var(--faint); }
.mmopt-explain .blamed > details > summary, .mmopt-explain li.blamed { outline: 2px solid var(--bad);
  outline-offset: 2px; }
.mmopt-explain li.blamed:has(> details) { outline: none; }
@media print { .mmopt-explain section { break-inside: avoid; } }
"""
