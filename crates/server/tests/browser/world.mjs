// A project that is in use, for crawls and pictures: people of every role, workflows with runs of all kinds, a
// recipe with questions, and builds that wait. A scripted model answers.
import { execFileSync } from "node:child_process";
import { openModel } from "./model.mjs";
import { openStage } from "./stage.mjs";

export const PASSWORD = "a quiet heron under seven bridges";
export const ROLES = ["admin", "operator", "reviewer", "viewer"];

const RELEASE = `graph TD
    A[Collect the changes] --> B(May it be released?)
    B --> C{Approved?}
    C -->|"output.approved == true"| D[Publish]
    C -->|default| E[Write down why]

%% === WORKFLOW_CONFIG ===
%% @A: { "handler": "no_op" }
%% @B: { "prompt": "May {{input.version}} be released?\\nIt has three changes." }
%% @D: { "handler": "no_op" }
%% @E: { "handler": "no_op" }
%% === END_CONFIG ===
`;
const TRIAGE = `graph TD
    A[Read the report] --> B{How bad?}
    B -->|"output.severity == 'high'"| C(Wake somebody up?)
    B -->|default| D[Put it on the list]

%% === WORKFLOW_CONFIG ===
%% @A: { "prompt": "How bad is this report?\\n{{input.report}}", "outputSchema": { "type": "object", "required": ["severity", "summary"], "properties": { "severity": { "enum": ["high", "low"] }, "summary": { "type": "string" } } } }
%% @C: { "prompt": "{{steps.A.output.summary}}" }
%% @D: { "handler": "no_op" }
%% === END_CONFIG ===
`;
const BATCH = `graph TD
    A[[each: Every host]] --> B[Ping it]
    B --> J[join: All of them]
    J --> E[Write the report]

%% === WORKFLOW_CONFIG ===
%% @A: { "itemsPath": "input.hosts", "itemVariable": "host", "failFast": false }
%% @B: { "handler": "command", "config": { "run": "test {{host}} != broken -o -e mended" }, "retry": { "attempts": 1 } }
%% @E: { "handler": "no_op" }
%% === END_CONFIG ===
`;
const MANIFEST = `name: service
description: A service with a health check and a README
version: 1.1.0
variables:
  name: { type: string, required: true, position: 1, description: "What it is called" }
  port: { type: number, default: 8080 }
  docker: { type: boolean, default: false }
steps:
  - name: files
    tool: template
    template: files
`;
const README = "---\nto: \"{{ name }}/README.md\"\n---\n# {{ name }}\n\n@ai('purpose')\n@prompt()\nWhat is {{ name }} for, in a sentence?\n@end\n@end\n\nIt listens on {{ port }}.\n";
const PLAN = {
  summary: "Sign-in refuses more than five wrong attempts a minute from one address.",
  taskType: "refactor",
  files: [
    { path: "src/login.py", action: "modify", description: "asks the limiter before it checks the password" },
    { path: "src/limit.py", action: "create", description: "a sliding window of attempts per address" },
  ],
  contextFiles: ["README.md"],
};
const LOGIN = `# Signs a person in.
def login(request):
    user = find(request.name)
    if not user.check(request.password):
        raise WrongPassword()
    return Session(user)


def logout(request):
    request.session.end()
`;
const LIMITED = `# Signs a person in.
def login(request):
    if not limiter.allows(request.address):
        raise TooManyAttempts(retry_after=limiter.wait)
    user = find(request.email)
    if not user.check(request.password):
        limiter.note(request.address)
        raise WrongPassword()
    return Session(user)


def logout(request):
    request.session.end(reason="logout")
`;
const LIMITER = `# A sliding window of attempts for each address.
class Limiter:
    def __init__(self, most=5, window=60):
        self.most = most
        self.window = window

    def allows(self, address):
        return len(self.recent(address)) < self.most
`;

/** What the scripted model says: plans, builds, answers to recipes and to steps. */
export function says(messages, turn) {
  const whole = JSON.stringify(messages);
  if (whole.includes("You plan one piece of work")) return JSON.stringify(PLAN);
  if (whole.includes("carries out one approved plan")) {
    const left = [["src/login.py", LIMITED], ["src/limit.py", LIMITER]][turn];
    return left ? { calls: [["write_file", { path: left[0], content: left[1] }]] } : "The limiter stands in front of the password. One minute is a guess: the plan did not say.";
  }
  if (whole.includes("How bad is this report")) return `## Status\nSUCCESS\n\n## Summary\nThe shop takes no orders.\n\n## Output\n${JSON.stringify({ severity: "high", summary: "Every order fails since 14:03. Wake the person on duty?" })}\n\n## Next Action\nCOMPLETE\n`;
  if (whole.includes("purpose")) return JSON.stringify({ purpose: "It tells other services whether the shop is open." });
  return "It is done.";
}

/** Opens the project with its server, its model and people of every role. */
export async function openWorld(program, { database = "" } = {}) {
  const model = await openModel(says);
  const files = {
    "drawloom.toml": `${model.settings}\n[ai.prices."m"]\ninput = 3.0\noutput = 15.0\n\n[builder.checks]\ntest = "true"\n`,
    ".drawloom/workflows/release-check.mmd": RELEASE,
    ".drawloom/workflows/triage.mmd": TRIAGE,
    ".drawloom/workflows/batch.mmd": BATCH,
    ".drawloom/recipes/service/recipe.yml": MANIFEST,
    ".drawloom/recipes/service/files/README.md.jig": README,
    "README.md": "# The shop\n",
    "src/login.py": LOGIN,
    ".gitignore": ".drawloom/\ndrawloom.toml\n.cache/\n.config/\n.local/\n",
  };
  const run = (folder, environment) => (command, ...words) => execFileSync(command, words, { cwd: folder, env: environment, stdio: ["ignore", "pipe", "pipe"] }).toString();
  const prepare = (folder, environment) => {
    const here = run(folder, environment);
    for (const words of [["init", "--quiet", "-b", "main"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]]) here("git", ...words);
    here(program, "trust");
  };
  const environment = database ? { DRAWLOOM_DATABASE_URL: database } : {};
  const stage = await openStage(program, files, { environment, prepare });
  const drawloom = (...words) => run(stage.folder, stage.environment)(program, ...words);
  let token;
  /** Asks the API as an admin. */
  const ask = async (method, path, body) => {
    token ??= JSON.parse(drawloom("tokens", "add", "story", "--user", "ada", "--role", "admin", "--json")).secret;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${stage.origin}/api/v1${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 400)}`);
    return text ? JSON.parse(text) : undefined;
  };
  const begin = async (workflow, input) => (await ask("POST", "/runs", { workflow, input })).runs[0];
  /** Claims the server for Ada, the admin, and returns her window. */
  const claim = async () => {
    const window = await stage.openWindow();
    await window.page.goto(stage.claim);
    await window.page.fill("#email", "ada@example.org");
    await window.page.fill("#password", PASSWORD);
    await window.page.click("form button");
    await window.page.waitForURL("**/inbox");
    return window;
  };
  /** Adds a person of a role and returns the state of a browser in which they have signed in. */
  const signIn = async (role) => {
    drawloom("users", "add", role, "--email", `${role}@example.org`, "--role", role);
    const link = drawloom("users", "reset-password", role, "--public-url", stage.origin).match(/http\S+/)[0];
    const { page, context } = await stage.openWindow();
    await page.goto(link);
    await page.fill("#password", PASSWORD);
    await page.click("form button");
    await page.waitForLoadState();
    if (page.url().includes("login")) {
      await page.fill("#email", `${role}@example.org`);
      await page.fill("#password", PASSWORD);
      await page.click("form button");
    }
    await page.waitForURL("**/inbox");
    const state = await context.storageState();
    await context.close();
    return state;
  };
  return { ...stage, claimed: claim, signIn, ask, begin, model, drawloom, close: async () => { await stage.close(); model.close(); } };
}
