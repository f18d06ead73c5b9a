// Appending, and writing a file anew.
import { closeSync, copyFileSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@xcsh/session";
import { median, percentile } from "./measure.mjs";

const COUNT = 10_000;
const text = 'The quick brown fox jumps over the lazy dog, "quoted" and\nbroken. '.repeat(29);

function message(number) {
  const content = [{ type: "text", text: `${number} ${text}` }];
  return { role: "assistant", content, provider: "p", model: "m", timestamp: number };
}

// Calls `append` for each message; the time that one call in a hundred takes at least, in microseconds.
function all(messages, append) {
  const times = new Float64Array(messages.length);
  for (let number = 0; number < messages.length; number++) {
    const before = performance.now();
    append(messages[number], number);
    times[number] = performance.now() - before;
  }
  return percentile(times, 0.99) * 1000;
}

function appends(place) {
  const messages = Array.from({ length: COUNT }, (_, number) => message(number));
  return {
    plain: async timed => {
      const file = openSync(join(place.fresh(), "plain.jsonl"), "a");
      let parentId = null;
      const p99 = await timed(() => {
        const p99 = all(messages, (message, number) => {
          const id = number.toString(16).padStart(8, "0");
          const entry = { type: "message", id, parentId, timestamp: new Date().toISOString(), message };
          writeSync(file, `${JSON.stringify(entry)}\n`);
          parentId = id;
        });
        fsyncSync(file);
        return p99;
      });
      closeSync(file);
      return p99;
    },
    ours: async timed => {
      const session = SessionManager.create(place.fresh());
      const p99 = await timed(async () => {
        const p99 = all(messages, message => session.appendMessage(message));
        await session.flush();
        return p99;
      });
      await session.close();
      return p99;
    },
  };
}

async function renames(place) {
  const file = place.copy("10k.jsonl");
  const session = await SessionManager.open(file);
  let number = 0;
  return {
    plain: timed => {
      const copy = `${file}.copy`;
      rmSync(copy, { force: true });
      return timed(() => {
        copyFileSync(file, copy);
        const opened = openSync(copy, "r+");
        fsyncSync(opened);
        closeSync(opened);
      });
    },
    ours: timed => timed(() => session.setSessionName(`title ${number++}`, "user")),
  };
}

export const writing = {
  "append-2k": {
    what: "10,000 appends of 2 KB and a flush",
    plain: "JSON.stringify, writeSync, one fsync",
    rounds: 9,
    prepare: appends,
    goals: (ours, plain) => [
      { figure: "a second", value: COUNT / (ours.ms / 1000), at_least: 60_000 },
      { figure: "of the plain rate", value: plain.ms / ours.ms, at_least: 0.5 },
      { figure: "us p99 of an append", value: median(ours.results), at_most: 60 },
    ],
  },
  "rename-10k": {
    what: "rename (file written anew), 10k entries",
    plain: "copyFileSync and fsync",
    rounds: 9,
    prepare: renames,
    goals: (ours, plain) => [{ figure: "times the copy", value: ours.ms / plain.ms, at_most: 2 }],
  },
};
