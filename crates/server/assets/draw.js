// Drawing on the diagram by mouse and by keyboard. Every act is sent to the server, which edits the text.

/**
 * @typedef {{step: string, edge: string}} Choice
 * @typedef {{select(what: Choice): void, act(extra: Record<string, string>): void, selected(): string}} Board
 */

/** How far a pointer moves before a click becomes a drag, in pixels. */
const DRAG = 6;

/** @param {HTMLElement} place @param {Board} board */
export function startDrawing(place, board) {
  /** @type {{from: string, x: number, y: number, line?: SVGLineElement} | undefined} */
  let drag;
  let connecting = "";

  /** @param {EventTarget | null} target */
  const nodeOf = (target) => /** @type {Element | null} */ (target)?.closest?.(".diagram .node[data-step]") ?? null;
  /** @param {Element | null} node */
  const idOf = (node) => node?.getAttribute("data-step") ?? "";

  /** @param {Element | null} node */
  function choose(node) {
    const id = idOf(node);
    if (connecting && id && id !== connecting) {
      const from = connecting;
      stop();
      board.act({ act: "connect", step: from, to: id });
    } else if (id) {
      stop();
      board.select({ step: id, edge: "" });
    }
  }

  function stop() {
    connecting = "";
    place.classList.remove("connecting");
    drag?.line?.remove();
    drag = undefined;
  }

  /** Asks for a name in a small dialog. @param {string} old @param {(name: string) => void} then */
  function ask(old, then) {
    const dialog = /** @type {HTMLDialogElement | null} */ (document.getElementById("rename"));
    const field = /** @type {HTMLInputElement | null} */ (document.getElementById("rename-field"));
    if (!dialog || !field) return;
    field.value = old;
    dialog.onclose = () => { if (dialog.returnValue === "ok" && field.value.trim()) then(field.value.trim()); };
    dialog.returnValue = "";
    dialog.showModal();
    field.select();
  }

  /** @param {Element} node */
  function rename(node) {
    const step = idOf(node);
    const old = (node.querySelector("title")?.textContent ?? step).replace(/^(each|run|join|wait):\s*/i, "");
    ask(old, (name) => board.act({ act: "rename", step, "new-name": name }));
  }

  /** The node that lies nearest in a direction. @param {Element} from @param {string} key */
  function neighbour(from, key) {
    const centre = (/** @type {Element} */ one) => {
      const box = one.getBoundingClientRect();
      return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
    };
    const here = centre(from);
    const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key] ?? [0, 0];
    const rated = [...place.querySelectorAll(".diagram .node[data-step]")].filter((one) => one !== from).map((one) => {
      const at = centre(one);
      const along = (at.x - here.x) * dx + (at.y - here.y) * dy;
      const across = Math.abs((at.x - here.x) * dy) + Math.abs((at.y - here.y) * dx);
      return { one, along, cost: along + 2 * across };
    });
    return rated.filter((one) => one.along > 4).sort((a, b) => a.cost - b.cost)[0]?.one;
  }

  place.addEventListener("pointerdown", (event) => {
    const node = nodeOf(event.target);
    if (!node || event.button !== 0) return;
    drag = { from: idOf(node), x: event.clientX, y: event.clientY };
  });
  addEventListener("pointermove", (event) => {
    if (!drag || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < DRAG) return;
    const svg = /** @type {SVGSVGElement | null} */ (place.querySelector(".diagram svg"));
    const matrix = svg?.getScreenCTM()?.inverse();
    if (!svg || !matrix) return;
    if (!drag.line) {
      drag.line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      drag.line.setAttribute("class", "drag");
      svg.append(drag.line);
    }
    const from = new DOMPoint(drag.x, drag.y).matrixTransform(matrix);
    const to = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix);
    for (const [name, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) drag.line.setAttribute(name, String(value));
  });
  addEventListener("pointerup", (event) => {
    const was = drag;
    stop();
    if (!was?.line) return;
    const over = document.elementFromPoint(event.clientX, event.clientY);
    const target = idOf(nodeOf(over));
    if (target && target !== was.from) board.act({ act: "connect", step: was.from, to: target });
    else if (!target && over?.closest(".diagram")) board.act({ act: "add", step: was.from });
  });
  place.addEventListener("click", (event) => {
    const edge = /** @type {Element} */ (event.target).closest(".hit")?.getAttribute("data-at");
    if (edge) board.select({ step: "", edge });
    else choose(nodeOf(event.target));
  });
  place.addEventListener("dblclick", (event) => {
    const node = nodeOf(event.target);
    if (node) rename(node);
  });
  place.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    const node = nodeOf(target);
    const edge = target.closest(".hit")?.getAttribute("data-at");
    if (!node && !edge) return;
    const step = idOf(node);
    const next = node && event.key.startsWith("Arrow") ? neighbour(node, event.key) : undefined;
    if (next) /** @type {HTMLElement} */ (next).focus();
    else if (event.key === "Enter" || event.key === " ") {
      if (node) choose(node);
      else board.select({ step: "", edge: edge ?? "" });
    } else if (event.key === "Delete" || event.key === "Backspace") {
      board.act(node ? { act: "delete", step } : { act: "disconnect", step: "", edge: edge ?? "" });
    } else if (node && event.key === "a") board.act({ act: "add", step });
    else if (!node && event.key === "a") board.act({ act: "insert", step: "", edge: edge ?? "" });
    else if (node && event.key === "c") {
      connecting = step;
      place.classList.add("connecting");
    } else if (node && event.key === "F2") rename(node);
    else if (event.key === "Escape") stop();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
