// Begins what pages have beside their HTML. Without it every page still reads and answers.
import { startLive } from "./live.js";
import { startKeys } from "./keys.js";
import { startBuilder } from "./builder.js";
import { startForms } from "./form.js";
import { startReview } from "./review.js";
import { startCopy } from "./copy.js";
import { startSettling } from "./settle.js";

document.documentElement.classList.add("js");
startKeys();
startForms();
startReview();
startCopy();
startSettling();
startBuilder();
if (document.getElementById("live")) startLive();

// Steps in a diagram and their lines in the list are one thing.
document.addEventListener("click", (event) => {
  const from = /** @type {Element} */ (event.target).closest?.(".diagram [data-step]");
  if (!from) return;
  const step = from.getAttribute("data-step") ?? "";
  for (const old of document.querySelectorAll(".at")) old.classList.remove("at");
  from.classList.add("at");
  const listed = document.querySelector(`.steps [data-step="${CSS.escape(step)}"]`);
  if (!listed) return;
  listed.classList.add("at");
  listed.scrollIntoView({ block: "nearest" });
});
