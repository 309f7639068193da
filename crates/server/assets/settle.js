// Settles the conflicts of an update: takes one side of every marked place in a text.

/** A line of marks that `diff3` writes: seven of a kind or more, and a label. */
const MARK = /^(<{7,}|\|{7,}|={7,}|>{7,})(?: .*)?$/;

/**
 * The text without marks, with one side of each conflict or both.
 * @param {string} text
 * @param {string} side
 */
export function settle(text, side) {
  /** @type {string[]} */
  const kept = [];
  /** @type {"" | "ours" | "base" | "theirs"} */
  let within = "";
  for (const row of text.split("\n")) {
    const mark = row.match(MARK)?.[1]?.[0];
    if (mark === "<" && within === "") within = "ours";
    else if (mark === "|" && within === "ours") within = "base";
    else if (mark === "=" && within !== "" && within !== "theirs") within = "theirs";
    else if (mark === ">" && within === "theirs") within = "";
    else if (within === "" || within === side || (side === "both" && within !== "base")) kept.push(row);
  }
  return kept.join("\n");
}

/** How many conflicts a text still has. @param {string} text */
export function open(text) {
  return text.split("\n").filter((row) => row.startsWith("<<<<<<< ")).length;
}

/** @param {Element} card */
function count(card) {
  const field = /** @type {HTMLTextAreaElement | null} */ (card.querySelector("textarea.mono"));
  const place = card.querySelector("[data-left]");
  if (!field || !place) return;
  const left = open(field.value);
  place.textContent = left === 0 ? "settled" : `${left} to settle`;
}

export function startSettling() {
  for (const card of document.querySelectorAll("[data-settle]")) {
    count(card);
    const field = /** @type {HTMLTextAreaElement} */ (card.querySelector("textarea.mono"));
    const marked = /** @type {HTMLTextAreaElement} */ (card.querySelector("[data-marked]"));
    card.addEventListener("input", () => count(card));
    card.addEventListener("click", (event) => {
      const side = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-take]"))?.dataset.take;
      if (side === undefined) return;
      field.value = side ? settle(field.value, side) : marked.value;
      count(card);
    });
  }
}
