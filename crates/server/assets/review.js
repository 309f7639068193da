// Marks of files that were reviewed. They are kept in the browser, and go when the file changes.

const KEY = "drawloom-reviewed";

/** @returns {Record<string, string>} */
function read() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

function boxes() {
  return [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll("[data-reviewed]"))];
}

function count() {
  const all = boxes();
  const place = document.querySelector("[data-reviewed-count]");
  if (place) place.textContent = `${all.filter((box) => box.checked).length} of ${all.length} files reviewed`;
  for (const box of all) box.closest(".diff")?.classList.toggle("is-reviewed", box.checked);
}

export function startReview() {
  if (boxes().length === 0) return;
  const known = read();
  for (const box of boxes()) box.checked = known[box.dataset.reviewed ?? ""] === box.dataset.of;
  count();
  document.addEventListener("change", (event) => {
    const box = /** @type {HTMLInputElement} */ (event.target);
    const name = box.dataset?.reviewed;
    if (name === undefined) return;
    const all = read();
    if (box.checked) all[name] = box.dataset.of ?? "";
    else delete all[name];
    // Only the newest are kept.
    localStorage.setItem(KEY, JSON.stringify(Object.fromEntries(Object.entries(all).slice(-500))));
    count();
  });
}
