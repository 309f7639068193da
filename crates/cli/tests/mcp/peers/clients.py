#!/usr/bin/env python3
"""Talks to the binary through programs of others: clients.py DRAWLOOM FOLDER

FOLDER has what install.sh put there. Each part prints a line; the first that fails ends it with exit code 1.

1. The Inspector's command line calls every tool of `drawloom mcp`, in both eras, and finds nothing wrong with their
   schemas.
2. `claude -p`, with a scripted model, runs a recipe with questions and a workflow that waits for a person.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

DRAWLOOM, TOOLS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
RECIPE = """name: note
description: A note with one question
variables:
  title: { type: string, required: true, position: 0 }
steps:
  - tool: template
    template: note.jig
"""
TEMPLATE = """---
to: note.md
---
# {{ title }}

@ai()
  @prompt()
    One sentence about {{ title }}.
  @end
  @output({ key: 'summary', type: 'text' })
    One sentence.
  @end
@end
"""
REVIEW = """flowchart TD
  A[Count] --> B(Look at it)
  B --> C[Done]
%% === WORKFLOW_CONFIG ===
%% @A: { "handler": "no_op" }
%% @B: { "prompt": "Is it good?" }
%% @C: { "handler": "no_op" }
%% === END_CONFIG ===
"""


def fail(part, text):
    sys.exit(f"FAILED: {part}\n{text[-6000:]}")


class Project:
    """A scratch project, with its own home."""

    def __init__(self, folder, settings=""):
        self.folder = pathlib.Path(folder) / "project"
        self.home = pathlib.Path(folder) / "home"
        for path, text in [("drawloom.toml", settings), (".drawloom/recipes/note/recipe.yml", RECIPE),
                           (".drawloom/recipes/note/note.jig", TEMPLATE), (".drawloom/workflows/review.mmd", REVIEW),
                           ("src/b.ts", "export const b = 1;\n"),
                           ("src/a.ts", "import { b } from './b';\nexport const a = b;\n")]:
            self.write(path, text)
        self.home.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "PATH": f"{TOOLS / 'bin'}:{DRAWLOOM.parent}:{os.environ['PATH']}", "HOME": str(self.home), "LC_ALL": "C",
            "XDG_CONFIG_HOME": str(self.home), "XDG_STATE_HOME": str(self.home), "NO_COLOR": "1",
            "DRAWLOOM_TRUST_PROJECTS": str(self.folder), "DRAWLOOM_WORKFLOWS_HTTP_ALLOW": "127.0.0.1",
        }

    def write(self, path, text):
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def run(self, *words, expected=0, timeout=90, **more):
        ran = subprocess.run([str(word) for word in words], cwd=self.folder, env={**self.environment, **more},
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if expected is not None and ran.returncode != expected:
            fail(" ".join(map(str, words)), f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}")
        return ran.stdout

    def drawloom(self, *words, **more):
        return self.run(DRAWLOOM, *words, **more)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(port):
    for _ in range(300):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    fail("a server", f"nothing listens at {port}")


def inspector(folder):
    project = Project(folder)
    project.run("git", "init", "-q")
    project.drawloom("workflow", "start", "review", "--wait", expected=2)
    listed = json.loads(project.drawloom("runs", "list", "--json"))
    run = (listed["runs"] if isinstance(listed, dict) else listed)[0]["id"]
    calls = [
        ("list_recipes", {}, True), ("run_recipe", {"name": "note", "values": {"title": "T"}}, True),
        ("list_workflows", {}, True), ("start_run", {"workflow": "review"}, True), ("get_run", {"id": run}, True),
        ("control_run", {"id": run, "action": "pause"}, True), ("list_tasks", {}, True),
        ("answer_task", {"id": f"{run}/B", "output": "yes"}, False),
        ("check_workflow", {"mermaid": REVIEW}, True),
        ("save_workflow", {"name": "ERA", "mermaid": REVIEW}, True),
        ("explain_step", {"workflow": "review", "step": "B"}, True),
        ("render_template", {"template": "{{ a }}", "data": {"a": 1}}, True),
        ("plan_build", {"prompt": "x"}, False), ("approve_build", {"id": "last"}, False),
        ("get_build", {"id": "1m7r6eazv12f5"}, False), ("build_diff", {"id": "1m7r6eazv12f5"}, False),
        ("project_index", {"budget": 200}, True), ("impact", {"files": ["src/b.ts"]}, True),
    ]
    config = pathlib.Path(folder) / "servers.json"
    config.write_text(json.dumps({"mcpServers": {"drawloom": {
        "command": str(DRAWLOOM), "args": ["mcp", "--tools", "generate,runs,author,build,look"],
        "env": project.environment}}}))
    for era in ("legacy", "modern"):
        base = [TOOLS / "node_modules/.bin/mcp-inspector", "--cli", "--config", config, "--server", "drawloom",
                "--protocol-era", era, "--format", "json", "-q", "--cwd", project.folder]
        listed = project.run(*base, "--method", "tools/list", "--strict")
        tools = json.loads(listed)["result"]["tools"]
        names = [tool["name"] for tool in tools]
        missing = set(names) ^ {name for name, _, _ in calls}
        if missing:
            fail("inspector", f"no call for {missing}")
        running = []
        for name, arguments, works in calls:
            text = json.dumps(arguments).replace("ERA", era)
            words = [*base, "--method", "tools/call", "--tool-name", name, "--tool-args-json", text]
            running.append((name, works, words))
        for name, works, words in running:
            said = project.run(*words, expected=None)
            try:
                result = json.loads(said)["result"]
            except (KeyError, ValueError):
                fail(f"inspector {era} {name}", said)
            if bool(result.get("isError")) == works:
                fail(f"inspector {era} {name}", said)
        print(f"inspector, {era} era: {len(names)} tools called, their schemas have no problems")


def claude(folder):
    project = Project(folder)
    tool = "mcp__drawloom__"
    values = {"title": "Looms"}

    def calls(name, arguments):
        return {"toolCalls": [{"name": tool + name, "arguments": json.dumps(arguments)}]}

    script = [
        ({"toolResultContains": "answers_needed"},
         calls("run_recipe", {"name": "note", "values": values, "answers": {"summary": "They weave."}})),
        ({"toolResultContains": "note.md"}, calls("start_run", {"workflow": "review", "wait_seconds": 20})),
        ({"toolResultContains": "Is it good?"}, {"content": "STOPPED: a person answers this step."}),
        ({"toolResultContains": "it has ended"}, {"content": "ENDED: the run is complete."}),
        ({"userMessage": "make the note", "hasToolResult": False},
         calls("run_recipe", {"name": "note", "values": values})),
        ({"userMessage": "look at the run", "hasToolResult": False}, calls("get_run", {"id": "last"})),
        ({}, {"content": "I do not know what to do."}),
    ]
    fixtures = pathlib.Path(folder) / "fixtures"
    fixtures.mkdir()
    (fixtures / "script.json").write_text(json.dumps({
        "fixtures": [{"match": match, "response": response} for match, response in script]}))
    project.drawloom("mcp", "install", "claude-code", "--write")
    port = free_port()
    model = subprocess.Popen([TOOLS / "node_modules/.bin/llmock", "--host", "127.0.0.1", "--port", str(port), "-f",
                              fixtures], env=project.environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port)

        def says(prompt):
            return project.run(TOOLS / "node_modules/.bin/claude", "-p", prompt, "--mcp-config", ".mcp.json",
                               "--strict-mcp-config", "--allowedTools", "mcp__drawloom", "--max-turns", "8",
                               ANTHROPIC_BASE_URL=f"http://127.0.0.1:{port}", ANTHROPIC_API_KEY="x",
                               DISABLE_AUTOUPDATER="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
        first = says("make the note")
        if "STOPPED" not in first:
            fail("claude -p", first)
        if "They weave." not in (project.folder / "note.md").read_text():
            fail("claude -p", "the note has no answer in it")
        tasks = json.loads(project.drawloom("tasks", "list", "--json"))
        task = (tasks["tasks"] if isinstance(tasks, dict) else tasks)[0]["id"]
        project.drawloom("tasks", "answer", task, "yes")
        project.drawloom("worker", "--until-idle")
        second = says("look at the run")
        if "ENDED" not in second:
            fail("claude -p", second)
        print("claude -p: a recipe with a question, a workflow that a person answered")
    finally:
        model.terminate()
        model.wait()


def main():
    parts = {"inspector": inspector, "claude": claude}
    chosen = sys.argv[3:] or list(parts)
    for name in chosen:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            parts[name](folder)
        print(f"  ({name}: {time.monotonic() - began:.0f} s)")


main()
