/**
 * A client of the Agent Client Protocol, made with the official library for TypeScript, that lines drive.
 *
 * The arguments are the command of the agent. A line of standard input is a call, `{"id", "method", "params"}`, or the
 * option that permissions are answered with from now on, `{"option"}`; with `null` they wait. A line of standard output
 * is an update, a permission that is asked for, the call of one that was taken back, or the answer to a call. The
 * complaints of the library are on standard error.
 */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { agent, client } = acp.methods;
const [command, ...given] = process.argv.slice(2);
const bridge = spawn(command, given, { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => bridge.on("exit", resolve));

let option = "once";
let waiting = [];

function tell(line) {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const connection = acp
  .client({ name: "acp-check" })
  .onNotification(client.session.update, ({ params }) => tell({ update: params.update }))
  .onRequest(client.session.requestPermission, async ({ params, signal }) => {
    signal.addEventListener("abort", () => tell({ withdrawn: params.toolCall.toolCallId }));
    tell({ asked: params });
    const optionId = option ?? (await new Promise((resolve) => waiting.push(resolve)));
    return { outcome: { outcome: "selected", optionId } };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(bridge.stdin), Readable.toWeb(bridge.stdout)));

async function call({ id, method, params }) {
  try {
    // Of what this client calls, only this one has no answer.
    const isRequest = method !== agent.session.cancel;
    const result = await connection.agent[isRequest ? "request" : "notify"](method, params);
    tell({ id, result: result ?? null });
  } catch ({ code, message, data }) {
    tell({ id, error: { code, message, data } });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if (order.method) {
    call(order);
    continue;
  }
  option = order.option;
  if (option !== null) {
    for (const answer of waiting.splice(0)) answer(option);
  }
}
bridge.stdin.end();
process.exitCode = await ended;
