// The builder: text, picture and panel are one thing. Every change is drawn and checked by the server.
import { parse } from "./patch.js";
import { startDrawing } from "./draw.js";
import { startCompletion } from "./complete.js";

/** How long after the last key the text is checked, in milliseconds. */
const QUIET = 60;

export function startBuilder() {
  const form = /** @type {HTMLFormElement | null} */ (document.querySelector("[data-builder]"));
  const found = /** @type {HTMLTextAreaElement | null} */ (document.getElementById("text"));
  const checked = document.getElementById("checked");
  const panel = document.getElementById("panel");
  if (!form || !found || !checked || !panel) return;
  const text = found;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let planned;
  let asked = 0;
  /** Acts wait for each other: each begins with the text that the one before it has left. */
  let queue = Promise.resolve();
  let saved = text.value;
  /** Whether the text is being put in place by this module. */
  let isWriting = false;

  /**
   * Sends the form and puts the parts that come back in place.
   * @param {string} address
   * @param {Record<string, string>} extra
   */
  function send(address, extra) {
    const mine = ++asked;
    queue = queue.then(() => (extra.act || "step" in extra || mine === asked ? exchange(address, extra, mine) : undefined));
    return queue;
  }

  /** @param {string} address @param {Record<string, string>} extra @param {number} mine */
  async function exchange(address, extra, mine) {
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form ?? undefined)));
    body.set("parts", "1");
    for (const [name, value] of Object.entries(extra)) {
      if (value === "") body.delete(name);
      else body.set(name, value);
    }
    const answer = await fetch(address, { method: "POST", body }).catch(() => undefined);
    if (!answer?.ok || (!extra.act && !("step" in extra) && mine !== asked)) return;
    show(parse(await answer.text()), extra);
  }

  /** @param {Document} fresh @param {Record<string, string>} extra */
  function show(fresh, extra) {
    for (const part of fresh.querySelectorAll("[data-part]")) {
      const name = part.getAttribute("data-part") ?? "";
      if (name === "text") {
        if (extra.act) write(/** @type {HTMLTextAreaElement} */ (part).value);
        continue;
      }
      const place = document.getElementById(name);
      // A panel in which the person types stays until they act.
      if (!place || (name === "panel" && !extra.act && !("step" in extra) && place.contains(document.activeElement))) continue;
      const focused = place.contains(document.activeElement) ? pathTo(document.activeElement) : "";
      const [left, top] = [place.querySelector(".diagram")?.scrollLeft ?? 0, place.querySelector(".diagram")?.scrollTop ?? 0];
      place.replaceChildren(...[...part.childNodes].map((node) => document.importNode(node, true)));
      place.querySelector(".diagram")?.scrollTo(left, top);
      if (focused) /** @type {HTMLElement | null} */ (place.querySelector(focused))?.focus({ preventScroll: true });
    }
    const title = checked?.querySelector("[data-title]")?.getAttribute("data-title");
    const heading = document.querySelector("h1");
    if (title && heading) {
      heading.textContent = title;
      document.title = `${title} · Drawloom`;
    }
    mark();
    markProblems();
  }

  /** How an element is found again after its part was drawn anew. @param {Element | null} element */
  function pathTo(element) {
    const step = element?.getAttribute("data-step");
    const edge = element?.getAttribute("data-at");
    if (step) return `.node[data-step="${CSS.escape(step)}"]`;
    if (edge) return `.hit[data-at="${CSS.escape(edge)}"]`;
    return element?.id ? `#${CSS.escape(element.id)}` : "";
  }

  /** Puts a new text in place by the smallest edit, so that the browser's undo takes it back. @param {string} fresh */
  function write(fresh) {
    const old = text.value;
    if (old === fresh) return;
    let start = 0;
    while (start < old.length && old[start] === fresh[start]) start += 1;
    let end = 0;
    while (end < old.length - start && end < fresh.length - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
    const active = /** @type {HTMLElement | null} */ (document.activeElement);
    isWriting = true;
    text.focus({ preventScroll: true });
    text.setSelectionRange(start, old.length - end);
    const piece = fresh.slice(start, fresh.length - end);
    const done = piece ? document.execCommand("insertText", false, piece) : document.execCommand("delete");
    if (!done || text.value !== fresh) text.value = fresh;
    text.setSelectionRange(start, start);
    isWriting = false;
    active?.focus({ preventScroll: true });
  }

  /** Selects a line of the text. @param {number} line */
  function goTo(line) {
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    text.focus();
    text.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    text.scrollTop = Math.max(0, (line - 6) * 20);
  }

  /** The step that the panel shows. */
  const selected = () => panel?.querySelector("[data-selected]")?.getAttribute("data-selected") ?? "";
  const selectedEdge = () => panel?.querySelector("[data-selected-edge]")?.getAttribute("data-selected-edge") ?? "";

  /** Marks what is selected in picture and list. */
  function mark() {
    const [step, edge] = [selected(), selectedEdge()];
    for (const one of document.querySelectorAll("#checked [data-step]")) one.classList.toggle("at", one.getAttribute("data-step") === step);
    for (const one of document.querySelectorAll("#checked path[data-at]")) one.classList.toggle("at", one.getAttribute("data-at") === edge);
  }

  /** Underlines the problems where they stand, behind the text. */
  function markProblems() {
    const paper = document.getElementById("marks");
    if (!paper) return;
    const lines = text.value.split("\n");
    /** @type {Map<number, HTMLElement[]>} */
    const at = new Map();
    for (const one of document.querySelectorAll("#checked .problems [data-column]")) {
      const line = Number(one.getAttribute("data-line"));
      at.set(line, [...(at.get(line) ?? []), /** @type {HTMLElement} */ (one)]);
    }
    paper.replaceChildren(...lines.map((written, number) => {
      const row = document.createElement("div");
      const here = at.get(number + 1)?.[0];
      if (!here) { row.textContent = written || " "; return row; }
      const letters = [...written];
      const start = Number(here.dataset.column) - 1;
      const end = start + Number(here.dataset.width);
      const wrong = document.createElement("mark");
      wrong.textContent = letters.slice(start, end).join("") || " ";
      row.append(letters.slice(0, start).join(""), wrong, letters.slice(end).join(""));
      return row;
    }));
    paper.scrollTop = text.scrollTop;
    paper.scrollLeft = text.scrollLeft;
  }

  /** Selects the step that the caret's line is about. */
  function followCaret() {
    const line = text.value.slice(0, text.selectionStart).split("\n").length;
    const written = text.value.split("\n")[line - 1] ?? "";
    const ids = [...document.querySelectorAll("#checked .node[data-step]")].map((one) => one.getAttribute("data-step") ?? "");
    const words = written.match(/[\p{L}\p{N}_-]+/gu) ?? [];
    const step = ids.find((id) => words[0] === id || written.trimStart().startsWith(`%% @${id}:`));
    if (step && step !== selected()) void select({ step, edge: "" }, false);
  }

  /** @param {{step: string, edge: string}} what @param {boolean} shows */
  async function select(what, shows) {
    const extra = { step: what.step, edge: what.edge, act: "" };
    await send(form?.dataset.builder ?? "", extra);
    // On a small screen the panel is below the picture.
    if (shows && (panel?.getBoundingClientRect().top ?? 0) > innerHeight - 120) panel?.scrollIntoView({ block: "start" });
    if (!shows || !what.step) return;
    const line = checked?.querySelector(`.steps [data-step="${CSS.escape(what.step)}"]`)?.getAttribute("data-line");
    if (line) text.scrollTop = Math.max(0, (Number(line) - 6) * 20);
  }

  text.addEventListener("input", () => {
    if (isWriting) return;
    clearTimeout(planned);
    planned = setTimeout(() => void send(form.dataset.builder ?? "", {}), QUIET);
  });
  text.addEventListener("scroll", () => {
    const paper = document.getElementById("marks");
    if (paper) [paper.scrollTop, paper.scrollLeft] = [text.scrollTop, text.scrollLeft];
  });
  for (const name of ["keyup", "click"]) {
    text.addEventListener(name, (event) => {
      if (name === "click" || /^(Arrow|Page|Home|End)/.test(/** @type {KeyboardEvent} */ (event).key)) followCaret();
    });
  }
  checked.addEventListener("click", (event) => {
    const place = /** @type {Element} */ (event.target).closest("[data-line]");
    if (!place) return;
    const step = place.getAttribute("data-step");
    if (step) void select({ step, edge: "" }, true);
    goTo(Number(place.getAttribute("data-line")));
  });
  form.addEventListener("submit", (event) => {
    const by = /** @type {HTMLButtonElement | null} */ (event.submitter);
    const address = by?.getAttribute("formaction");
    if (address === "/builder/draw" || address === "/builder/try") {
      event.preventDefault();
      void send(address, { act: by?.value ?? "" });
    } else {
      saved = text.value;
    }
  });
  panel.addEventListener("change", (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    const applies = field.name.startsWith("p.") || field.name === "new-name" || field.name === "kind";
    if (applies) void send("/builder/draw", { act: "apply" });
    if (field.name === "label") void send("/builder/draw", { act: "relabel" });
  });
  panel.addEventListener("click", (event) => {
    const edge = /** @type {Element} */ (event.target).closest("[data-edge-button]")?.getAttribute("data-edge-button");
    if (edge) void select({ step: "", edge }, false);
  });
  addEventListener("beforeunload", (event) => { if (text.value !== saved) event.preventDefault(); });
  startDrawing(checked, { select: (what) => void select(what, true), act: (extra) => void send("/builder/draw", extra), selected });
  startCompletion(panel);
  mark();
  markProblems();
}
