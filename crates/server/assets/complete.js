// Completes `{{` in texts and paths in expressions from what a step can read, with samples of the last run.

/** How many choices are shown. */
const SHOWN = 8;

/**
 * The path that is being typed before the caret, and where it begins.
 * @param {string} text
 * @param {boolean} isBare whether the whole text is an expression
 * @returns {{start: number, typed: string} | undefined}
 */
export function typedPath(text, isBare) {
  const open = text.lastIndexOf("{{");
  if (!isBare && (open < 0 || text.indexOf("}}", open) >= 0)) return undefined;
  const inside = isBare ? text : text.slice(open + 2);
  const typed = inside.match(/[\w.]*$/)?.[0] ?? "";
  return { start: text.length - typed.length, typed };
}

/**
 * The references that fit what was typed, those that begin with it first.
 * @template {{path: string}} T
 * @param {T[]} all
 * @param {string} typed
 */
export function fitting(all, typed) {
  const wanted = typed.toLowerCase();
  const begins = all.filter((one) => one.path.toLowerCase().startsWith(wanted));
  const contains = all.filter((one) => !begins.includes(one) && one.path.toLowerCase().includes(wanted));
  return [...begins, ...contains].slice(0, SHOWN);
}

/** @param {HTMLElement} panel */
export function startCompletion(panel) {
  const list = document.createElement("ul");
  list.className = "completion";
  list.setAttribute("role", "listbox");
  list.id = "completion";
  list.hidden = true;
  document.body.append(list);
  /** @type {HTMLInputElement | HTMLTextAreaElement | undefined} */
  let field;
  let at = 0;

  const close = () => {
    list.hidden = true;
    field?.removeAttribute("aria-activedescendant");
  };

  function open() {
    if (!field) return;
    const caret = field.selectionStart ?? 0;
    const found = typedPath(field.value.slice(0, caret), field.dataset.references === "bare");
    const all = [...panel.querySelectorAll("#references li")].map((one) => ({ path: one.getAttribute("data-reference") ?? "", sample: one.textContent ?? "" }));
    const choices = found ? fitting(all, found.typed).filter((one) => one.path !== found.typed) : [];
    if (choices.length === 0) return close();
    at = 0;
    list.replaceChildren(...choices.map((one, number) => {
      const item = document.createElement("li");
      item.setAttribute("role", "option");
      item.id = `choice-${number}`;
      item.dataset.path = one.path;
      const [path, sample] = [document.createElement("code"), document.createElement("span")];
      path.textContent = one.path;
      sample.textContent = one.sample;
      item.append(path, sample);
      item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(one.path); });
      return item;
    }));
    const box = field.getBoundingClientRect();
    list.hidden = false;
    const room = innerHeight - box.bottom;
    const top = room > list.offsetHeight + 8 ? box.bottom : box.top - list.offsetHeight;
    list.animate([{ transform: `translate(${box.left}px, ${top}px)` }], { fill: "forwards", duration: 0 });
    move(0);
  }

  /** @param {number} by */
  function move(by) {
    at = (at + by + list.children.length) % list.children.length;
    for (const [number, one] of [...list.children].entries()) one.setAttribute("aria-selected", String(number === at));
    field?.setAttribute("aria-activedescendant", `choice-${at}`);
  }

  /** @param {string} path */
  function take(path) {
    if (!field) return;
    const caret = field.selectionStart ?? 0;
    const isBare = field.dataset.references === "bare";
    const found = typedPath(field.value.slice(0, caret), isBare);
    if (!found) return;
    const closes = !isBare && !field.value.slice(caret).startsWith("}}");
    field.setRangeText(`${path}${closes ? "}}" : ""}`, found.start, caret, "end");
    close();
  }

  panel.addEventListener("input", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (target.dataset.references === undefined) return;
    field = /** @type {HTMLInputElement} */ (target);
    field.setAttribute("aria-controls", "completion");
    open();
  });
  panel.addEventListener("keydown", (event) => {
    if (list.hidden || event.target !== field) return;
    const acts = { ArrowDown: () => move(1), ArrowUp: () => move(-1), Escape: close, Enter: pick, Tab: pick };
    const act = acts[/** @type {keyof typeof acts} */ (event.key)];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  panel.addEventListener("focusout", close);

  function pick() {
    take(/** @type {HTMLElement} */ (list.children[at]).dataset.path ?? "");
  }
}
