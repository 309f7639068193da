// The pictures of the documents: the main pages with the runs of an ordinary day.
//
//   node shots.mjs PROGRAM FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { openWorld } from "./world.mjs";

const [program, folder] = process.argv.slice(2);
const world = await openWorld(program);
const { origin, wrong } = world;
mkdirSync(folder, { recursive: true });

async function shoot(page, name) {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.waitForSelector('#live[data-state="live"]');
  await page.evaluate(() => { document.activeElement?.blur?.(); });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

async function day() {
  const { page } = await world.claimed();
  await world.ask("POST", "/builder/generate", { prompt: "Rate limiting for login: five wrong passwords in a minute, then wait", options: { review: true } });
  const first = await world.begin("release-check", { version: "1.2.0" });
  for (const version of ["1.2.1", "1.2.2", "1.3.0"]) await world.begin("release-check", { version });
  const hosts = ["a", "b", "broken", ...Array.from({ length: 30 }, (_, at) => `host-${at}`)];
  await world.begin("batch", { hosts });
  await world.begin("triage", { report: "The shop is down: every order fails since 14:03." });
  await page.goto(`${origin}/runs/${first}`);
  await page.click('a:has-text("Answer May it be released?")');
  await page.click('form.answer button:has-text("Publish")');
  await page.waitForURL("**said=answered**");
  await page.goto(`${origin}/runs/${first}`);
  await page.waitForSelector('h1:has-text("is completed")');
  await shoot(page, "run");
  await page.goto(`${origin}/builds`);
  await page.click('a.row:has-text("plan ready")');
  await page.click('button:has-text("Approve the plan")');
  await page.waitForSelector('h1:has-text("wait for your review")');
  await page.reload();
  await page.waitForSelector('h1:has-text("wait for your review")');
  await page.click('a:has-text("side by side")');
  await page.waitForSelector(".diff.side");
  await shoot(page, "build");
  await page.goto(`${origin}/inbox`);
  await page.waitForSelector('a.row:has-text("Wake somebody up?")');
  await page.waitForSelector('a.row:has-text("failed, on hold")');
  await shoot(page, "inbox");
  await page.goto(`${origin}/workflows/release-check/edit?step=B`);
  await page.waitForSelector('[data-selected="B"]');
  await shoot(page, "builder");
}

await day().catch((error) => wrong.push(error.stack));
await world.close();
console.log(wrong.length === 0 ? `pictures are in ${folder}` : `${wrong.length} things are wrong`);
