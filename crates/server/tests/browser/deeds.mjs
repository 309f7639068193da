// What people do with models, recipes and builds: repair what failed, approve a build after reading its changes,
// run a recipe with questions and update it, add an agent and give it a step, find the most expensive run.
//
//   node deeds.mjs PROGRAM
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openWorld } from "./world.mjs";

const [program] = process.argv.slice(2);
const world = await openWorld(program);
const { origin, wrong } = world;
const here = (name) => join(world.folder, name);
/** Keys are heard once the modules have begun. */
const ready = (page) => page.waitForSelector("html.js");
const title = (page, text) => page.waitForSelector(`h1:has-text("${text}")`);

/** A foreach has failed for one item: its cause is read, mended, and it is tried again. */
async function repair(page) {
  const run = await world.begin("batch", { hosts: ["a", "broken", "b"] });
  await page.goto(`${origin}/runs/${run}`);
  await page.waitForSelector('.grid a[data-wrong]');
  await ready(page);
  await page.keyboard.press("]");
  await page.keyboard.press("Enter");
  await page.waitForSelector('.item-open:has-text("exited with 1")');
  writeFileSync(here("mended"), "");
  await page.click('button:has-text("Try the failed ones again")');
  await page.waitForURL("**said=items-retried");
  await title(page, "batch is completed");
  if (await page.locator(".grid a[data-wrong]").count()) wrong.push("an item is still marked as failed");
}

/** A plan is edited and approved, the changes are read side by side and marked, the review is sent. */
async function reviewBuild(page) {
  await page.goto(`${origin}/builds`);
  await page.click('summary:has-text("Ask for a build")');
  await page.fill("#prompt", "Rate limiting for login: five wrong passwords in a minute, then wait");
  await page.click('button:has-text("Make a plan")');
  await title(page, "A plan waits for your decision");
  await page.goto(`${origin}/inbox`);
  await page.click('nav[aria-label="Builds that wait"] a:has-text("Rate limiting")');
  await title(page, "A plan waits for your decision");
  await ready(page);
  await page.keyboard.press("e");
  await page.fill("#summary", "Sign-in refuses more than five wrong attempts a minute.");
  await page.click('button:has-text("Approve it like this")');
  await title(page, "The changes wait for your review");
  if (!(await page.textContent("main")).includes("more than five wrong attempts a minute.")) wrong.push("the edited plan is not shown");
  await page.click('a:has-text("side by side")');
  await page.waitForSelector(".diff.side");
  const boxes = page.locator("[data-reviewed]");
  for (let at = 0; at < await boxes.count(); at += 1) await boxes.nth(at).check();
  await page.waitForSelector('[data-reviewed-count]:has-text("2 of 2 files reviewed")');
  await page.click('button:has-text("Send the review")');
  await page.waitForURL("**said=reviewed");
  await title(page, "The build is completed");
}

/** A recipe asks; the model answers, the person changes that, looks at the files and writes them. */
async function runRecipe(page) {
  await page.goto(`${origin}/recipes`);
  await page.click('a.row:has-text("service")');
  await page.fill("#field-name", "shop");
  await page.click('button:has-text("Show what would change")');
  await title(page, "service has questions");
  await page.click('button:has-text("Let the model answer the rest")');
  await title(page, "service would change these files");
  await page.waitForSelector('.st:has-text("answered by the model")');
  const proposed = await page.inputValue('[id="q.purpose"]');
  if (!proposed.includes("whether the shop is open")) wrong.push(`the model's answer is not in the field: ${proposed}`);
  await page.fill('[id="q.purpose"]', "It says whether the shop is open.");
  await page.click('button:has-text("Write these changes")');
  await title(page, "service is done");
  const written = readFileSync(here("shop/README.md"), "utf8");
  if (!written.includes("It says whether the shop is open.")) wrong.push(`another text was written: ${written}`);
}

/** The recipe is newer, and the person has changed the same line: both are kept. */
async function updateRecipe(page) {
  const file = here("shop/README.md");
  writeFileSync(file, readFileSync(file, "utf8").replace("It listens on 8080.", "It listens on 8080, behind a proxy."));
  const template = here(".drawloom/recipes/service/files/README.md.jig");
  writeFileSync(template, readFileSync(template, "utf8").replace("It listens on {{ port }}.", "It listens on port {{ port }}."));
  await page.goto(`${origin}/recipes/service`);
  await page.click('a:has-text("Update what it made")');
  await title(page, "1 conflict of service");
  await page.waitForSelector('[data-left]:has-text("1 to settle")');
  await page.click('button:has-text("Keep both")');
  await page.waitForSelector('[data-left]:has-text("settled")');
  await page.click('button:has-text("Write the update")');
  await title(page, "service is updated");
  const merged = readFileSync(file, "utf8");
  const lines = ["It listens on 8080, behind a proxy.", "It listens on port 8080."];
  if (lines.some((line) => !merged.includes(line)) || merged.includes("<<<<")) wrong.push(`the update wrote ${merged}`);
}

/** An agent is added and becomes the one who does a step; a run with it says why it went where it went. */
async function addAgent(page) {
  await page.goto(`${origin}/people`);
  await page.click('summary:has-text("Add a person or an agent")');
  await page.check("#is-agent");
  await page.fill("#slug", "triager");
  await page.fill("#display", "Triager");
  await page.fill("#prompt", "You read reports of faults and say how bad they are.");
  await page.click('button:text-is("Add")');
  await page.waitForURL("**/people?said=added");
  await page.goto(`${origin}/workflows/triage/edit`);
  await page.click('.diagram .node[data-step="A"]');
  await page.waitForSelector('[data-selected="A"]');
  await page.fill("#set-defaultAssigneeId", "triager");
  await page.keyboard.press("Tab");
  await page.waitForFunction(() => document.querySelector("#text").value.includes('"defaultAssigneeId": "triager"'));
  await page.click('button:text-is("Save a version")');
  await page.waitForURL("**/workflows/triage?said=saved");
  await page.fill('[name="f.report"]', "No order goes through.");
  await page.click('button:text-is("Start")');
  await title(page, "triage waits for a person");
  const why = await page.textContent("#steps");
  if (!why.includes("How bad? → Wake somebody up?")) wrong.push(`the run does not say why: ${why}`);
  return page.url();
}

/** Among cheap runs, the one that cost most is two clicks away from any page. */
async function findExpensive(page, run) {
  await ready(page);
  await page.keyboard.press("g");
  await page.keyboard.press("c");
  await page.waitForURL("**/costs");
  await page.click('a.chip:has-text("yesterday and today")');
  await page.click('a.chip:has-text("by run")');
  await page.click("tbody tr:first-child a");
  await page.waitForURL("**/runs/**");
  if (page.url().split("?")[0] !== run.split("?")[0]) wrong.push(`${page.url()} is not ${run}`);
  const head = await page.textContent(".head");
  if (!/\$0\.\d+/.test(head)) wrong.push(`the run does not say what it cost: ${head}`);
}

async function told(name, story) {
  const begun = Date.now();
  const gave = await story().catch((error) => { wrong.push(`${name}: ${error.message}`); });
  console.log(`${name}: ${Date.now() - begun} ms`);
  return gave;
}

const { page } = await world.claimed();
await told("an item is repaired", () => repair(page));
await told("a build is reviewed", () => reviewBuild(page));
await told("a recipe is run", () => runRecipe(page));
await told("a recipe is updated", () => updateRecipe(page));
const run = await told("an agent gets a step", () => addAgent(page));
if (run) await told("the most expensive run", () => findExpensive(page, run));
await world.close();
console.log(wrong.length === 0 ? "the deeds ended well" : `${wrong.length} things are wrong`);
