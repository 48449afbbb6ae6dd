// Calls to the server that gave this page: a secret token, JSON in, JSON or a stream of it out.

const CHANNEL = "mmopt studio";
const KEY = "mmopt studio token";
const tab = crypto.randomUUID();
// Only a token with which a call has succeeded is good: it alone is kept, and given to other pages.
let token = "", next = "", isGood = false, channel = null;
const refused = new Set();

/** What a call failed with: words for the reader; `isLost` where nobody answered. */
export class CallError extends Error {
  constructor(message, isLost = false) {
    super(message);
    this.isLost = isLost;
  }
}

/** The parts of the address after #, without its token, which this page tries as soon as it has no good one. */
export function readAddress() {
  const parts = Object.fromEntries(
    location.hash.slice(1).split("&").filter(Boolean).map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [part, ""] : [part.slice(0, at), decoded(part.slice(at + 1))];
    }));
  if (parts.token) {
    if (/^[\w-]+$/.test(parts.token)) { // no header carries another
      if (isGood) next = parts.token;
      else token = parts.token;
    }
    delete parts.token;
    writeAddress(parts);
  }
  return parts;
}

/** A percent-encoded text, or the text itself where it is none. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address with these parts after #. */
export function addressOf(parts) {
  const written = Object.entries(parts).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const address = location.href.split("#")[0];
  return written.length ? `${address}#${written.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}` : address;
}

/** Puts the parts into the address bar, without a new entry in the history. */
export function writeAddress(parts) {
  try {
    history.replaceState(null, "", addressOf(parts));
  } catch {
    // A browser that counts the changes refuses some; the next one brings the newest.
  }
}

/** Whether there is a token: this page's, or one from another page of the studio. */
export async function findToken() {
  [token, next] = [token || next, ""];
  token ||= sessionStorage.getItem(KEY) ?? "";
  if (!channel) {
    channel = new BroadcastChannel(CHANNEL);
    channel.addEventListener("message", (event) => {
      if (event.data?.ask && isGood) channel.postMessage({ token });
      if (typeof event.data?.token === "string" && !token && !refused.has(event.data.token)) token = event.data.token;
    });
  }
  for (let waited = 0; !token && waited < 500; waited += 50) {
    if (waited === 0) channel.postMessage({ ask: true });
    await new Promise((go) => setTimeout(go, 50));
  }
  return token !== "";
}

/** Posts a call; the response, once it is known to be good. A token that is refused is tried no more. */
async function post(name, body, signal) {
  let response;
  if (!token) await findToken();
  const tried = token;
  try {
    response = await fetch(`/api/${name}`, {
      method: "POST", signal, cache: "no-store",
      headers: { "Content-Type": "application/json", "X-Studio-Token": tried },
      body: JSON.stringify({ tab, ...body }),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new CallError("No answer: the studio's server has stopped or cannot be reached.", true);
  }
  if (response.ok) {
    [token, isGood] = [tried, true];
    sessionStorage.setItem(KEY, tried);
    return response;
  }
  const words = await response.json().then((answer) => answer.error, () => "");
  if (response.status === 403 && tried && !refused.has(tried)) {
    refused.add(tried);
    if (token === tried) [token, isGood] = ["", false];
    sessionStorage.removeItem(KEY);
    if (await findToken()) return post(name, body, signal);
  }
  throw new CallError(words || `The server refused the call (${response.status}).`);
}

/** A call with one answer. */
export async function call(name, body = {}, signal = undefined) {
  const response = await post(name, body, signal);
  try {
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new CallError("The answer broke off: the studio's server has stopped.", true);
  }
}

/** A call with an answer in lines: each is handed to `take` as it comes. */
export async function stream(name, body, signal, take) {
  const response = await post(name, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new CallError("The answer broke off: the studio's server has stopped.", true);
    }
    const lines = (rest + (part.value ?? "")).split("\n");
    rest = part.done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) take(JSON.parse(line));
    if (part.done) return;
  }
}
