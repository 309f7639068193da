// Keys: ? lists them, j and k move in the list, Enter opens, / searches, g and a letter goes to a page;
// x ticks, a, r and e answer, refuse and edit in the inbox and at a build, ] and [ go to the next and the
// previous place to look at.

const PAGES = { i: "/inbox", r: "/runs", w: "/workflows", t: "/tasks", b: "/builds", p: "/people", c: "/costs" };

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** @param {number} step */
function move(step) {
  const rows = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-keys=list] a.row"))];
  if (rows.length === 0) return;
  const at = rows.findIndex((row) => row === document.activeElement || row.classList.contains("at"));
  const current = at >= 0 ? at : rows.findIndex((row) => row.hasAttribute("aria-current")) ;
  const next = rows[Math.max(0, Math.min(rows.length - 1, current + step))];
  for (const row of rows) row.classList.toggle("at", row === next);
  next.focus();
}

/** Ticks the row that the keys are at, or takes its tick away. */
function tick() {
  const row = document.querySelector("[data-keys=list] a.row.at") ?? document.activeElement;
  const box = /** @type {HTMLInputElement | null | undefined} */ (row?.closest(".pick")?.querySelector("input[type=checkbox]"));
  if (!box) return false;
  box.checked = !box.checked;
  return true;
}

/** Answers with the first button, opens the ways out, or goes to the first field. @param {string} key */
function answer(key) {
  const own = /** @type {HTMLElement | null} */ (document.querySelector(`[data-key=${key}]`));
  if (own) {
    own.click();
    return true;
  }
  const plan = key === "e" ? /** @type {HTMLDetailsElement | null} */ (document.getElementById("edit-plan")) : null;
  if (plan) {
    plan.open = true;
    plan.querySelector("textarea")?.focus();
    return true;
  }
  const form = document.querySelector("form.answer");
  if (!form) return false;
  const ways = /** @type {HTMLDetailsElement | null} */ (form.querySelector("details.ways"));
  if (key === "a") /** @type {HTMLElement | null} */ (form.querySelector(".actions .primary"))?.click();
  else if (key === "r" && ways) {
    ways.open = true;
    ways.querySelector("textarea")?.focus();
  } else /** @type {HTMLElement | null} */ (form.querySelector("textarea, input:not([type=hidden]), select"))?.focus();
  return true;
}

let place = -1;

/** Goes to the next item that needs a person, or to the next file of a difference. @param {number} step */
function leap(step) {
  const places = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-wrong], [data-hunk]"))];
  if (places.length === 0) return false;
  place = (place + step + places.length) % places.length;
  places[place].scrollIntoView({ block: "center" });
  places[place].focus({ preventScroll: true });
  return true;
}

export function startKeys() {
  let goes = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const page = goes > Date.now() - 1500 ? /** @type {Record<string, string>} */ (PAGES)[event.key] : undefined;
    goes = event.key === "g" ? Date.now() : 0;
    if (page) location.assign(page);
    else if (event.key === "?") /** @type {HTMLDialogElement | null} */ (document.getElementById("keys"))?.showModal();
    else if (event.key === "/") /** @type {HTMLElement | null} */ (document.querySelector(".search input"))?.focus();
    else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if ("are".includes(event.key) && answer(event.key)) { /* done */ }
    else if (event.key === "x" && tick()) { /* done */ }
    else if (event.key === "]" && leap(1)) { /* done */ }
    else if (event.key === "[" && leap(-1)) { /* done */ }
    else return;
    event.preventDefault();
  });
}
