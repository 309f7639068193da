// Puts new HTML in place of old without losing what the person is doing.

/** @type {{createHTML(text: string): any}} */
const policy = /** @type {any} */ (globalThis).trustedTypes
  ? /** @type {any} */ (globalThis).trustedTypes.createPolicy("drawloom", { createHTML: (/** @type {string} */ text) => text })
  : { createHTML: (text) => text };

/**
 * Reads a document that this server made.
 * @param {string} text
 * @returns {Document}
 */
export function parse(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

/**
 * Makes the children of one element like those of another. What is typed, open, focused or scrolled stays.
 * @param {Element} old
 * @param {Element} fresh
 */
export function patch(old, fresh) {
  copyAttributes(old, fresh);
  const wanted = [...fresh.childNodes];
  let at = 0;
  for (const node of wanted) {
    const here = old.childNodes[at];
    if (here && isAlike(here, node)) {
      if (here.nodeType === Node.ELEMENT_NODE) {
        const [mine, theirs] = [/** @type {Element} */ (here), /** @type {Element} */ (node)];
        if (!isTyped(mine)) patch(mine, theirs);
      } else if (here.nodeValue !== node.nodeValue) {
        here.nodeValue = node.nodeValue;
      }
    } else if (here && containsFocus(here)) {
      // The person is in here: it stays, and the new one comes before it.
      old.insertBefore(document.importNode(node, true), here);
    } else if (here) {
      old.replaceChild(document.importNode(node, true), here);
    } else {
      old.appendChild(document.importNode(node, true));
    }
    at += 1;
  }
  while (old.childNodes.length > at) {
    const last = /** @type {ChildNode} */ (old.lastChild);
    if (containsFocus(last)) break;
    last.remove();
  }
}

/** @param {Node} a @param {Node} b */
function isAlike(a, b) {
  if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return false;
  if (a.nodeType !== Node.ELEMENT_NODE) return true;
  const [one, other] = [/** @type {Element} */ (a), /** @type {Element} */ (b)];
  return ["id", "data-step", "data-task", "href", "name"].every((name) => one.getAttribute(name) === other.getAttribute(name));
}

/** @param {Element} element */
function isTyped(element) {
  if (element instanceof HTMLTextAreaElement) return element.value !== element.defaultValue || element === document.activeElement;
  if (element instanceof HTMLInputElement) return element.value !== element.defaultValue || element.checked !== element.defaultChecked || element === document.activeElement;
  return element instanceof HTMLSelectElement && element === document.activeElement;
}

/** @param {Node} node */
function containsFocus(node) {
  return node.contains(document.activeElement) && document.activeElement !== document.body;
}

/** @param {Element} old @param {Element} fresh */
function copyAttributes(old, fresh) {
  const kept = old instanceof HTMLDetailsElement || old instanceof HTMLDialogElement ? ["open"] : [];
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !kept.includes(name)) old.removeAttribute(name);
  }
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !kept.includes(name)) old.setAttribute(name, value);
  }
}
