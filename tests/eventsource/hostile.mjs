// Pages that mean ill, in Chromium: what they send to the service, and what they can read of its
// answers. Prints one object: each answer with its status, and each thing that a page could read.
import { createServer } from "node:http";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.EVENTSOURCE}/`);
const { chromium } = require("playwright-core");

const [, , port] = process.argv;
// A name of another machine that leads here, as after a change of its address.
const NAME = "hostile.test";
const TARGETS = ["127.0.0.1", "localhost", NAME].map((host) => `http://${host}:${port}`);

const pages = createServer((_, answer) => {
    answer.setHeader("content-type", "text/html");
    answer.end("<!doctype html><body></body>");
});
await new Promise((ready) => pages.listen(0, "127.0.0.1", ready));
const own = pages.address().port;

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [
        "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
        `--host-resolver-rules=MAP ${NAME} 127.0.0.1`,
    ],
});

// Runs in the page: tries everything that a page can, and tells what it could read.
async function attack(target) {
    const readable = [];
    const order = JSON.stringify({ content: "sent by a page" });
    // Each of them ends by itself, by an answer or because the browser refuses it.
    const soon = (promise) => Promise.race([
        promise, new Promise((over) => setTimeout(over, 20_000)),
    ]);
    const read = (what, text) => text && readable.push(`${what}: ${String(text).slice(0, 80)}`);
    for (const mode of ["cors", "no-cors"]) {
        for (const [method, path, body] of [
            ["GET", "/v1/conversations"], ["GET", "/events"], ["GET", "/v1/service"],
            ["POST", "/prompt", order], ["POST", "/cancel", "{}"],
            ["POST", "/v1/conversations/default/prompt", order],
        ]) {
            const abort = new AbortController();
            const asked = fetch(target + path, { method, body, mode, signal: abort.signal })
                .then(async (answer) => {
                    if (answer.ok) read(`${mode} ${path}`, await answer.text());
                })
                .catch(() => {});
            await soon(asked);
            abort.abort();
        }
    }
    const element = (name, attributes) => {
        const made = Object.assign(document.createElement(name), attributes);
        const ended = new Promise((over) => { made.onload = () => over(true); made.onerror = () => over(false); });
        document.body.append(made);
        return soon(ended);
    };
    if (await element("img", { src: `${target}/healthz` })) read("img", "loaded");
    await element("script", { src: `${target}/v1/conversations` });
    const frame = document.createElement("iframe");
    frame.name = "sink";
    document.body.append(frame);
    for (const enctype of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
        const form = Object.assign(document.createElement("form"), {
            method: "post", action: `${target}/prompt`, enctype, target: "sink",
        });
        form.append(Object.assign(document.createElement("input"), {
            name: '{"content":"sent by a form","x":"', value: '"}',
        }));
        document.body.append(form);
        const loaded = new Promise((over) => { frame.onload = over; });
        form.submit();
        await soon(loaded);
    }
    const source = new EventSource(`${target}/events`);
    await soon(new Promise((over) => {
        source.onopen = () => over(read("EventSource", "open"));
        source.onmessage = ({ data }) => read("EventSource", data);
        source.onerror = over;
    }));
    source.close();
    const socket = new WebSocket(`${target.replace("http", "ws")}/events`);
    await soon(new Promise((over) => {
        socket.onopen = () => over(read("WebSocket", "open"));
        socket.onerror = over;
    }));
    return readable;
}

const answers = [], readable = [];
const homes = ["127.0.0.1", "localhost", NAME].map((host) => `http://${host}:${own}/`);
// The last page has the origin that the service would have under that name.
for (const home of [...homes, `http://${NAME}:${port}/healthz`]) {
    for (const target of TARGETS) {
        const page = await browser.newPage();
        page.on("response", (answer) => {
            if (new URL(answer.url()).port !== port || answer.request().isNavigationRequest() && answer.url() === home) return;
            answers.push([home, answer.request().method(), answer.url(), answer.status()]);
        });
        await page.goto(home);
        const found = await page.evaluate(attack, target);
        readable.push(...found.map((what) => `${home} ${target} ${what}`));
        await page.close();
    }
}
await browser.close();
pages.close();
console.log(JSON.stringify({ answers, readable }));
