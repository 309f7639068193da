// What people do, by mouse, on a phone, by keyboard alone and without JavaScript: draw a workflow from
// nothing, run it, answer its question, and read why it went where it went.
//
//   node stories.mjs PROGRAM
import { openStage } from "./stage.mjs";

const [program] = process.argv.slice(2);
const PASSWORD = "a quiet heron under seven bridges";
const stage = await openStage(program);
const { origin, wrong } = stage;

async function claim(page) {
  await page.goto(stage.claim);
  await page.fill("#email", "ada@example.org");
  await page.fill("#password", PASSWORD);
  await page.click("form button");
  await page.waitForURL("**/inbox");
}

const has = (page, text) => page.waitForFunction((wanted) => document.querySelector("#text").value.includes(wanted), text);

/** Adds a step in the panel: behind what is selected, or the first one. */
async function add(page, name, kind) {
  await page.fill("#add-name", name);
  await page.selectOption("#add-kind", kind);
  await page.click('#panel button[value="add"]');
  await has(page, name);
  await page.waitForFunction((wanted) => document.querySelector("[data-selected] h2")?.textContent.includes(wanted), name);
}

const choose = async (page, name) => {
  await page.locator(".diagram .node[data-step]", { hasText: name }).click();
  await page.waitForFunction((wanted) => document.querySelector("[data-selected] h2")?.textContent.includes(wanted), name);
};

/** Reads the run's page: where it went, what the condition was, what it read. */
async function readsWhy(page, name, to) {
  await page.waitForSelector(`h1:has-text("${name} is completed")`);
  const why = await page.textContent("#steps");
  for (const word of [`Approved? → ${to}`, "output.next", "true"]) if (!why.includes(word)) wrong.push(`the run's page does not say ${word}: ${why}`);
}

/** Draws, starts, answers and reads, with what is at hand: a mouse or a finger. */
async function drawsAndRuns(page, name) {
  await page.goto(`${origin}/workflows`);
  await page.click('main a:has-text("Draw a workflow")');
  await page.waitForURL("**/builder**");
  await page.click('a:has-text("Begin with nothing")');
  await page.waitForSelector("#add-name");
  await add(page, "May it go out?", "person");
  await add(page, "Approved?", "decision");
  await add(page, "Publish", "machine");
  await choose(page, "Approved?");
  await add(page, "Stop", "machine");
  await page.waitForSelector('h1:has-text("has no problems")');
  await page.fill("#name", name);
  await page.click('button:text-is("Save a version")');
  await page.waitForURL(`**/workflows/${name}**`);
  await page.click('button:text-is("Start")');
  await page.waitForURL("**/runs/**");
  await page.waitForSelector('h1:has-text("waits for a person")');
  const run = page.url().split("?")[0];
  await page.click('a:has-text("Answer May it go out?")');
  await page.waitForURL("**/inbox**");
  await page.click('form.answer button:has-text("Stop")');
  await page.waitForURL("**/inbox?**said=answered");
  await page.goto(run);
  await readsWhy(page, name, "Stop");
}

async function byMouse() {
  const { page } = await stage.openWindow();
  await claim(page);
  await page.click('button:has-text("Start the sample run")');
  await page.waitForURL("**/runs/**");
  await page.waitForSelector('h1:has-text("waits for a person")');
  await page.click('.actions a.primary');
  await page.click('form.answer button:has-text("Publish")');
  await page.waitForURL("**/inbox?**said=answered");
  await page.goto(`${origin}/runs`);
  await page.click('a.row:has-text("welcome-tour")');
  await page.waitForSelector('h1:has-text("is completed")');
  await page.click('button:has-text("Remove all sample data")');
  await page.waitForURL("**/inbox?said=removed");
  await drawsAndRuns(page, "by-mouse");
  return page.context();
}

async function onAPhone(state) {
  const { page, context } = await stage.openWindow({ viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, storageState: state });
  await drawsAndRuns(page, "on-a-phone");
  const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (over > 0) wrong.push(`the run's page is ${over} px too wide on a phone`);
  await context.close();
}

/** Moves the focus to an element that fits, by Tab alone. */
async function tabTo(page, fits, most = 160) {
  for (let at = 0; at < most; at += 1) {
    if (await page.evaluate(fits)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`Tab does not lead to ${fits}`);
}

const isAt = (selector) => `!!document.activeElement?.matches(${JSON.stringify(selector)})`;
const says = (word) => `document.activeElement?.textContent.trim() === ${JSON.stringify(word)}`;

/** The same without a pointer. */
async function byKeyboard(state) {
  const { page, context } = await stage.openWindow({ storageState: state });
  await page.goto(`${origin}/builder?from=nothing`);
  await page.waitForSelector("#add-name");
  const addByKeys = async (name, kind) => {
    await tabTo(page, isAt("#add-name"));
    await page.keyboard.type(name);
    await page.keyboard.press("Tab");
    await page.keyboard.type(kind);
    await tabTo(page, isAt('#panel button[value="add"]'));
    await page.keyboard.press("Enter");
    await page.waitForFunction((wanted) => document.querySelector("[data-selected] h2")?.textContent.includes(wanted), name);
  };
  await addByKeys("May it go out?", "Person");
  await addByKeys("Approved?", "Decision");
  await addByKeys("Publish", "Machine");
  await page.keyboard.press("Shift+Tab");
  await page.evaluate(() => document.querySelector("#name").focus());
  await tabTo(page, `document.activeElement?.getAttribute("data-step") === "B"`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("[data-selected] h2")?.textContent.includes("Approved?"));
  await addByKeys("Stop", "Machine");
  await page.evaluate(() => document.body.focus());
  await tabTo(page, isAt("#name"), 260);
  await page.keyboard.type("by-keys");
  await tabTo(page, says("Save a version"));
  await page.keyboard.press("Enter");
  await page.waitForURL("**/workflows/by-keys**");
  await tabTo(page, says("Start"));
  await page.keyboard.press("Enter");
  await page.waitForURL("**/runs/**");
  await page.waitForSelector('h1:has-text("waits for a person")');
  const run = page.url().split("?")[0];
  for (const key of ["g", "i"]) await page.keyboard.press(key);
  await page.waitForURL("**/inbox");
  await tabTo(page, says("Stop"));
  await page.keyboard.press("Enter");
  await page.waitForURL("**/inbox?**said=answered");
  await page.goto(run);
  await readsWhy(page, "by-keys", "Stop");
  await context.close();
}

/** Signing in, reading and answering in a browser without JavaScript. */
async function withoutScripts() {
  const { page, context } = await stage.openWindow({ javaScriptEnabled: false });
  await page.goto(`${origin}/login`);
  await page.fill("#email", "ada@example.org");
  await page.fill("#password", PASSWORD);
  await page.click("form button");
  await page.waitForURL("**/inbox");
  await page.goto(`${origin}/workflows/by-mouse`);
  await page.click('button:text-is("Start")');
  await page.waitForURL("**/runs/**");
  const run = page.url().split("?")[0];
  await page.goto(`${origin}/inbox`);
  await page.click('form.answer button:has-text("Publish")');
  await page.waitForURL("**/inbox?**said=answered");
  for (let tries = 0; tries < 40; tries += 1) {
    await page.goto(run);
    if ((await page.textContent("h1")).includes("is completed")) break;
    await new Promise((later) => setTimeout(later, 250));
  }
  const why = await page.textContent("#steps");
  if (!why.includes("Approved? → Publish")) wrong.push(`without scripts the page does not say why: ${why}`);
  await context.close();
}

/** Twelve tabs on plain HTTP: a browser allows six connections, so only one may hold a stream. */
async function twelveTabs(context) {
  const tabs = [];
  for (let at = 0; at < 12; at += 1) {
    const tab = await context.newPage();
    await tab.goto(`${origin}/runs`);
    tabs.push(tab);
  }
  for (const tab of tabs) await tab.waitForSelector('#live[data-state="live"]');
  for (const tab of tabs) await tab.close();
}

/** A server that is gone is said, and nothing is missing when it is back. */
async function goneAndBack(context) {
  const page = await context.newPage();
  await page.goto(`${origin}/runs`);
  await page.waitForSelector('#live[data-state="live"]');
  await stage.stop();
  const begun = Date.now();
  await page.waitForSelector('#live:not([data-state="live"])', { timeout: 20_000 });
  console.log(`a server that is gone is said after ${Date.now() - begun} ms`);
  await stage.start();
  await page.waitForSelector('#live[data-state="live"]', { timeout: 40_000 });
  await page.waitForSelector('a.row:has-text("by-mouse")');
  await page.close();
}

/** Puts random trees in place of others: what is typed and focused stays, everything else becomes as it should. */
async function patches(context) {
  const page = await context.newPage();
  await page.goto(`${origin}/health`);
  const module = await page.evaluate(() => document.querySelector('script[type="module"]').src.replace("main.js", "patch.js"));
  const failed = await page.evaluate(async ([address, rounds]) => {
    const { patch } = await import(address);
    let seed = 20261118;
    const random = (below) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const tree = (depth) => {
      const one = document.createElement(["div", "p", "ul", "span", "section", "details"][random(6)]);
      // What is folded cannot be focused.
      if (one.tagName === "DETAILS") one.setAttribute("open", "");
      if (random(3) === 0) one.className = `c${random(3)}`;
      if (random(4) === 0) one.setAttribute("data-step", `s${random(3)}`);
      for (let at = random(4); at > 0; at -= 1) {
        const kind = random(depth > 0 ? 4 : 2);
        if (kind === 0) one.append(`text ${random(4)}`);
        else if (kind === 1) {
          const field = document.createElement(["input", "textarea"][random(2)]);
          field.setAttribute("name", `f${random(3)}`);
          one.append(field);
        } else one.append(tree(depth - 1));
      }
      return one;
    };
    const found = [];
    const place = document.createElement("div");
    document.querySelector("main").append(place);
    for (let round = 0; round < rounds && found.length === 0; round += 1) {
      const [old, fresh] = [document.createElement("div"), document.createElement("div")];
      old.append(tree(3), tree(3));
      fresh.append(...(random(2) ? [tree(3), tree(3)] : [...old.cloneNode(true).childNodes, tree(1)]));
      place.replaceChildren(old);
      const fields = [...old.querySelectorAll("input, textarea")];
      const field = fields[random(fields.length + 1)];
      if (field) {
        field.focus();
        field.value = "half typ";
        field.setSelectionRange(2, 5);
      }
      patch(old, fresh);
      if (field) {
        const kept = document.activeElement === field && field.value === "half typ" && field.selectionStart === 2 && field.selectionEnd === 5;
        if (!kept) found.push(`round ${round}: the field lost focus, text or selection: ${old.outerHTML} from ${fresh.outerHTML}`);
      } else if (!old.isEqualNode(fresh)) found.push(`round ${round}: ${old.outerHTML} is not ${fresh.outerHTML}`);
    }
    return found;
  }, [module, 3000]);
  for (const line of failed) wrong.push(line.slice(0, 800));
  await page.close();
}

/** Typing goes on while the page is put in place again and again. */
async function typesOn(context) {
  const page = await context.newPage();
  await page.goto(`${origin}/workflows/by-mouse`);
  await page.click('button:text-is("Start")');
  await page.waitForURL("**/runs/**");
  await page.goto(`${origin}/inbox`);
  await page.waitForSelector("form.answer textarea");
  await page.focus("form.answer textarea");
  const begin = page.evaluate(async () => {
    const channel = new BroadcastChannel("drawloom-live");
    for (let at = 0; at < 200; at += 1) {
      channel.postMessage({ data: "" });
      await new Promise((next) => setTimeout(next, 10));
    }
    channel.close();
  });
  const words = "every letter of this stays where it is";
  await page.keyboard.type(words, { delay: 40 });
  await begin;
  const typed = await page.evaluate(() => [document.activeElement?.tagName, document.querySelector("form.answer textarea").value]);
  if (typed[0] !== "TEXTAREA" || typed[1] !== words) wrong.push(`while events came, ${typed} was left of what was typed`);
  await page.close();
}

const told = async (name, story) => {
  const begun = Date.now();
  const gave = await story().catch((error) => { wrong.push(`${name}: ${error.message}`); });
  console.log(`${name}: ${Date.now() - begun} ms`);
  return gave;
};

const context = await told("by mouse", byMouse);
if (context) {
  const state = await context.storageState();
  await told("on a phone", () => onAPhone(state));
  await told("by keyboard alone", () => byKeyboard(state));
  await told("without scripts", withoutScripts);
  await told("twelve tabs", () => twelveTabs(context));
  await told("random trees", () => patches(context));
  await told("typing while events come", () => typesOn(context));
  for (const page of context.pages()) await page.close();
  wrong.push(...wrong.splice(0));
  const before = wrong.length;
  await told("gone and back", () => goneAndBack(context));
  // A browser says in its console that it cannot connect.
  wrong.splice(before, wrong.length, ...wrong.slice(before).filter((line) => !/ERR_|Failed to load|net::/.test(line)));
}
await stage.close();
console.log(wrong.length === 0 ? "the stories ended well" : `${wrong.length} things are wrong`);
