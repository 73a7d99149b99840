// The replies that the vendor's client for Node makes of recorded streams, one a line.
// Arguments: the URL of the streams, and their number.
import Anthropic from "@anthropic-ai/sdk";

const [url, count] = process.argv.slice(2);
const client = new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });
const question = { model: "m", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
for (let number = 0; number < Number(count); number += 1) {
    const stream = client.beta.messages.stream(question, { headers: { "x-stream": `${number}` } });
    console.log(JSON.stringify(await stream.finalMessage()));
}
