// The same as answer.py in its shortest form, for Node: `node answer.mjs answers.json`.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const prepared = JSON.parse(readFileSync(process.argv[2], "utf8"));
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "ask") {
    const keys = message.questionnaire.questions.map((question) => question.key);
    const answers = Object.fromEntries(keys.filter((key) => key in prepared).map((key) => [key, prepared[key]]));
    say({ type: "answers", id: message.id, answers });
  } else if (message.type === "invalid") {
    say({ type: "error", id: message.id, message: message.message });
  } else if (message.type === "bye") {
    break;
  }
}
