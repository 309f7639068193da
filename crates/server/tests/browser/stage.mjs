// A server in a folder of its own and a browser in front of it, for the stories of the pages.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

/** How much of the server's log is kept, in characters. */
const LOG_MAX = 200_000;

function freePort() {
  return new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/**
 * Starts the program's server on a new project with these files, and waits until it can be claimed.
 * `environment` is added to that of the program, `prepare` is called before the server starts.
 */
export async function openStage(program, files = {}, { environment: more = {}, prepare } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "drawloom-story-"));
  for (const [name, text] of Object.entries({ ".drawloom/keep": "", ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const environment = { ...process.env, HOME: folder, ...more };
  prepare?.(folder, environment);
  const wrong = [];
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let server;
  let log = "";
  const start = () => new Promise((found, failed) => {
    server = spawn(program, ["serve", "--listen", origin.slice(7)], { cwd: folder, env: environment });
    let said = "";
    // Read, or the server would wait for room in the pipe; errors are shown at the end.
    server.stderr.on("data", (text) => { log = (log + text).slice(-LOG_MAX); });
    server.stdout.on("data", (text) => {
      said += text;
      const link = said.match(/http\S+/);
      if (link) found(link[0]);
    });
    server.on("exit", (code) => failed(new Error(`the server ended with ${code}`)));
  });
  const stop = () => new Promise((ended) => {
    server.removeAllListeners("exit");
    server.on("exit", ended);
    server.kill("SIGTERM");
  });
  const claim = await start();
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  /** Opens a window; what its pages complain about is wrong. */
  const openWindow = async (options = {}, allowed = /^$/) => {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    context.on("page", (page) => {
      page.setDefaultTimeout(20_000);
      page.on("console", (message) => {
        if (["error", "warning"].includes(message.type()) && !allowed.test(message.text())) wrong.push(`${page.url()}: ${message.text()}`);
      });
      page.on("pageerror", (error) => wrong.push(`${page.url()}: ${error}`));
      page.on("dialog", (dialog) => dialog.accept());
    });
    return { context, page: await context.newPage() };
  };
  const close = async () => {
    await browser.close();
    await stop();
    rmSync(folder, { recursive: true, force: true });
    for (const line of wrong) console.error(line);
    if (wrong.length > 0) console.error(log.split("\n").filter((line) => / 5\d\d |ERROR/.test(line)).join("\n"));
    process.exitCode = wrong.length === 0 ? 0 : 1;
  };
  return { origin, claim, folder, environment, wrong, openWindow, start, stop, close };
}
