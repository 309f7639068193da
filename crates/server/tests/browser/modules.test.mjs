// The modules of the pages that can be tested without a browser: node --test modules.test.mjs
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

/** Loads a module of the pages as text: they are served by the program and belong to no package. */
async function load(name) {
  const text = readFileSync(new URL(`../../assets/${name}`, import.meta.url), "utf8");
  return import(`data:text/javascript,${encodeURIComponent(text)}`);
}

test("a path is completed only inside of open braces", async () => {
  const { typedPath } = await load("complete.js");
  const cases = [
    ["Say {{in", false, { start: 6, typed: "in" }],
    ["Say {{ output.na", false, { start: 7, typed: "output.na" }],
    ["Say {{in}} and", false, undefined],
    ["Say in", false, undefined],
    ["{{a}} {{steps.A", false, { start: 8, typed: "steps.A" }],
    ["output.items", true, { start: 0, typed: "output.items" }],
    ["output.a > inp", true, { start: 11, typed: "inp" }],
  ];
  for (const [text, isBare, expected] of cases) assert.deepEqual(typedPath(text, isBare), expected, text);
});

test("references that begin with what was typed come first", async () => {
  const { fitting } = await load("complete.js");
  const all = ["steps.A.output", "input.steps", "output"].map((path) => ({ path }));
  assert.deepEqual(fitting(all, "ste").map((one) => one.path), ["steps.A.output", "input.steps"]);
  assert.equal(fitting(all, "").length, 3);
  assert.equal(fitting(all, "nothing").length, 0);
});

test("edits of a proposal are words taken out and put in", async () => {
  const { compare } = await load("form.js");
  const cases = [
    ["it is fine", "it is good", [["same", "it is "], ["del", "fine"], ["ins", "good"]]],
    ["a", "a", [["same", "a"]]],
    ["", "x", [["ins", "x"]]],
    ["x y", "", [["del", "x y"]]],
  ];
  for (const [old, fresh, expected] of cases) assert.deepEqual(compare(old, fresh).map((part) => [part.kind, part.text]), expected, fresh);
  const long = "word ".repeat(300);
  assert.equal(compare(long, `${long}x`).length, 2);
});

test("conflicts are settled by taking a side of each", async () => {
  const { settle, open } = await load("settle.js");
  const marked = "a\n<<<<<<< your file\nmine\n||||||| generated before\nold\n=======\nnew\n>>>>>>> generated now\nb\n<<<<<<< your file\n=======\nx\n>>>>>>> generated now\n";
  assert.equal(open(marked), 2);
  const cases = [["ours", "a\nmine\nb\n"], ["theirs", "a\nnew\nb\nx\n"], ["both", "a\nmine\nnew\nb\nx\n"]];
  for (const [side, expected] of cases) assert.equal(settle(marked, side), expected, side);
  const plain = "Title\n=======\n\ntext\n";
  assert.equal(settle(plain, "ours"), plain);
  assert.equal(open(plain), 0);
});

test("an entry of a tree is found by a part of its text", async () => {
  const { fits } = await load("copy.js");
  assert.ok(fits("host Web-1", " web"));
  assert.ok(fits("anything", ""));
  assert.ok(!fits("host", "port"));
});
