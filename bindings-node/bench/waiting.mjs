// How long the event loop waits while a session of 485 MB opens.
import { SessionManager } from "@xcsh/session";
import { median } from "./measure.mjs";

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

const ms = time => time.toFixed(1);

export const waiting = {
  "loop-100k": {
    what: "open while the event loop runs, 100k entries",
    plain: "the same time of doing nothing",
    rounds: 15,
    prepare(place) {
      const file = place.file("100k.jsonl");
      let took = 300;
      return {
        plain: timed => timed(() => longestGap(() => new Promise(done => setTimeout(done, took)))),
        ours: async timed => {
          let session;
          const start = performance.now();
          const gap = await timed(() => longestGap(async () => (session = await SessionManager.open(file))));
          took = performance.now() - start;
          await session.close();
          return gap;
        },
      };
    },
    goals(ours, plain) {
      const shown = side => `best ${ms(Math.min(...side.results))}, worst ${ms(Math.max(...side.results))}`;
      const figure = `ms longest wait of a round, median (${shown(ours)}; doing nothing: ${shown(plain)})`;
      return [{ figure, value: median(ours.results), at_most: 5 }];
    },
  },
};
