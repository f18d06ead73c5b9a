// Appending messages of 2 KB, against JSON.stringify and writeSync, each with one fsync at the end.
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@xcsh/session";
import { median, percentile, report, workDir } from "./support.mjs";

const RUNS = Number(process.env.BENCH_RUNS ?? 7);
const COUNT = 10_000;
const dir = workDir();
const text = "The quick brown fox jumps over the lazy dog, \"quoted\" and\nbroken. ".repeat(29);

function message(number) {
  return { role: "assistant", content: [{ type: "text", text: `${number} ${text}` }], provider: "p", model: "m", timestamp: number };
}
const messages = Array.from({ length: COUNT }, (_, number) => message(number));

function plain(run) {
  const file = openSync(join(dir, `plain-${run}.jsonl`), "a");
  const times = new Float64Array(COUNT);
  const start = performance.now();
  let parentId = null;
  for (let number = 0; number < COUNT; number++) {
    const before = performance.now();
    const id = number.toString(16).padStart(8, "0");
    const entry = { type: "message", id, parentId, timestamp: new Date().toISOString(), message: messages[number] };
    writeSync(file, `${JSON.stringify(entry)}\n`);
    parentId = id;
    times[number] = performance.now() - before;
  }
  fsyncSync(file);
  const seconds = (performance.now() - start) / 1000;
  closeSync(file);
  return { rate: COUNT / seconds, p99: percentile(times, 0.99) * 1000 };
}

async function ours() {
  const session = SessionManager.create(dir);
  const times = new Float64Array(COUNT);
  const start = performance.now();
  for (let number = 0; number < COUNT; number++) {
    const before = performance.now();
    session.appendMessage(messages[number]);
    times[number] = performance.now() - before;
  }
  await session.flush();
  const seconds = (performance.now() - start) / 1000;
  await session.close();
  return { rate: COUNT / seconds, p99: percentile(times, 0.99) * 1000 };
}

const [a, b] = [[], []];
for (let run = 0; run < RUNS; run++) {
  a.push(plain(run));
  b.push(await ours());
}
const rate = runs => median(runs.map(run => run.rate));
const p99 = runs => median(runs.map(run => run.p99));
const share = rate(b) / rate(a);
const told = `plain ${rate(a).toFixed(0)}/s, library ${rate(b).toFixed(0)}/s, ${(share * 100).toFixed(0)} %`;
report("10,000 appends of 2 KB and a flush", told, "half the rate", share >= 0.5);
const slow = `plain ${p99(a).toFixed(0)} us, library ${p99(b).toFixed(0)} us`;
report("p99 of an append", slow, "under 60 us", p99(b) < 60);
