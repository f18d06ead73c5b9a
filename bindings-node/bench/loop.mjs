// How long the event loop waits while a session of 485 MB opens.
import { SessionManager } from "@xcsh/session";
import { median, report, sessionFile, workDir } from "./support.mjs";

const RUNS = Number(process.env.BENCH_RUNS ?? 5);
const file = sessionFile(100_000, workDir());

// The longest time between two turns of the loop while `work` runs.
async function longestGap(work) {
  let [last, longest] = [performance.now(), 0];
  const turn = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 1);
    last = now;
  };
  const timer = setInterval(turn, 1);
  try {
    await work();
    turn();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

const idle = [];
for (let run = 0; run < RUNS; run++) idle.push(await longestGap(() => new Promise(done => setTimeout(done, 300))));
const [gaps, times, contexts] = [[], [], []];
for (let run = 0; run < RUNS; run++) {
  const start = performance.now();
  let session;
  gaps.push(await longestGap(async () => (session = await SessionManager.open(file))));
  times.push(performance.now() - start);
  const opened = performance.now();
  session.buildSessionContext();
  contexts.push(performance.now() - opened);
  await session.close();
}
const shown = gaps.map(gap => gap.toFixed(1)).join(", ");
const told = `median ${median(gaps).toFixed(1)} ms (${shown}); doing nothing ${median(idle).toFixed(1)} ms`;
report("the longest wait of the event loop while 485 MB open", told, "5 ms", median(gaps) < 5);
console.log(`     open ${median(times).toFixed(0)} ms, context ${median(contexts).toFixed(1)} ms, ${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB resident`);
