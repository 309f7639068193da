// A model for stories: it speaks OpenAI's format over HTTP and says what a script tells it.
import { createServer } from "node:http";

/**
 * Starts it. `script` gets the messages and returns a text, or calls of tools: `{ calls: [[name, input]] }`.
 * @param {(messages: {role: string, content: any}[], turn: number) => string | { calls: [string, object][] }} script
 */
export async function openModel(script) {
  const asked = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => { body += piece; });
    request.on("end", () => {
      const { messages = [] } = body ? JSON.parse(body) : {};
      asked.push(messages);
      const turn = messages.filter((one) => one.role === "assistant").length;
      const said = script(messages, turn);
      const message = { role: "assistant", content: typeof said === "string" ? said : "" };
      if (typeof said !== "string") {
        message.tool_calls = said.calls.map(([name, input], at) => ({ id: `call-${turn}-${at}`, type: "function", function: { name, arguments: JSON.stringify(input) } }));
      }
      const reason = typeof said === "string" ? "stop" : "tool_calls";
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ id: "m", model: "m", choices: [{ index: 0, message, finish_reason: reason }], usage: { prompt_tokens: 1200, completion_tokens: 180 } }));
    });
  });
  await new Promise((ready) => { server.listen(0, "127.0.0.1", ready); });
  const url = `http://127.0.0.1:${server.address().port}`;
  const settings = `[ai]\nmode = "api"\nprovider = "openai"\nmodel = "m"\nbase_url = "${url}"\napi_key = "sk-story"\n`;
  return { url, asked, settings, close: () => server.close() };
}
