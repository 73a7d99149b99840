/**
 * Checks the service against aimock, a server of the Messages API that plays scripted turns.
 *
 * aimock is an independent implementation. Each case scripts replies, runs one prompt on a fresh
 * service, compares the events that the service shows with the script, and looks at the requests
 * that aimock got. One line a case.
 *
 * Needs `HARNESS_BIN`, the path of the binary, and `COUNTERPARTS`, the folder whose node_modules
 * holds `@copilotkit/aimock`.
 */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import diagnostics from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const load = createRequire(resolve(process.env.COUNTERPARTS, "package.json"));
const { LLMock } = load("@copilotkit/aimock");

const API_KEY = "test-key";
const MODEL = "claude-haiku-4-5-20251001";
const PROMPT = "What is in the notes?";
const ANSWER = "The notes say: water the plants 🌱 — 水.";
const RUN_LIMIT = 30_000;

const thought = "First the folder, then the file.";
const signature = "c2lnbmF0dXJl";
const listing = { id: "call_list", name: "list_dir", arguments: '{"path":"."}' };
const reading = { id: "toolu_read", name: "read", arguments: '{"path":"notes.txt"}' };
const looking = {
  id: "chatcmpl-odd-id",
  content: "Let me look — 見.",
  toolCalls: [listing, reading],
  reasoning: thought,
  reasoningSignature: signature,
};
const answering = { content: ANSWER };

/** All state of the services, and the services that run. */
const top = mkdtempSync(join(tmpdir(), "aimock-check-"));
const services = new Set();

/** What aimock was sent, as it came: its journal keeps the requests in another form. */
const rawBodies = [];
diagnostics.subscribe("http.server.request.start", ({ request }) => {
  const pieces = [];
  const emit = request.emit;
  request.emit = function (name, ...values) {
    if (name === "data") pieces.push(values[0]);
    if (name === "end") rawBodies.push(Buffer.concat(pieces).toString());
    return emit.call(this, name, ...values);
  };
});

/** The reply to the first or a later request of a conversation, by the replies before it. */
function onTurn(mock, turn, reply, options) {
  mock.on({ userMessage: PROMPT, turnIndex: turn }, reply, options);
}

/** The reply to the nth attempt at the first request. */
function onAttempt(mock, attempt, reply, options) {
  mock.on({ userMessage: PROMPT, turnIndex: 0, sequenceIndex: attempt }, reply, options);
}

/** The tool loop that most cases play: look, then answer. */
function scriptLoop(mock, options) {
  onTurn(mock, 0, looking, options);
  onTurn(mock, 1, answering, options);
}

/** What a client sees of it: both calls as the model makes them, then their results. */
const LOOP_EVENTS = [
  ...["user", "thinking", "reasoning", "text"],
  ...["running_tool", "tool_call", "running_tool", "tool_call"],
  ...["tool_result", "thinking", "tool_result", "thinking"],
  ...["text", "idle"],
];

/** The events of that loop and the requests behind it are exactly as scripted. */
function checkLoop({ events, requests, journal }) {
  assert.deepEqual(events.map(kind), LOOP_EVENTS);
  checkTools(events);
  assert.equal(only(events, "reasoning")[0].content, thought);
  assert.deepEqual(contents(events, "text"), [looking.content, ANSWER]);
  assert.equal(journal.length, 2, "two requests");
  checkLoopRequest(requests[1]);
  const roles = journal[1].body.messages.map((message) => message.role);
  assert.deepEqual(roles.slice(-4), ["user", "assistant", "tool", "tool"], "aimock's journal");
}

/** Both tools were called as scripted and succeeded, in order. */
function checkTools(events) {
  const calls = only(events, "tool_call").map(({ id, name, input }) => ({
    id,
    name,
    arguments: JSON.stringify(input),
  }));
  assert.deepEqual(calls, [listing, reading]);
  const results = only(events, "tool_result");
  assert.deepEqual(results.map((result) => [result.id, result.isError]), [
    [listing.id, false],
    [reading.id, false],
  ]);
  assert.match(results[0].result, /notes\.txt/);
  assert.match(results[1].result, /water the plants/);
}

/** The request after the tools: the whole reply, then both results in one user message. */
function checkLoopRequest(request) {
  const [prompt, reply, results, ...more] = request.messages;
  assert.equal(prompt.role, "user");
  assert.deepEqual(more, [], "three messages");
  assert.deepEqual(reply, {
    role: "assistant",
    content: [
      { type: "thinking", thinking: thought, signature },
      { type: "text", text: looking.content },
      { type: "tool_use", id: listing.id, name: "list_dir", input: { path: "." } },
      { type: "tool_use", id: reading.id, name: "read", input: { path: "notes.txt" } },
    ],
  });
  assert.equal(results.role, "user");
  assert.deepEqual(
    results.content.map((block) => [block.type, block.tool_use_id, block.is_error ?? false]),
    [
      ["tool_result", listing.id, false],
      ["tool_result", reading.id, false],
    ],
  );
}

/** The run succeeded with this answer, said once, after so many retries. */
function checkAnswer({ events, journal }, retries) {
  assert.equal(events.at(-1).state, "idle", events.at(-1).message);
  assert.deepEqual(contents(events, "text"), [ANSWER]);
  assert.equal(retriesShown(events).length, retries, "retries shown");
  assert.equal(journal.length, retries + 1, "requests");
}

/** The run failed, and the last message says why. */
function checkError({ events, journal }, attempts, ...reasons) {
  const end = events.at(-1);
  assert.equal(end.state, "error", `ended with ${end.state}`);
  for (const reason of reasons) assert.match(end.message, reason);
  assert.equal(retriesShown(events).length, attempts - 1, "retries shown");
  assert.equal(journal.length, attempts, "requests");
}

/** How long the service waited before the second request, in milliseconds. */
function firstWait(journal) {
  return journal[1].timestamp - journal[0].timestamp;
}

const cut = { truncateAfterChunks: 4, latency: 5, chunkSize: 4 };
const busy = { error: { type: "rate_limit_error", message: "slow down" }, status: 429 };
const overloaded = { error: { type: "overloaded_error", message: "Overloaded" }, status: 529 };

/** Each case: its name, its script, what must be true after the run, and flags of the service. */
const CASES = [
  { name: "tool loop with thinking and two tools", script: scriptLoop, check: checkLoop },
  {
    name: "tool loop in chunks of one character",
    script: (mock) => scriptLoop(mock, { chunkSize: 1 }),
    check: checkLoop,
  },
  {
    name: "tool loop, slowly",
    script: (mock) => scriptLoop(mock, { latency: 20 }),
    check: checkLoop,
  },
  {
    name: "tools before text",
    script(mock) {
      const blocks = [
        { type: "toolCall", ...listing },
        { type: "text", text: "Now the file." },
        { type: "toolCall", ...reading },
      ];
      onTurn(mock, 0, { blocks });
      onTurn(mock, 1, answering);
    },
    check({ events, requests }) {
      checkTools(events);
      assert.equal(events.at(-1).state, "idle");
      // The API refuses text after a call, so the calls are sent back last.
      const types = requests[1].messages[1].content.map((block) => block.type);
      assert.deepEqual(types, ["text", "tool_use", "tool_use"]);
    },
  },
  {
    name: "encrypted thinking is sent back",
    script(mock) {
      onTurn(mock, 0, { toolCalls: [listing], redactedThinking: ["b3BhcXVl"] });
      onTurn(mock, 1, answering);
    },
    check({ events, requests }) {
      assert.equal(events.at(-1).state, "idle");
      assert.deepEqual(requests[1].messages[1].content, [
        { type: "redacted_thinking", data: "b3BhcXVl" },
        { type: "tool_use", id: listing.id, name: "list_dir", input: { path: "." } },
      ]);
    },
  },
  {
    name: "the same tool id in two turns",
    script(mock) {
      onTurn(mock, 0, { toolCalls: [listing] });
      onTurn(mock, 1, { toolCalls: [listing] });
      onTurn(mock, 2, answering);
    },
    check({ events, requests }) {
      assert.equal(events.at(-1).state, "idle");
      const calls = only(events, "tool_call").map((call) => call.id);
      assert.equal(new Set(calls).size, 2, "the calls can be told apart");
      const { messages } = requests[2];
      assert.deepEqual([messages[1], messages[3]].map((m) => m.content[0].id), calls);
      assert.deepEqual([messages[2], messages[4]].map((m) => m.content[0].tool_use_id), calls);
    },
  },
  {
    name: "a tool that fails",
    script(mock) {
      const missing = { ...reading, arguments: '{"path":"missing.txt"}' };
      onTurn(mock, 0, { toolCalls: [missing, listing] });
      onTurn(mock, 1, answering);
    },
    check({ events, requests }) {
      assert.equal(events.at(-1).state, "idle");
      assert.deepEqual(only(events, "tool_result").map((result) => result.isError), [true]);
      // The call after it does not run; the API still wants an answer to it.
      const answers = requests[1].messages[2].content;
      assert.deepEqual(answers.map((answer) => [answer.tool_use_id, answer.is_error]), [
        [reading.id, true],
        [listing.id, true],
      ]);
    },
  },
  {
    name: "an answer cut at max_tokens",
    script: (mock) => onTurn(mock, 0, { ...answering, finishReason: "length" }),
    check(run) {
      checkAnswer(run, 0);
      assert.match(run.events.at(-1).message, /max_tokens/);
    },
  },
  {
    name: "a stream cut once",
    script(mock) {
      onAttempt(mock, 0, answering, cut);
      onAttempt(mock, 1, answering);
    },
    check(run) {
      checkAnswer(run, 1);
      assert.equal(run.journal[0].response.interruptReason, "truncateAfterChunks");
    },
  },
  {
    name: "a connection lost once",
    script(mock) {
      onAttempt(mock, 0, answering, { disconnectAfterMs: 80, latency: 30, chunkSize: 4 });
      onAttempt(mock, 1, answering);
    },
    check(run) {
      checkAnswer(run, 1);
      assert.equal(run.journal[0].response.interruptReason, "disconnectAfterMs");
    },
  },
  {
    name: "a stream cut each time",
    flags: ["--max-retries", "2"],
    script: (mock) => onTurn(mock, 0, answering, cut),
    check(run) {
      checkError(run, 3, /interrupted/);
      assert.deepEqual(only(run.events, "text"), [], "no half text is shown as whole");
    },
  },
  {
    name: "a stream cut after a whole block",
    script(mock) {
      // The reply's start, the four events of the thinking block, and the start of the text.
      const options = { truncateAfterChunks: 6, latency: 5, chunkSize: 99 };
      onTurn(mock, 0, { ...answering, reasoning: thought }, options);
    },
    check(run) {
      checkError(run, 1, /interrupted/);
      assert.deepEqual(contents(run.events, "reasoning"), [thought]);
    },
  },
  {
    name: "429, then an answer",
    script(mock) {
      onAttempt(mock, 0, { ...busy, retryAfter: 2 });
      onAttempt(mock, 1, answering);
    },
    check(run) {
      checkAnswer(run, 1);
      const [told] = retriesShown(run.events);
      assert.match(told, /^retrying in 2\.0 s /);
      assert.match(told, /rate_limit_error/);
      const wait = firstWait(run.journal);
      assert.ok(wait >= 1990, `waited ${wait} ms for retry-after: 2`);
    },
  },
  {
    name: "529 twice, then an answer",
    script(mock) {
      onAttempt(mock, 0, overloaded);
      onAttempt(mock, 1, overloaded);
      onAttempt(mock, 2, answering);
    },
    check(run) {
      checkAnswer(run, 2);
      assert.match(retriesShown(run.events)[0], /^retrying in 0\.[45] s /);
      const wait = firstWait(run.journal);
      assert.ok(wait >= 370, `waited ${wait} ms without retry-after`);
    },
  },
  {
    name: "529 each time",
    flags: ["--max-retries", "2"],
    script: (mock) => onTurn(mock, 0, overloaded),
    check: (run) => checkError(run, 3, /overloaded_error/, /529/),
  },
  {
    name: "529 in the middle of the loop",
    script(mock) {
      onTurn(mock, 0, looking);
      const second = { userMessage: PROMPT, turnIndex: 1 };
      mock.on({ ...second, sequenceIndex: 0 }, overloaded);
      mock.on({ ...second, sequenceIndex: 1 }, answering);
    },
    check({ events, requests, journal }) {
      assert.equal(events.at(-1).state, "idle");
      checkTools(events);
      assert.equal(journal.length, 3);
      assert.deepEqual(requests[2], requests[1], "a retry sends the same request");
    },
  },
  {
    name: "a request that nobody scripted",
    // aimock answers 404 with an error that lacks the API's outer object.
    script: () => {},
    check: (run) => checkError(run, 1, /No fixture matched/, /404/),
  },
];

/** An event in a word: its type, or the state of a status. */
function kind(event) {
  return event.type === "status" ? event.state : event.type;
}

function only(events, type) {
  return events.filter((event) => event.type === type);
}

function contents(events, type) {
  return only(events, type).map((event) => event.content);
}

function retriesShown(events) {
  const remarks = only(events, "status").map((event) => event.message);
  return remarks.filter((remark) => remark.startsWith("retrying"));
}

/** Starts the service; gives its address, its log so far, and how to stop it. */
async function startService(folder, baseUrl, flags) {
  const args = ["serve", "--port", "0", "--log", "trace", ...flags];
  const env = {
    PATH: process.env.PATH,
    // The requests show no token, also where the checks run in a container.
    HARNESS_REQUIRE_TOKEN: "false",
    HOME: folder,
    HARNESS_HOME: join(folder, "home"),
    HARNESS_WORKSPACE: join(folder, "workspace"),
    HARNESS_MODEL: MODEL,
    HARNESS_IDLE_TIMEOUT: "2s",
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: API_KEY,
  };
  const child = spawn(process.env.HARNESS_BIN, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  services.add(child);
  const exited = new Promise((done) => child.once("exit", done)).then(() => services.delete(child));
  let output = "";
  const address = await new Promise((found, failed) => {
    const collect = (piece) => {
      output += piece;
      const line = output.match(/listens on (http:\/\/\S+)/);
      if (line) found(line[1]);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", failed);
    child.once("exit", () => failed(new Error(`the service did not start: ${output}`)));
  });
  const stop = async () => {
    child.kill();
    await exited;
    return output;
  };
  return { address, stop };
}

/** Attaches, prompts, and gives all events of the run, the last one being its end. */
async function runPrompt(address) {
  const signal = AbortSignal.timeout(RUN_LIMIT);
  const stream = await fetch(`${address}/events`, { signal });
  const lines = linesOf(stream.body);
  await lines.next(); // The stream's greeting: from here on nothing is missed.
  const prompted = await fetch(`${address}/prompt`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ content: PROMPT }),
    signal,
  });
  assert.ok(prompted.ok, `POST /prompt: ${prompted.status} ${await prompted.text()}`);
  const events = [];
  for await (const line of lines) {
    if (!line.startsWith("data: ")) continue;
    events.push(JSON.parse(line.slice("data: ".length)));
    if (["idle", "error"].includes(events.at(-1).state)) return events;
  }
  throw new Error(`the event stream ended before the run: ${JSON.stringify(events)}`);
}

/** The lines of a body; leaving the loop closes the connection. */
async function* linesOf(body) {
  let rest = "";
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop();
    yield* lines;
  }
}

/** Plays one case. Throws what is wrong, with the events as evidence. */
async function play({ script, check, flags = [] }) {
  const folder = await mkdtemp(join(top, "case-"));
  const mock = new LLMock({ host: "127.0.0.1", port: 0 });
  script(mock);
  rawBodies.length = 0;
  try {
    await mkdir(join(folder, "workspace"));
    await writeFile(join(folder, "workspace", "notes.txt"), "water the plants\n");
    await mock.start();
    const { address, stop } = await startService(folder, mock.url, flags);
    let log;
    let events;
    try {
      events = await runPrompt(address);
    } finally {
      log = await stop();
    }
    const requests = rawBodies.map((body) => JSON.parse(body));
    explain(() => check({ events, requests, journal: mock.getRequests() }), { events, requests });
    assert.ok(!(log + JSON.stringify(events)).includes(API_KEY), "the API key is shown");
  } finally {
    await mock.stop();
  }
}

/** Adds what was seen to the error of a check. */
function explain(check, { events, requests }) {
  try {
    check();
  } catch (error) {
    const sent = requests.map((request) => request.messages);
    error.message += `\nevents: ${JSON.stringify(events)}\nmessages: ${JSON.stringify(sent)}`;
    throw error;
  }
}

/** Plays all cases, or those whose names are given. */
async function main(names) {
  const cases = names.length ? CASES.filter(({ name }) => names.includes(name)) : CASES;
  for (const one of cases) {
    const start = Date.now();
    const error = await play(one).then(() => null, (error) => error);
    const seconds = ((Date.now() - start) / 1000).toFixed(1);
    console.log(`${error ? "FAIL" : "ok  "} aimock: ${one.name} (${seconds} s)`);
    if (error) {
      console.log(`       ${error.message.replaceAll("\n", "\n       ")}`);
      process.exitCode = 1;
    }
  }
}

process.on("SIGTERM", () => process.exit(143));
process.on("exit", () => {
  for (const child of services) child.kill();
  rmSync(top, { recursive: true, force: true });
});
await main(process.argv.slice(2));
