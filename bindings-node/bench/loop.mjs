// How long the event loop waits while a session of 485 MB opens. A wait that the library causes is in every run, one that
// others on the machine cause is not: the run with the shortest counts.
import { SessionManager } from "@xcsh/session";
import { median, report, sessionFile, workDir } from "./support.mjs";

const RUNS = Number(process.env.BENCH_RUNS ?? 9);
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
const least = Math.min(...gaps);
const told = `${least.toFixed(1)} ms (all runs: ${shown}); doing nothing ${Math.min(...idle).toFixed(1)} ms, median ${median(idle).toFixed(1)} ms`;
report("the longest wait of the event loop while 485 MB open", told, "5 ms", least < 5);
console.log(`     open ${median(times).toFixed(0)} ms, context ${median(contexts).toFixed(1)} ms, ${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB resident`);
