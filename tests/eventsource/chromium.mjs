// The EventSource of Chromium, in a page of the service itself: prints what it gets, a line of
// JSON an event. Other pages may not read the streams.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.EVENTSOURCE}/`);
const { chromium } = require("playwright-core");

const streams = JSON.parse(process.argv[2]);
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
});
process.once("SIGTERM", async () => {
    await browser.close();
    process.exit(0);
});

const page = await browser.newPage();
await page.exposeFunction("print", (line) => console.log(line));
await page.goto(new URL("/healthz", Object.values(streams)[0]).href);
await page.evaluate((streams) => {
    window.sources = Object.entries(streams).map(([stream, url]) => {
        const { pathname, search } = new URL(url);
        const source = new EventSource(pathname + search);
        const print = (event) => window.print(JSON.stringify({ stream, ...event }));
        source.onopen = () => print({ open: true });
        source.onmessage = ({ lastEventId, data }) => print({ id: lastEventId, data });
        source.onerror = () => {
            if (source.readyState === EventSource.CLOSED) print({ gaveUp: "closed" });
        };
        return source;
    });
}, streams);
// A browser may drop what it has received and not yet handled when the connection breaks. An
// answer that the page handled later than this line shows that nothing is left unhandled.
process.stdin.once("data", async () => {
    await page.evaluate(async () => {
        for (let round = 0; round < 3; round += 1) await fetch("/healthz");
    });
    console.log(JSON.stringify({ settled: true }));
});
