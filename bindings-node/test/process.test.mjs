// What happens around a session: other threads, the end of the process, callbacks that throw, faults, many sessions.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { configure, HistoryStorage, Session, SessionManager } from "@xcsh/session";
import { assistant, lines, onBun, tempDir, user } from "./support.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));

// Runs a script in a process of its own and gives exit code, signal and output.
function run(script, args = [], env = {}) {
  const flags = onBun ? ["-e"] : ["--expose-gc", "--input-type=module", "-e"];
  return new Promise(done => {
    const options = { cwd: root, env: { ...process.env, ...env }, timeout: 120_000 };
    const child = execFile(process.execPath, [...flags, script, ...(onBun ? [] : ["--"]), ...args], options, (error, stdout, stderr) => {
      done({ code: child.exitCode, signal: child.signalCode, stdout, stderr });
    });
  });
}

const head = 'import { SessionManager, configure, HistoryStorage } from "@xcsh/session"; const file = process.argv.at(-1);';

test("a worker thread and the main thread on two managers of one file", async () => {
  const file = join(tempDir(), "s.jsonl");
  const session = await SessionManager.open(file);
  session.appendMessage(assistant("the first"));
  const COUNT = 2000;
  const script = `
    const { workerData, parentPort } = require("node:worker_threads");
    const { SessionManager } = require(workerData.module);
    SessionManager.open(workerData.file).then(async session => {
      parentPort.postMessage("open");
      for (let number = 0; number < workerData.count; number++) {
        session.appendMessage({ role: "user", content: "worker " + number, timestamp: 1 });
      }
      await session.close();
      parentPort.postMessage(session.getEntries().length);
    });`;
  const module = createRequire(import.meta.url).resolve("@xcsh/session");
  const worker = new Worker(script, { eval: true, workerData: { module, file, count: COUNT } });
  await new Promise((open, failed) => worker.once("message", open).once("error", failed));
  const ended = new Promise((done, failed) => worker.once("exit", done).once("error", failed));
  for (let number = 0; number < COUNT; number++) {
    session.appendMessage(user(`main ${number}`));
    if (number % 500 === 250) await session.rewriteEntries();
    if (number % 100 === 0) await new Promise(setImmediate);
  }
  await ended;
  await session.refresh();
  await session.rewriteEntries();
  const written = lines(file).slice(1).map(entry => entry.message.content);
  for (const who of ["main", "worker"]) {
    const told = written.filter(text => typeof text === "string" && text.startsWith(who));
    assert.deepEqual(told, Array.from({ length: COUNT }, (_, number) => `${who} ${number}`));
  }
  assert.equal(session.getEntries().length, 2 * COUNT + 1);
  await session.close();
});

test("the end of the process right after an append loses nothing", async () => {
  for (const end of ["process.exit(0)", "process.kill(process.pid, 'SIGKILL')", ""]) {
    const file = join(tempDir(), "s.jsonl");
    const script = `${head}
      const session = await SessionManager.open(file);
      for (let number = 0; number < 100; number++) session.appendMessage({ role: "assistant", content: [], number });
      void session.setSessionName("later", "user");
      session.appendCustomEntry("last", { text: "x".repeat(10000) });
      ${end}`;
    const ended = await run(script, [file]);
    assert.equal(ended.signal ?? ended.code, end.includes("kill") ? "SIGKILL" : 0, ended.stderr);
    const entries = lines(file).slice(1);
    assert.equal(entries.length, 101, end);
    assert.equal(entries.at(-1).customType, "last");
  }
});

test("callbacks that throw, and rejections that nobody handles, take nothing down", async () => {
  const file = join(tempDir(), "s.jsonl");
  const script = `${head}
    const thrower = () => { throw new Error("from the logger"); };
    configure({ logger: { warn: thrower, error: thrower } });
    const { writeFileSync } = await import("node:fs");
    writeFileSync(file, "no session");
    const session = await SessionManager.open(file);
    session.appendMessage({ role: "assistant", content: [] });
    const history = HistoryStorage.open(file + ".db");
    history.add("a prompt");
    await history.close();
    history.add("too late");
    if (history.getRecent(5).length !== 0) throw new Error("closed");
    await new Promise(done => setTimeout(done, 50));
    await session.close();
    console.log("still here");`;
  const ended = await run(script, [file]);
  assert.deepEqual([ended.code, ended.stdout], [0, "still here\n"], ended.stderr);
});

test("a fault in native code is an error", async () => {
  const native = createRequire(import.meta.url)("../binding/index.js");
  assert.throws(() => native.testFault(), /for tests only/);
  const script = `
    import { createRequire } from "node:module";
    const native = createRequire(process.cwd() + "/")("./binding/index.js");
    const told = [];
    try { native.testFault(); } catch (error) { told.push(JSON.parse(error.message).code); }
    await native.testFaultOnPool().catch(error => told.push(JSON.parse(error.message).code));
    console.log(told.join());`;
  const ended = await run(script, [], { XCSH_SESSION_TEST_FAULTS: "1" });
  assert.deepEqual([ended.code, ended.stdout], [0, "Panic,Panic\n"], ended.stderr);
});

test("10,000 opens and closes leak neither files nor memory", async () => {
  const file = join(tempDir(), "s.jsonl");
  const session = await SessionManager.open(file);
  for (let number = 0; number < 20; number++) session.appendMessage(assistant(`answer ${number}`));
  await session.close();
  const script = `${head}
    import { Session } from "@xcsh/session";
    import { readdirSync } from "node:fs";
    const gc = globalThis.gc ?? (() => Bun.gc(true));
    const files = () => readdirSync("/proc/self/fd").length;
    async function round(count) {
      let most = 0;
      for (let number = 0; number < count; number++) {
        const session = await SessionManager.open(file);
        if (session.buildSessionContext().messages.length !== 20) throw new Error("messages");
        await session.close();
        const seen = await Session.read(file);
        seen.getLeafId();
        seen.close();
        most = Math.max(most, files());
      }
      gc();
      await new Promise(done => setTimeout(done, 20));
      gc();
      return most;
    }
    await round(1000);
    const [before, started] = [files(), process.memoryUsage.rss()];
    const most = await round(10000);
    console.log(JSON.stringify({ grown: files() - before, most: most - before, rss: process.memoryUsage.rss() - started }));`;
  const ended = await run(script, [file]);
  assert.equal(ended.code, 0, ended.stderr);
  const { grown, most, rss } = JSON.parse(ended.stdout);
  assert.ok(grown <= 2 && most <= 16, `files: ${ended.stdout}`);
  assert.ok(rss < 48 << 20, `memory: ${ended.stdout}`);
});

test("sessions that are never closed are let go of in the end", { skip: onBun && "when Bun collects is its own affair" }, async () => {
  const file = join(tempDir(), "s.jsonl");
  const session = await SessionManager.open(file);
  session.appendMessage(assistant("a"));
  await session.close();
  const script = `${head}
    import { readdirSync } from "node:fs";
    const files = () => readdirSync("/proc/self/fd").length;
    const before = files();
    for (let number = 0; number < 200; number++) await SessionManager.open(file);
    for (let round = 0; round < 20; round++) { gc(); await new Promise(done => setTimeout(done, 10)); }
    console.log(files() - before);`;
  const ended = await run(script, [file]);
  assert.ok(Number(ended.stdout) <= 4, `${ended.stdout} ${ended.stderr}`);
});

test("CommonJS and ES modules are one library", async () => {
  const required = createRequire(import.meta.url)("@xcsh/session");
  const imported = await import("@xcsh/session");
  for (const name of Object.keys(required)) assert.equal(imported[name], required[name], name);
  assert.ok(SessionManager.inMemory() instanceof required.SessionManager);
  assert.equal(readdirSync(join(root, "dist")).some(name => name.endsWith(".d.mts")), true);
  assert.ok(readFileSync(join(root, "dist", "manager.d.ts"), "utf8").includes("appendMessage"));
  configure({});
  void Session;
});
