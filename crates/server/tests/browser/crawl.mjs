// Every page as every role: no server error, no dead link, nothing in the console, nothing that the policy of the
// pages refuses. With `axe`, every kind of page is also measured in both themes and three widths, and held against axe in
// two of these six views, in turn.
//
//   node crawl.mjs PROGRAM [axe]     DRAWLOOM_DATABASE_URL in the environment: on that server
import { AxeBuilder } from "@axe-core/playwright";
import { openWorld, ROLES } from "./world.mjs";

const [program, axe] = process.argv.slice(2);
/** A theme and a width: the six ways in which pages are looked at. */
const VIEWS = [["light", 360], ["dark", 768], ["light", 1440], ["dark", 360], ["light", 768], ["dark", 1440]];
/** How many links of a role are followed. */
const LINKS_MAX = 200;
const world = await openWorld(program, { database: process.env.DRAWLOOM_DATABASE_URL });
const { origin, wrong } = world;

/** Pages of a kind have the same path but for names and ids. */
function kindOf(path) {
  const { pathname, searchParams } = new URL(path, origin);
  const parts = pathname.split("/").map((part, at) => (at < 2 || ["edit", "versions", "changes", "compare", "update"].includes(part) ? part : ":"));
  return `${parts.join("/")}?${[...new Set(searchParams.keys())].sort().join("&")}`;
}

const unescaped = (text) => text.replaceAll("&amp;", "&").replaceAll("&#39;", "'").replaceAll("&quot;", '"');

/** Links of a page that lead to other pages. */
function linksOf(html) {
  const all = [...html.matchAll(/ href="([^"]*)"/g)].map((found) => unescaped(found[1]));
  return all.filter((link) => link.startsWith("/") && !link.startsWith("/assets/"));
}

/** Follows every link from the inbox on; returns one path of each kind. */
async function follow(context, role) {
  const kinds = new Map();
  const seen = new Set();
  const open = ["/inbox", "/health", "/search?q=release"];
  while (open.length > 0 && seen.size < LINKS_MAX) {
    const path = open.shift();
    const bare = path.split("#")[0];
    if (!bare || seen.has(bare)) continue;
    seen.add(bare);
    const answer = await context.request.get(origin + bare);
    if (answer.status() !== 200) {
      wrong.push(`${role}: ${bare} answers ${answer.status()}`);
      continue;
    }
    const type = answer.headers()["content-type"] ?? "";
    if (!type.includes("html")) continue;
    const html = await answer.text();
    if (html.length > 100 << 10) wrong.push(`${role}: ${bare} has ${html.length} bytes`);
    if (!kinds.has(kindOf(bare))) kinds.set(kindOf(bare), bare);
    const base = new URL(bare, origin);
    // Pages of a kind that is known already are followed last.
    for (const link of linksOf(html)) {
      const next = new URL(link, base);
      const whole = next.pathname + next.search;
      if (kinds.has(kindOf(whole))) open.push(whole);
      else open.unshift(whole);
    }
  }
  return { kinds, seen };
}

/** The kinds of pages that axe has seen, without their filters. */
const judged = new Set();

async function look(page, path, role) {
  await page.goto(origin + path);
  const kind = kindOf(path).replace(/\?(?!as$|view$).*/, "");
  if (!axe || role !== "admin" || judged.has(kind)) return;
  const at = judged.size;
  judged.add(kind);
  for (const [number, [colorScheme, width]] of VIEWS.entries()) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (over > 0) wrong.push(`${path} is ${over} px too wide at ${width}`);
    // Two of the six views of each kind, in turn: all of them would take axe many minutes.
    if (number % 3 !== at % 3) continue;
    const { violations } = await new AxeBuilder({ page }).analyze();
    for (const one of violations) wrong.push(`${path}, ${colorScheme}, ${width}: ${one.id} at ${one.nodes[0]?.target}`);
  }
}

/** Fills the project: runs of every kind, a plan that waits, a schedule, an agent. */
async function fill() {
  for (const version of ["1.2.0", "1.2.1"]) await world.begin("release-check", { version });
  const hosts = ["a", "b", "broken", ...Array.from({ length: 30 }, (_, at) => `host-${at}`)];
  await world.begin("batch", { hosts });
  await world.begin("triage", { report: "The shop is down, <b>every</b> order fails" });
  await world.ask("POST", "/schedules", { slug: "nightly", workflow: "release-check", cron: "0 6 * * *" });
  await world.ask("POST", "/builder/generate", { prompt: "Rate limiting for login: five wrong passwords in a minute, then wait" });
  world.drawloom("agents", "add", "triager", "--prompt", "You read reports of faults and say how bad they are.");
  for (let tries = 0; tries < 200; tries += 1) {
    const { items } = await world.ask("GET", "/builder/jobs");
    if (items[0]?.status === "plan_ready") return;
    await new Promise((later) => setTimeout(later, 100));
  }
  wrong.push("no plan came");
}

async function crawl() {
  const { page, context } = await world.claimed();
  await fill();
  for (const role of ROLES) {
    const begun = Date.now();
    const own = role === "admin" ? { page, context } : await world.openWindow({ storageState: await world.signIn(role) });
    const { kinds, seen } = await follow(own.context, role);
    for (const path of kinds.values()) await look(own.page, path, role);
    console.log(`${role}: ${seen.size} links, ${kinds.size} kinds of pages, ${Date.now() - begun} ms`);
    if (seen.size < 40) wrong.push(`${role} found only ${seen.size} links`);
    await own.context.close();
  }
}

await crawl().catch((error) => wrong.push(error.stack));
await world.close();
console.log(wrong.length === 0 ? "every page is fine" : `${wrong.length} things are wrong`);
