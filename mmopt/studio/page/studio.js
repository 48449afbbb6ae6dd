// The studio: one store of text, check and solution, and who is told when one of them changes.

import { addressOf, call, CallError, findToken, readAddress, stream, writeAddress } from "./api.js";
import { CompareTab } from "./compare_tab.js";
import { byId, counted, debounced, el, fill, folded, table } from "./dom.js";
import { Editor, units } from "./editor.js";
import { MultipliersTab } from "./multipliers_tab.js";
import { ProgramTab } from "./program_tab.js";
import { QuizTab } from "./quiz_tab.js";
import { SolutionTab } from "./solution_tab.js";

const TABS = ["program", "solution", "multipliers", "compare", "quiz"];
const LONGEST_NAME = 40; // characters of what a link names that are shown
const CHECK_WAIT = 150, SOLVE_WAIT = 300, REST_WAIT = 60;

// checked: {text, answer}; solved: {key, solution, points, what}; shown: the key of what the solution view is about; work: the solve or comparison that runs; solving: the newest solve; wanted: its key.
const store = { lists: null, checked: null, solved: null, shown: null, work: null, solving: null, wanted: null, checks: 0, tab: "program", isMoving: false };

const editor = new Editor({ onText: textChanged, onPlace: pointFromText });
const pointing = { point: (node) => editor.point(node?.place ?? null), select: (node) => node.place && editor.select(...node.place) };
const views = {
  program: new ProgramTab(byId("panel-program"), pointing),
  solution: new SolutionTab(byId("panel-solution"), jump),
  multipliers: new MultipliersTab(byId("panel-multipliers"), askBound),
  compare: new CompareTab(byId("panel-compare"), compare),
  quiz: new QuizTab(byId("panel-quiz"), { ...pointing, load: loadExample, show: () => drawProblems() }),
};

// -- what is asked for

/** The workload that the controls describe. */
function workload() {
  const query = byId("weighed").value, times = Number(byId("times").value);
  const kind = byId("queries").value;
  return { kind, cells: Number(byId("cells").value), weight: query === "" ? null : { query: Number(query) - 1, times },
    ...(kind === "file" ? { file: byId("file").value } : {}) };
}

/** All that a solve depends on, as a text; results with another one are old. */
const keyOf = (asked) => JSON.stringify(asked);

/** What would be solved now. */
function asked() {
  return { text: editor.text, workload: workload(), solver: byId("solvers").value || null };
}

// -- the check

const checkSoon = debounced(CHECK_WAIT, check);
let checkCall = null;

/** The text has changed: what was said of it is no longer so. */
function textChanged() {
  byId("programs").value = store.lists?.programs.find((p) => p.text === editor.text)?.name ?? "";
  say("");
  markOld();
  checkSoon();
  if (store.tab !== "quiz") return;
  store.checked = null; // what was shown of another text is covered at once
  drawChecked();
}

/** Checks the text; an answer that comes late is dropped. */
async function check() {
  const number = ++store.checks, text = editor.text;
  checkCall?.abort();
  checkCall = new AbortController();
  remember();
  let answer;
  try {
    answer = await call("check", { text }, checkCall.signal);
  } catch (error) {
    if (number !== store.checks || error.name === "AbortError") return;
    store.checked = null;
    drawChecked();
    failed(error);
    return;
  }
  if (number !== store.checks || text !== editor.text) return;
  // A text that is too long, or takes too long, is not checked at all.
  if (answer.problem) answer = { problems: [answer.problem], program: null, asks: true };
  banner("");
  if (store.isRefused) say("");
  store.isRefused = false;
  store.checked = { text, answer };
  drawChecked();
  if (byId("as-i-type").checked && !answer.problems.length && store.wanted !== keyOf(asked()) && !isQuiz()) solveSoon();
}

/** Shows the newest check everywhere. */
function drawChecked() {
  const { text, answer } = store.checked ?? { text: editor.text, answer: null };
  views.program.draw(answer);
  views.quiz.draw(text, answer);
  drawProblems();
  drawControls();
}

/** Whether the answers of a quiz are to stay hidden. */
function isQuiz() {
  return store.tab === "quiz" && !views.quiz.isShown;
}

/** The problems beneath the editor and their marks in it; none that a quiz asks for. */
function drawProblems() {
  const answer = store.checked?.text === editor.text ? store.checked.answer : null;
  const isHidden = isQuiz() && Boolean(answer?.program);
  const problems = answer && !isHidden ? answer.problems : [];
  editor.cover(isQuiz() && (isHidden || !answer));
  editor.mark(problems);
  const count = !answer ? "" : isHidden ? "Hidden while the quiz asks." : problems.length ? `${counted(problems.length, "problem")}.` : "No problems.";
  if (byId("count").textContent !== count) byId("count").textContent = count;
  fill(byId("problems"), problems.map((problem) => el("li", {}, el("button", { type: "button", class: "problem",
    onclick: () => jump(problem) },
    problem.line > 0 && el("span", { class: "where" }, `${problem.line}:${problem.column} `), problem.message,
    problem.hint && el("span", { class: "hint" }, problem.hint)))));
}

/** Selects the place of a mistake, in the editor or in the text of the workload file. */
function jump({ file, line, column, width }) {
  if (line <= 0) return;
  if (file !== "workload") {
    editor.select(line, column, width);
    return;
  }
  const field = byId("file"), rows = field.value.split("\n");
  const start = rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
  const [from, to] = units(rows[line - 1] ?? "", column, width);
  field.focus();
  field.setSelectionRange(start + from, start + to);
}

/** The controls of the workload: open where the program asks anything of one. */
function drawControls() {
  const isAsked = store.checked?.answer?.asks ?? true;
  for (const id of ["queries", "cells", "weighed", "times"]) byId(id).disabled = !isAsked;
  for (const id of ["cells", "weighed", "times"]) byId(id).disabled ||= byId("queries").value === "file";
  byId("file-label").hidden = byId("queries").value !== "file";
  const cells = Number(byId("cells").value), rows = Math.floor(Math.sqrt(cells));
  byId("cells-shown").textContent = byId("queries").value === "tables" ? `${rows} × ${Math.floor(cells / rows)}` : cells;
  byId("controls").classList.toggle("no-workload", !isAsked);
}

/** How many queries the controls describe; a workload file may have any number. */
function queryCount() {
  const cells = Number(byId("cells").value), rows = Math.floor(Math.sqrt(cells));
  return { prefix: cells, ranges: cells * (cells + 1) / 2, tables: rows + Math.floor(cells / rows) }[byId("queries").value] ?? Infinity;
}

/** Marks the node of a place of the text, and its text. */
function pointFromText(place) {
  const view = store.tab === "quiz" ? views.quiz : views.program;
  view.point(store.checked?.text === editor.text ? place : null);
}

// -- solving

const solveSoon = debounced(SOLVE_WAIT - CHECK_WAIT, solve);

/** Solves what the controls and the text say, in place of what runs. */
async function solve() {
  store.isMoving = false;
  const answer = store.checked?.text === editor.text ? store.checked.answer : null;
  if (isQuiz() && (!answer || answer.program)) return say("Press Show first: a solve would reveal the answers.");
  const what = asked(), points = [], work = store.solving = begin("Solving");
  store.wanted = keyOf(what);
  remember();
  const sense = store.checked?.text === what.text ? store.checked.answer.program?.sense : null;
  const started = performance.now();
  let last = null;
  const drawRunning = () => {
    if (store.work !== work) return;
    store.shown = keyOf(what);
    views.solution.running(points, (performance.now() - started) / 1000, sense);
    markOld();
  };
  // A picture of before stays until it is clear that the next takes longer.
  const clock = setInterval(drawRunning, 500);
  try {
    await stream("solve", { ...what, seconds: store.lists.limits.seconds }, work.signal, (line) => {
      if (line.point) points.push(line.point);
      else last = line;
    });
    if (store.solving !== work) return;
    if (!last) throw new CallError("The answer broke off: the studio's server has stopped.", true);
    store.shown = keyOf(what);
    banner("");
    byId("file").setAttribute("aria-invalid", String(last?.problem?.file === "workload"));
    if (last?.solution) {
      store.solved = { key: keyOf(what), solution: last.solution, points, what };
      views.solution.draw(last.solution, points);
      views.multipliers.draw(last.solution, store.lists.limits.multipliers);
    } else {
      store.solved = { key: keyOf(what), solution: null, points, what };
      views.solution.failed(last?.problem, last?.stop);
      views.multipliers.idle("The last solve ended without a solution, so there are no multipliers.");
    }
    end(work, isQuiz() ? "" : last?.solution ? "Solved." : `No solution. ${last?.problem?.message ?? ""}`);
  } catch (error) {
    if (store.solving !== work) return; // another solve shows itself, a comparison does not
    store.solved = store.shown = store.wanted = null;
    views.multipliers.idle();
    if (error.name === "AbortError") views.solution.idle("Stopped. Press Solve to begin again.");
    else views.solution.failed({ message: error.message });
    end(work, error.name === "AbortError" ? "Stopped." : "");
    failed(error);
  } finally {
    clearInterval(clock);
    markOld();
  }
  if (store.isMoving && !store.work) solve();
}

/** Solves as a slider moves: at once where nothing runs; else the newest, after what runs or once it rests. */
function solveMoving() {
  store.isMoving = Boolean(store.work);
  if (store.isMoving) solveResting();
  else solve();
}

const solveResting = debounced(REST_WAIT, () => {
  if (store.isMoving) solve();
});

/** A new piece of work, which ends the one before. */
function begin(words) {
  store.work?.abort();
  views.compare.end("Stopped.");
  store.work = new AbortController();
  byId("stop").disabled = false;
  say(`${words}…`);
  markOld();
  return store.work;
}

/** The work has ended. */
function end(work, words) {
  if (store.work !== work) return;
  store.work = null;
  if (document.activeElement === byId("stop")) byId("solve").focus();
  byId("stop").disabled = true;
  say(words);
}

/** Ends the solve or the comparison that runs. */
function stop() {
  if (!store.work) return;
  call("stop").catch(failed);
  store.work.abort();
}

/** Formulations and solvers in sequence. */
async function compare(choice) {
  const work = begin("Comparing");
  let problem = null, isWhole = false;
  views.compare.begin();
  const { text, workload: queries } = asked();
  store.compared = keyOf({ text, queries });
  try {
    await stream("compare", { text, workload: queries, ...choice }, work.signal, (line) => {
      if (store.work !== work) return;
      if (line.row) views.compare.add(line.row);
      problem = line.problem ?? problem;
      isWhole ||= Boolean(line.end);
    });
    if (store.work !== work) return;
    banner("");
    views.compare.end(problem ? [problem.message, problem.hint].filter(Boolean).join(" —\n") : isWhole ? "Compared." : "The comparison broke off.");
  } catch (error) {
    if (store.work !== work) return;
    views.compare.end(error.name === "AbortError" ? "Stopped." : error.message);
    failed(error);
  }
  end(work, "");
  markOld();
}

/** The bound that multipliers prove, for the text and workload as solved. */
function askBound(multipliers) {
  const { text, workload: queries } = store.solved.what;
  const { has_certificate, variables } = store.solved.solution;
  return call("bound", { text, workload: queries, multipliers, ...(has_certificate ? {} : { point: variables }) });
}

/** Dims results of another text or workload, and says so where no newer ones are on their way. */
function markOld() {
  const now = asked();
  const isOld = (key) => Boolean(key) && key !== keyOf(now);
  const old = { solution: isOld(store.shown), multipliers: isOld(store.solved?.key),
    compare: store.compared && store.compared !== keyOf({ text: now.text, queries: now.workload }) };
  for (const [name, is] of Object.entries(old)) {
    const panel = byId(`panel-${name}`);
    panel.querySelector(":scope > .note")?.remove();
    panel.classList.toggle("old", Boolean(is));
    if (is) panel.prepend(el("p", { class: "note" }, "This result is for another text, other queries or another solver than those shown now."));
  }
}

// -- words for the reader

/** A line below the controls. */
function say(words) {
  if (byId("status").textContent !== words) byId("status").textContent = words;
}

/** A call has failed: a lost server is said on top, all else below the controls. */
function failed(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof CallError)) throw error;
  if (error.isLost) banner("The studio does not answer. If it has stopped, start it again with “mmopt studio” and open the address it prints. Your text is still here, and in the address of this page.");
  else {
    say(error.message);
    store.isRefused = true;
  }
}

/** A line on top of the page, none once the server has answered. */
function banner(words) {
  byId("banner").textContent = words;
  byId("banner").hidden = !words;
}

// -- address, tabs, start

/** The parts of the address of what is shown. */
function parts() {
  const { kind, cells, weight, file } = workload();
  return { text: editor.text, queries: kind, cells, file, solver: byId("solvers").value, tab: store.tab,
    ...(weight ? { query: weight.query + 1, times: weight.times } : {}) };
}

/** Keeps the address in step, so that a reload brings the same page. */
function remember() {
  writeAddress(parts());
}

const rememberSoon = debounced(CHECK_WAIT, remember);

/** Puts the address of what is shown on the clipboard. */
async function share() {
  const address = addressOf(parts());
  try {
    await navigator.clipboard.writeText(address);
    say("The address is copied. It holds the text, the queries, the solver and the view.");
  } catch {
    remember();
    say("The address bar holds the text, the queries, the solver and the view: copy it from there.");
  }
}

/** Puts an example of the quiz into the editor. */
function loadExample(number) {
  const example = views.quiz.stock[number - 1];
  if (example) editor.replace(example.text);
}

/** Shows a view. */
function openTab(name, hasFocus = false) {
  store.tab = TABS.includes(name) ? name : "program";
  for (const each of TABS) {
    const tab = byId(`tab-${each}`), isOpen = each === store.tab;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    byId(`panel-${each}`).hidden = !isOpen;
    if (isOpen && hasFocus) tab.focus();
  }
  editor.point(null);
  drawProblems();
}

/** Scrolls to the results where they stand below the text. */
function showResults() {
  if (byId("left").offsetLeft === byId("right").offsetLeft) byId("right").scrollIntoView();
}

/** Takes text, workload and view from the parts of an address. */
function openAddress(given) {
  const shipped = store.lists.programs.find((p) => p.name === given.program);
  const example = views.quiz.stock[Number(given.quiz) - 1];
  if (given.text || shipped || example) {
    // What an address with a program leaves out is as at first, not as in the page before.
    byId("weighed").value = "";
    byId("times").value = byId("times").defaultValue;
    given = { queries: "prefix", solver: "", cells: byId("cells").defaultValue, ...given };
    if (given.queries === "file") given = { file: "", ...given };
  }
  const isQueries = [...byId("queries").options].some(({ value }) => value === given.queries);
  if (isQueries) byId("queries").value = given.queries;
  byId("file").value = given.file ?? byId("file").value;
  if (["", ...store.lists.solvers].includes(given.solver)) byId("solvers").value = given.solver;
  const cells = Number(given.cells);
  if (cells >= 2 && cells <= store.lists.limits.cells) byId("cells").value = Math.round(cells);
  const isQuery = Number.isInteger(Number(given.query)) && given.query >= 1 && given.query <= queryCount();
  const isTimes = given.times >= Number(byId("times").min) && given.times <= Number(byId("times").max);
  if (isQuery || given.query === "") byId("weighed").value = given.query && String(Number(given.query));
  if (isTimes) byId("times").value = String(Number(given.times));
  const first = store.lists.programs.find((p) => p.name === "l2_strategy") ?? store.lists.programs[0];
  // One character more than is read: the check says so.
  const text = given.text?.slice(0, store.lists.limits.text + 1) || shipped?.text || example?.text || editor.text || first?.text || "";
  drawControls();
  openTab(given.tab ?? (example ? "quiz" : store.tab));
  editor.replace(text);
  const unknown = [["program", given.program, shipped], ["example", given.quiz, example], ["view", given.tab, TABS.includes(given.tab)],
    ["number of cells", given.cells, cells === Number(byId("cells").value)], ["solver", given.solver, store.lists.solvers.includes(given.solver)],
    ["choice of queries", given.queries, isQueries], ["query", given.query, isQuery], ["factor of a squared error", given.times, isTimes],
  ].filter(([, asked, is]) => asked && !is).map(([what, asked]) => `${what} '${asked.slice(0, LONGEST_NAME)}'`);
  say(unknown.length ? `There is no ${unknown.join(", no ")}.` : "");
  markOld(); // the text may be the one that stood there
  checkSoon();
}

/** Listens to controls and keys. */
function listen() {
  byId("controls").addEventListener("submit", (event) => {
    event.preventDefault();
    if (store.tab === "program" || store.tab === "compare") openTab("solution");
    showResults();
    solve();
  });
  byId("text").addEventListener("blur", () => isQuiz() && store.checked?.answer.program && drawProblems());
  byId("stop").addEventListener("click", stop);
  byId("share").addEventListener("click", share);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") stop();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("controls").requestSubmit();
  });
  byId("programs").addEventListener("change", () => {
    const program = store.lists.programs.find((p) => p.name === byId("programs").value);
    if (program) editor.replace(program.text);
  });
  for (const id of ["queries", "cells", "weighed", "times", "file"]) {
    byId(id).addEventListener("input", () => {
      drawControls();
      markOld();
      rememberSoon();
      const isComparing = store.work && store.work !== store.solving;
      if ((store.solved || byId("as-i-type").checked) && !isComparing) (id === "file" ? solveSoon : solveMoving)();
    });
    byId(id).addEventListener("change", remember);
  }
  byId("solvers").addEventListener("change", () => {
    markOld();
    remember();
  });
  byId("as-i-type").addEventListener("change", () => byId("as-i-type").checked && check());
  for (const name of TABS) byId(`tab-${name}`).addEventListener("click", () => {
    openTab(name);
    showResults();
    remember();
  });
  document.querySelector('[role="tablist"]').addEventListener("keydown", (event) => {
    const at = TABS.indexOf(store.tab);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    openTab(TABS.at(next % TABS.length), true);
    remember();
  });
  addEventListener("hashchange", () => openAddress(readAddress()));
}

/** Begins: the token, the lists, then what the address says; where that fails, again with the next address. */
async function start(given = readAddress()) {
  const again = () => start({ ...given, ...readAddress() });
  const fail = (words) => {
    banner(words);
    addEventListener("hashchange", again, { once: true });
  };
  openTab(given.tab);
  views.program.draw(null);
  if (!await findToken()) return fail("This page has no token for a studio. Start “mmopt studio” and open the address it prints, here; what this link contains is kept.");
  try {
    const lists = await call("lists");
    if (lists.problem) return fail(`The studio is not ready: ${lists.problem.message}. Load this page again.`);
    banner("");
    store.lists = lists;
    views.quiz.learn(lists.quiz);
  } catch (error) {
    failed(error);
    return fail(error.isLost ? byId("banner").textContent : error.message);
  }
  const { programs, solvers, version, limits } = store.lists;
  document.querySelector("h1").title = `mmopt ${version}`;
  fill(byId("programs"), el("option", { value: "" }, "your own"), [...new Set(programs.map((p) => p.group))].map((group) =>
    el("optgroup", { label: group }, programs.filter((p) => p.group === group).map((p) => el("option", { value: p.name, title: p.title }, p.name)))));
  fill(byId("solvers"), el("option", { value: "" }, "automatic"), solvers.map((name) => el("option", { value: name }, name)));
  byId("cells").max = limits.cells;
  views.compare.learn(solvers, limits.seconds);
  editor.learn(store.lists);
  fill(byId("words"), folded("Functions and operators of the language", () => [
    el("p", { class: "faint" }, "A text begins with “program” and a name. Then come sections, in this order; most are optional: ",
      store.lists.keywords.slice(1).join(", "), ". “python -m pydoc mmopt.language” explains them all."),
    table(["written", "what it is"], store.lists.words, [], "Functions and operators")]));
  listen();
  openAddress(given);
}

start();
