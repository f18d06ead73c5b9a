// Storages, blobs, lists of sessions and prompt history.
import assert from "node:assert/strict";
import fsp from "node:fs/promises";
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";
import {
  BlobStore,
  configure,
  FileSessionStorage,
  findMostRecentSession,
  gcBlobs,
  getRecentSessions,
  HistoryStorage,
  loadEntriesFromFile,
  MemorySessionStorage,
  RecentSessionInfo,
  resolveResumableSession,
  SessionManager,
} from "@xcsh/session";
import { assistant, tempDir, user } from "./support.mjs";

for (const [kind, make] of [["files", () => [new FileSessionStorage(), tempDir()]], ["memory", () => [new MemorySessionStorage(), "/m"]]]) {
  test(`a storage: ${kind}`, async () => {
    const [storage, dir] = make();
    const path = join(dir, "deep", "a.jsonl");
    storage.ensureDirSync(dirname(path));
    assert.equal(storage.existsSync(path), false);
    assert.equal(await storage.exists(path), false);
    for (const missing of [() => storage.statSync(path)]) assert.throws(missing, { code: "ENOENT", path });
    await assert.rejects(storage.readText(path), error => error.code === "ENOENT" && error.message.startsWith("ENOENT: "));
    await assert.rejects(storage.unlink(path), { code: "ENOENT" });
    storage.writeTextSync(path, "one é\n");
    assert.equal(await storage.readText(path), "one é\n");
    assert.equal(await storage.readTextPrefix(path, 3), "one");
    await storage.writeText(path, "two\n");
    const stat = storage.statSync(path);
    assert.equal(stat.size, 4);
    assert.ok(Math.abs(stat.mtimeMs - Date.now()) < 60_000 && stat.mtime instanceof Date);
    storage.writeTextSync(join(dirname(path), "b.txt"), "");
    assert.deepEqual(storage.listFilesSync(dirname(path), "*.jsonl"), [path]);
    assert.equal(storage.listFilesSync(dirname(path)).length, 2);
    assert.deepEqual(storage.listFilesSync(join(dir, "none"), "*"), []);

    const writer = await storage.openWriter(path, { flags: "a" });
    await Promise.all([writer.writeLine("three"), writer.writeLine("four\n"), writer.flush(), writer.fsync()]);
    await writer.close();
    assert.equal(writer.getError(), undefined);
    assert.equal(await storage.readText(path), "two\nthree\nfour\n");
    const anew = await storage.openWriter(path, { flags: "w" });
    await anew.writeLine("five");
    await anew.close();
    assert.equal(await storage.readText(path), "five\n");

    const next = join(dirname(path), "c.jsonl");
    await storage.rename(path, next);
    assert.deepEqual([storage.existsSync(path), storage.existsSync(next)], [false, true]);
    storage.ensureDirSync(next.slice(0, -6));
    storage.writeTextSync(join(next.slice(0, -6), "0.bash.log"), "out");
    await storage.deleteSessionWithArtifacts(next);
    assert.deepEqual([storage.existsSync(next), storage.existsSync(next.slice(0, -6))], [false, false]);
    await assert.rejects(storage.deleteSessionWithArtifacts(next), { code: "ENOENT" });
  });
}

test("artifacts that cannot be removed are told apart from a session that cannot", async () => {
  const [storage, dir] = [new FileSessionStorage(), tempDir()];
  const file = join(dir, "s.jsonl");
  const asked = [];
  const rm = fsp.rm;
  fsp.rm = async (path, options) => {
    asked.push([path, options]);
    throw Object.assign(new Error("EBUSY: busy"), { code: "EBUSY" });
  };
  try {
    writeFileSync(file, "");
    await assert.rejects(storage.deleteSessionWithArtifacts(file), {
      code: "EBUSY",
      message: `Session file deleted but failed to remove artifacts directory ${join(dir, "s")}: EBUSY: busy`,
    });
  } finally {
    fsp.rm = rm;
  }
  assert.deepEqual(asked, [[join(dir, "s"), { recursive: true, force: true }]]);
  assert.ok(!existsSync(file));
});

test("sessions in memory work like sessions in files", async () => {
  const storage = new MemorySessionStorage();
  const session = SessionManager.create("/srv/mem", "/sessions", storage);
  session.appendMessage(user("a question"));
  session.appendMessage(assistant("a"));
  await session.close();
  assert.ok(!existsSync(session.getSessionFile()));
  const again = await SessionManager.open(session.getSessionFile(), undefined, storage);
  assert.equal(again.getEntries().length, 2);
  assert.deepEqual((await SessionManager.list("/srv/mem", "/sessions", storage)).map(info => info.firstMessage), ["a question"]);
  assert.equal((await loadEntriesFromFile(session.getSessionFile(), storage)).length, 3);
  assert.equal(await findMostRecentSession("/sessions", storage), session.getSessionFile());
  await again.close();
});

test("blobs", async () => {
  const dir = join(tempDir(), "blobs");
  const store = new BlobStore(dir);
  const data = Buffer.from([0, 1, 2, 255]);
  const { hash, path, ref } = await store.put(data);
  assert.match(hash, /^[0-9a-f]{64}$/);
  assert.deepEqual([path, ref], [join(dir, hash), `blob:sha256:${hash}`]);
  assert.deepEqual(await store.get(hash), data);
  assert.equal(await store.has(hash), true);
  for (const other of ["0".repeat(64), "../../etc/passwd", "", hash.toUpperCase()]) {
    assert.deepEqual([await store.get(other), await store.has(other)], [null, false], other);
  }
  writeFileSync(path, "other bytes");
  await assert.rejects(store.get(hash), { code: "Blob" });
  await store.put(data);
  assert.deepEqual(await store.get(hash), data);
  assert.equal((await store.put(new Uint8Array(data.buffer, data.byteOffset, 4))).hash, hash);
});

test("images go to blobs and come back", async () => {
  const dir = tempDir();
  const session = SessionManager.create("/srv/images", dir);
  const data = Buffer.alloc(3000, 7).toString("base64");
  session.appendMessage(user([{ type: "image", data, mimeType: "image/png" }]));
  session.appendMessage(assistant("seen"));
  await session.close();
  assert.match(readFileSync(session.getSessionFile(), "utf8"), /"data":"blob:sha256:[0-9a-f]{64}"/);
  const again = await SessionManager.open(session.getSessionFile());
  assert.equal(again.buildSessionContext().messages[0].content[0].data, data);
  assert.equal(again.getEntries()[0].message.content[0].data, data);
  const before = readFileSync(session.getSessionFile(), "utf8");
  await again.rewriteEntries();
  assert.equal(readFileSync(session.getSessionFile(), "utf8"), before);
  await again.close();
});

test("blobs that nothing mentions are collected when told to", async () => {
  const agentDir = tempDir();
  const store = new BlobStore(join(agentDir, "blobs"));
  const { hash, path } = await store.put(Buffer.from("nobody's"));
  // Where sessions cannot be found at all, nobody knows what they mention.
  await assert.rejects(gcBlobs({ agentDir, minAgeMs: 0 }), { code: "NotFound" });
  mkdirSync(join(agentDir, "sessions"));
  const dry = await gcBlobs({ agentDir, minAgeMs: 0 });
  assert.deepEqual([dry.unreferenced.map(blob => blob.hash), dry.deleted, dry.bytes], [[hash], 0, 8]);
  assert.equal((await gcBlobs({ agentDir, dryRun: false })).keptYoung, 1);
  assert.ok(existsSync(path));
  const done = await gcBlobs({ agentDir, dryRun: false, minAgeMs: 0 });
  assert.deepEqual([done.deleted, done.failed, existsSync(path)], [1, [], false]);
});

test("finding sessions", async () => {
  const [dir, cwd] = [tempDir(), "/srv/find"];
  const files = [];
  for (const [place, prompt] of ["the first prompt of the day, which is too long to be a name", "two\nlines", "three"].entries()) {
    const session = SessionManager.create(cwd, dir);
    session.appendMessage(user(prompt));
    session.appendMessage(assistant(`answer ${place}`));
    if (place === 2) await session.setSessionName("A title", "user");
    if (place === 1) session.appendCompaction("s", "recap", session.getLeafId(), 1);
    await session.close();
    const time = Date.now() / 1000 - (3 - place) * 3600;
    utimesSync(session.getSessionFile(), time, time);
    files.unshift(session.getSessionFile());
  }
  writeFileSync(join(dir, "broken.jsonl"), "no session\n");
  assert.equal(await findMostRecentSession(dir), files[0]);
  assert.equal(await findMostRecentSession(join(dir, "none")), null);

  const recent = await getRecentSessions(dir, 10);
  assert.ok(recent.every(info => info instanceof RecentSessionInfo));
  assert.deepEqual(recent.map(info => info.path), files);
  assert.deepEqual(recent.map(info => info.fullName), ["A title", "two", "the first prompt of the day, which is too long to be a name"]);
  assert.ok(recent[2].name.length <= 40 && recent[2].name.endsWith("…"));
  assert.deepEqual(recent.map(info => info.timeAgo), ["1h ago", "2h ago", "3h ago"]);
  assert.ok(Math.abs(recent[0].mtime - (Date.now() - 3_600_000)) < 60_000);
  assert.deepEqual(recent.unreadable.map(({ path, code }) => [basename(path), code]), [["broken.jsonl", "NotASession"]]);
  assert.equal((await getRecentSessions(dir, 1)).length, 1);

  const list = await SessionManager.list(cwd, dir);
  assert.deepEqual(list.map(info => info.path), files);
  assert.deepEqual(list.map(info => info.title), ["A title", "recap", undefined]);
  assert.deepEqual([list[0].messageCount, list[0].firstMessage, list[0].cwd], [2, "three", cwd]);
  assert.ok(list[0].created instanceof Date && list[0].modified instanceof Date);
  assert.equal(list[0].allMessagesText, "three answer 2");
  assert.equal({ ...list[0] }.allMessagesText, "three answer 2");
  assert.equal(list.unreadable.length, 1);

  const id = recent[1].id;
  const found = await resolveResumableSession(id.slice(0, 14).toUpperCase(), cwd, dir);
  assert.ok(found.session.path === files[1] || found.others.includes(files[1]));
  assert.equal((await resolveResumableSession(id, cwd, dir)).session.path, files[1]);
  assert.equal((await resolveResumableSession(id, cwd, dir)).scope, "local");
  assert.equal(await resolveResumableSession("zzzz", cwd, dir), undefined);
  await assert.rejects(resolveResumableSession(" ", cwd, dir), { code: "InvalidArgument" });

  const session = await SessionManager.continueRecent(cwd, dir);
  assert.equal(session.getSessionFile(), files[0]);
  await session.close();
  const made = await SessionManager.continueRecent("/srv/nothing-yet", join(dir, "sub"));
  assert.deepEqual(made.getEntries(), []);
  await made.close();
});

test("all sessions, by the agent's directories", async () => {
  const agent = tempDir();
  const options = { agentDir: agent };
  for (const cwd of ["/srv/one", "/srv/two"]) {
    const session = SessionManager.create(cwd, undefined, undefined, options);
    session.appendMessage(user(cwd));
    session.appendMessage(assistant("a"));
    await session.close();
  }
  const all = await SessionManager.listAll(undefined, options);
  assert.deepEqual(all.map(info => info.cwd).sort(), ["/srv/one", "/srv/two"]);
  assert.equal((await SessionManager.list("/srv/one", undefined, undefined, options)).length, 1);
  const found = await resolveResumableSession(all[0].id, "/srv/three", undefined, undefined, options);
  assert.deepEqual([found.session.path, found.scope], [all[0].path, "global"]);
});

test("prompt history", async () => {
  const path = join(tempDir(), "sub", "history.db");
  const history = HistoryStorage.open(path);
  assert.equal(HistoryStorage.open(path), history);
  assert.equal(history.path, path);
  await history.add("  fix the parser  ", "/srv/p");
  await history.add("fix the parser");
  await history.add("");
  await history.add("日本語のプロンプト");
  await history.add("C++ foo-bar \"open quote");
  const recent = history.getRecent(10);
  assert.deepEqual(recent.map(entry => entry.prompt), ["C++ foo-bar \"open quote", "日本語のプロンプト", "fix the parser"]);
  assert.deepEqual([recent[2].cwd, "cwd" in recent[0]], ["/srv/p", false]);
  assert.ok(Math.abs(recent[0].created_at - Date.now() / 1000) < 60 && Number.isInteger(recent[0].id));
  assert.deepEqual(history.search("par fix", 10).map(entry => entry.prompt), ["fix the parser"]);
  assert.equal(history.search("本語", 10).length, 1);
  for (const query of ["foo-bar", "C++", "\"", "", "AND OR (", "*"]) assert.ok(Array.isArray(history.search(query, 10)), query);
  assert.equal(history.getRecent(1).length, 1);
  for (const none of [0, -1, NaN, undefined]) assert.deepEqual(history.getRecent(none), []);
  HistoryStorage.resetInstance();
  const logged = [];
  configure({ logger: { warn: text => logged.push(text), error: text => logged.push(text) } });
  try {
    assert.deepEqual([history.getRecent(10), history.search("fix", 10)], [[], []]);
    await assert.rejects(history.add("too late"), { code: "Closed" });
  } finally {
    configure({ logger: undefined });
  }
  assert.equal(logged.length, 3);
  const again = HistoryStorage.open(path);
  assert.notEqual(again, history);
  assert.equal(again.getRecent(10).length, 3);
  await again.close();
  mkdirSync(join(dirname(path), "dir.db"));
  assert.throws(() => HistoryStorage.open(join(dirname(path), "dir.db")), error => typeof error.code === "string");
});
