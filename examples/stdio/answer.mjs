// The same as answer.py, for Node: `node answer.mjs`, or with prepared answers `node answer.mjs my-answers.json`.
// Without a file it fills in something of the right kind. Put your own code into `answer`.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const file = process.argv[2];
const prepared = file ? JSON.parse(readFileSync(file, "utf8")) : {};
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

/** The answer to one question, or undefined to leave an optional one out. */
function answer(question) {
  if (question.key in prepared) return prepared[question.key];
  if (!question.required) return undefined;
  const choices = question.from ?? [];
  if (question.examples.length > 0) return question.examples[0];
  const kinds = {
    boolean: true,
    number: 0,
    list: [question.key],
    json: {},
    select: choices[0],
    pick: choices.slice(0, 1),
    order: choices,
    code: `// ${question.key}`,
  };
  return kinds[question.kind] ?? (question.prompt || question.key);
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "ask") {
    const questions = message.questionnaire.questions;
    const answers = Object.fromEntries(questions.map((question) => [question.key, answer(question)]));
    say({ type: "answers", id: message.id, answers });
  } else if (message.type === "invalid") {
    say({ type: "error", id: message.id, message: message.message });
  } else if (message.type === "bye") {
    break;
  }
}
