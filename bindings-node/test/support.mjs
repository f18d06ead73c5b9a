// What several test files need. Every file runs under `node --test` and under `bun test`.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

const made = [];

// A directory that is gone after the tests of the file.
export function tempDir() {
  const dir = mkdtempSync(join(tmpdir(), "xcsh-session-"));
  made.push(dir);
  return dir;
}

after(() => made.forEach(dir => rmSync(dir, { recursive: true, force: true })));

// Sessions of the tests are below a directory of their own, whatever the environment says.
process.env.PI_CODING_AGENT_DIR = tempDir();
for (const name of ["KITTY_WINDOW_ID", "TMUX_PANE", "TERM_SESSION_ID", "WT_SESSION"]) delete process.env[name];

export function cases(name) {
  return JSON.parse(readFileSync(new URL(`../../tests/conformance/${name}`, import.meta.url), "utf8"));
}

export function user(content) {
  return { role: "user", content, timestamp: 1 };
}

export function assistant(text, more = {}) {
  return { role: "assistant", content: [{ type: "text", text }], provider: "p", model: "m", timestamp: 2, ...more };
}

// Lines of a session file as values, without looking at how they are spelled.
export function lines(file) {
  const text = readFileSync(file, "utf8");
  return text.split("\n").filter(Boolean).map(line => JSON.parse(line));
}

// A value as JSON has it: absent keys stay absent.
export function plain(value) {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

export const onBun = "Bun" in globalThis;
