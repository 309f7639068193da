// Copies ids and values, and searches in the trees of values.

/** How long a button says that it has copied, in milliseconds. */
const SAID = 1500;

/** @param {string} text */
async function write(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  // Without TLS, a browser has only the old way.
  const field = document.createElement("textarea");
  field.className = "visually-hidden";
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
}

/** @param {HTMLElement} button */
async function copy(button) {
  const raw = () => button.closest(".value")?.querySelector(".raw pre")?.textContent ?? "";
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  await write(button.dataset.copy ?? raw());
  focused?.focus({ preventScroll: true });
  button.classList.add("copied");
  setTimeout(() => button.classList.remove("copied"), SAID);
}

/**
 * Whether an entry of a tree, or one inside of it, has a text.
 * @param {string} text
 * @param {string} wanted
 */
export function fits(text, wanted) {
  return text.toLowerCase().includes(wanted.trim().toLowerCase());
}

/** Shows only the entries that have a text, with everything around them open. @param {HTMLInputElement} field */
function find(field) {
  const tree = field.closest(".tree");
  for (const entry of tree?.querySelectorAll("li") ?? []) {
    const isThere = fits(entry.textContent ?? "", field.value);
    entry.hidden = !isThere;
    const fold = entry.querySelector(":scope > details");
    if (isThere && field.value.trim()) fold?.setAttribute("open", "");
  }
}

export function startCopy() {
  document.addEventListener("click", (event) => {
    const button = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest?.(".copy"));
    if (button) void copy(button);
  });
  document.addEventListener("input", (event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (field.dataset?.find !== undefined) find(field);
  });
}
