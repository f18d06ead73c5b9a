// A step is `{ what, plain, rounds, prepare(place), goals(ours, plain) }`. `plain` says what the plain way is, null where
// there is none; `prepare` gives the sides `{ ours, plain }`, each called with `timed`, which it calls once with what counts.
// What a side returns are its `results` in `goals`.
import { readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

// How much faster ours is, as a goal.
export function timesFaster(ours, plain, atLeast) {
  return { figure: "times faster", value: plain.ms / ours.ms, at_least: atLeast };
}

// Rounds of plain and ours in turn, so that a slow moment of the machine meets both.
export async function measured(step, place) {
  const sides = await step.prepare(place);
  const runs = { plain: [], ours: [] };
  for (let round = 0; round < step.rounds; round++) {
    for (const name of ["plain", "ours"]) if (sides[name]) runs[name].push(await run(sides[name]));
  }
  const [ours, plain] = [summary(runs.ours), sides.plain ? summary(runs.plain) : undefined];
  return {
    what: step.what,
    plain: step.plain,
    ours_ms: ours.ms,
    plain_ms: plain?.ms ?? null,
    ours_best_ms: ours.best,
    plain_best_ms: plain?.best ?? null,
    rounds: step.rounds,
    goals: step.goals?.(ours, plain) ?? [],
  };
}

async function run(side) {
  collect();
  let ms = 0;
  const result = await side(async work => {
    const start = performance.now();
    const done = await work();
    ms = performance.now() - start;
    return done;
  });
  return { ms, result };
}

function summary(runs) {
  const times = runs.map(run => run.ms);
  return { ms: median(times), best: Math.min(...times), times, results: runs.map(run => run.result) };
}

// The most memory that one run of a side takes, above what is there when it begins.
export async function peak(step, name, place) {
  const side = (await step.prepare(place))[name];
  let bytes = null;
  await side?.(async work => {
    collect();
    const before = status("VmRSS");
    const done = await work();
    bytes = status("VmHWM") - before;
    return done;
  });
  return { peak_bytes: bytes };
}

function status(name) {
  return Number(new RegExp(`^${name}:\\s*(\\d+) kB`, "m").exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
}

// Collects what earlier runs left, so that none pays for another.
function collect() {
  if ("Bun" in globalThis) return Bun.gc(true);
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
