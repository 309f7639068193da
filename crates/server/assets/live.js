// Keeps the page up to date: listens to what happens, and fetches the page again when it concerns it.
// One tab of a browser holds the stream; the others listen to that tab.
import { parse, patch } from "./patch.js";

const STREAM = "/api/v1/events";
/** How long events are collected before the page is fetched again, in milliseconds. */
const QUIET = 250;
/** When a stream without a word counts as gone: three heartbeats. */
const SILENCE = 45000;
/** The kinds of events in the stream. */
const NAMES = ["run", "task", "build", "user", "schedule", "workflow"];

const mark = /** @type {HTMLElement} */ (document.getElementById("live"));
/** @type {ReturnType<typeof setTimeout> | undefined} */
let planned;
let since = "";

/** @param {"live" | "reconnecting" | "stale"} state */
function say(state) {
  if (!mark) return;
  if (state === "live") since = "";
  else if (!since) since = new Date().toTimeString().slice(0, 5);
  mark.hidden = false;
  if (mark.dataset.state === state) return;
  mark.dataset.state = state;
  mark.textContent = state === "stale" ? `stale since ${since}` : state;
}

/** Tells whether a person is typing, or has a question open: nothing is moved then. @param {Element} main */
function isBusy(main) {
  const field = document.activeElement;
  return main.querySelector("[data-task]") !== null || (main.contains(field) && /^(INPUT|TEXTAREA|SELECT)$/.test(field?.tagName ?? ""));
}

/** The names of the parts of a page that stay up to date. @param {Element} root */
function partsOf(root) {
  return [...root.querySelectorAll("[data-live]")].map((part) => part.getAttribute("data-live")).join();
}

/** Fetches the page that is shown and puts its live parts in place. */
async function refresh() {
  planned = undefined;
  if (document.hidden) return;
  const here = new URL(location.href);
  here.searchParams.delete("said");
  const answer = await fetch(here, { headers: { accept: "text/html" } }).catch(() => undefined);
  if (!answer?.ok || new URL(answer.url).pathname !== here.pathname) return;
  const fresh = parse(await answer.text());
  const [main, newer] = [document.querySelector("main"), fresh.querySelector("main")];
  // A part that was not there before, such as the changes of a build: the whole page is put in place.
  if (main && newer && !isBusy(main) && partsOf(main) !== partsOf(newer)) patch(main, newer);
  for (const old of document.querySelectorAll("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${old.getAttribute("data-live")}"]`);
    if (next && next.getAttribute("data-task") === old.getAttribute("data-task")) patch(old, next);
  }
  if (fresh.title) document.title = fresh.title;
}

function plan() {
  planned ??= setTimeout(() => void refresh(), QUIET);
}

/** Whether news are about this page; news without a text are about every page. @param {string} text */
function concerns(text) {
  if (text === "") return true;
  const run = document.querySelector("[data-run]")?.getAttribute("data-run");
  return !run || text.includes(run);
}

/** @param {{state?: "live" | "reconnecting" | "stale", data?: string}} news */
function hear(news) {
  if (news.state) say(news.state);
  if (news.data !== undefined && concerns(news.data)) plan();
}

export function startLive() {
  document.addEventListener("visibilitychange", () => { if (!document.hidden) plan(); });
  const channel = new BroadcastChannel("drawloom-live");
  channel.onmessage = (event) => hear(event.data);
  /** @param {{state?: "live" | "reconnecting" | "stale", data?: string}} news */
  const tell = (news) => { hear(news); channel.postMessage(news); };
  const hold = () => new Promise(() => { listen(tell); });
  if (navigator.locks) void navigator.locks.request("drawloom-live", hold);
  else listen(tell);
  // A tab that only listens knows from silence that the stream is gone.
  let heard = Date.now();
  channel.addEventListener("message", () => { heard = Date.now(); });
  setInterval(() => {
    if (mark.dataset.state === "reconnecting" && Date.now() - heard > SILENCE) say("stale");
  }, 5000);
}

/** @param {(news: {state?: "live" | "reconnecting" | "stale", data?: string}) => void} tell */
function listen(tell) {
  const source = new EventSource(STREAM);
  let broken = 0;
  source.onopen = () => { broken = 0; tell({ state: "live", data: "" }); };
  source.onerror = () => {
    broken ||= Date.now();
    tell({ state: Date.now() - broken > 15000 || source.readyState === EventSource.CLOSED ? "stale" : "reconnecting" });
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(tell), 5000);
  };
  // A tab that has just opened learns that the stream is there.
  setInterval(() => { if (source.readyState === EventSource.OPEN) tell({ state: "live" }); }, 4000);
  source.addEventListener("resync", () => tell({ data: "" }));
  for (const name of NAMES) source.addEventListener(name, (event) => tell({ data: String(/** @type {MessageEvent} */ (event).data) }));
}
