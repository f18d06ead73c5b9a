import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export const runtime = "Bun" in globalThis ? `bun ${Bun.version}` : `node ${process.versions.node}`;

// Sessions of a measurement are below a directory of their own, and gone after it.
export function workDir() {
  const dir = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), "xcsh-bench-"));
  process.env.PI_CODING_AGENT_DIR = dir;
  process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

// A generated session file, the same bytes every time.
export function sessionFile(entries, dir) {
  const file = join(process.env.BENCH_DATA ?? dir, `${entries}.jsonl`);
  if (!existsSync(file)) {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const args = "run -q -p xcsh-session-testdata --release --bin make-session -- --entries".split(" ");
    execFileSync("cargo", [...args, `${entries}`, "--out", file], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  }
  return file;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

export function percentile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}

// One line per measurement; a goal that is missed makes the exit status 1.
export function report(what, result, goal, met) {
  console.log(`${met ? "ok  " : "MISS"} ${runtime}  ${what}: ${result} (goal: ${goal})`);
  if (!met) process.exitCode = 1;
}

// Collects what earlier measurements left, so that no measurement pays for another.
export function collect() {
  if ("Bun" in globalThis) return Bun.gc(true);
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}
