// Small helps of forms: a chosen file goes into its field, and edits of a proposal are shown as a difference.

/** The most words that are compared. */
const WORDS = 400;

/**
 * What was taken out of a text and put into it, word by word.
 * @param {string} old
 * @param {string} fresh
 * @returns {{kind: "same" | "del" | "ins", text: string}[]}
 */
export function compare(old, fresh) {
  const cut = (/** @type {string} */ text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  const [a, b] = [cut(old), cut(fresh)];
  if (a.length > WORDS || b.length > WORDS) return [{ kind: "del", text: old }, { kind: "ins", text: fresh }];
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  /** @type {{kind: "same" | "del" | "ins", text: string}[]} */
  const parts = [];
  const add = (/** @type {"same" | "del" | "ins"} */ kind, /** @type {string} */ text) => {
    const last = parts.at(-1);
    if (last?.kind === kind) last.text += text;
    else parts.push({ kind, text });
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add("same", a[i]); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && longest[i + 1][j] >= longest[i][j + 1])) { add("del", a[i]); i += 1; }
    else { add("ins", b[j]); j += 1; }
  }
  return parts;
}

/** @param {HTMLTextAreaElement} field */
function showChanges(field) {
  const proposed = field.dataset.proposed ?? "";
  let place = field.nextElementSibling;
  if (!place?.classList.contains("proposed")) {
    place = document.createElement("div");
    place.className = "proposed";
    place.setAttribute("aria-live", "polite");
    field.after(place);
  }
  const parts = field.value === proposed ? [] : compare(proposed, field.value);
  place.replaceChildren(...parts.map((part) => {
    if (part.kind === "same") return document.createTextNode(part.text);
    const mark = document.createElement(part.kind);
    mark.textContent = part.text;
    return mark;
  }));
}

export function startForms() {
  document.addEventListener("input", (event) => {
    const field = /** @type {HTMLElement} */ (event.target);
    if (field instanceof HTMLTextAreaElement && field.dataset.proposed !== undefined) showChanges(field);
  });
  document.addEventListener("change", (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    const into = document.getElementById(field.dataset?.into ?? "");
    const file = field.files?.[0];
    if (into instanceof HTMLTextAreaElement && file) void file.text().then((text) => { into.value = text; });
  });
}
