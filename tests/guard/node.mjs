// One way of doing something in Node, for tests/guard/run: node.mjs WAY FILE.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import { SessionManager } from "../../bindings-node/dist/index.mjs";

const ROUNDS = 2;
const [way, file] = process.argv.slice(2);
const text = "lorem ipsum ".repeat(150);
const messages = Array.from({ length: 500 }, (_, number) => ({ role: "user", content: `message ${number} ${text}` }));

async function opened(use) {
  const session = await SessionManager.open(file);
  assert(use(session) > 0);
  await session.close();
}

const ways = {
  // What starting costs.
  nothing: () => {},
  // Every line parsed: what the others are measured by.
  parse: () => {
    const records = readFileSync(file, "utf8").split("\n").filter(Boolean).map(line => JSON.parse(line));
    assert.equal(records.length, 1001);
  },
  entries: () => opened(session => session.getEntries().length),
  context: () => opened(session => session.buildSessionContext().messages.length),
  append: () => {
    const session = SessionManager.inMemory("/srv/pi");
    for (const message of messages) session.appendMessage(message);
  },
};
for (let round = 0; round < ROUNDS; round++) await ways[way]();
