// The EventSource of npm's `eventsource`: prints what it gets, a line of JSON an event.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.EVENTSOURCE}/`);
const { EventSource } = require("eventsource");

for (const [stream, url] of Object.entries(JSON.parse(process.argv[2]))) {
    const source = new EventSource(url);
    const print = (event) => console.log(JSON.stringify({ stream, ...event }));
    source.onopen = () => print({ open: true });
    source.onmessage = ({ lastEventId, data }) => print({ id: lastEventId, data });
    source.onerror = ({ message }) => {
        if (source.readyState === EventSource.CLOSED) print({ gaveUp: message ?? "no reason" });
    };
}
