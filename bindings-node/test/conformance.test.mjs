// The conformance cases (tests/conformance) through the public API. See the README there.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { buildSessionContext, configure, loadEntriesFromFile, MemorySessionStorage, Session, SessionManager } from "@xcsh/session";
import { cases, plain, tempDir } from "./support.mjs";

// Ids as the cases show them: fresh ids of migrated files as `#<index of the entry>`.
function shownIds(entries, fresh) {
  const places = new Map(entries.map((entry, place) => [entry.id, place]));
  return id => (id === null || id === undefined ? null : fresh ? `#${places.get(id)}` : id);
}

function shownTree(nodes, id) {
  const shown = [];
  const stack = nodes.map(node => [node, shown]).reverse();
  while (stack.length > 0) {
    const [node, into] = stack.pop();
    const children = [];
    into.push([id(node.entry.id), children]);
    stack.push(...node.children.map(child => [child, children]).reverse());
  }
  return shown;
}

async function openCase(dir, testCase) {
  const file = join(dir, "session.jsonl");
  writeFileSync(file, testCase.file);
  const records = await loadEntriesFromFile(file);
  assert.equal(records.length > 0, testCase.loads, "loads");
  return file;
}

function checkContext(session, entries, fresh, expected) {
  const given = "leaf" in expected;
  const leaf = given && expected.leaf?.startsWith("#") && fresh ? entries[expected.leaf.slice(1)].id : expected.leaf;
  const context = given ? buildSessionContext(entries, leaf) : buildSessionContext(entries);
  if (expected.expect) {
    assert.deepEqual(plain(context), expected.expect, `context of ${leaf}`);
    configure({ profile: "agent" });
    const latest = given ? buildSessionContext(entries, leaf) : buildSessionContext(entries);
    configure({ profile: "document" });
    assert.deepEqual(latest.models, expected.modelsLatest ?? expected.expect.models, `latest models of ${leaf}`);
  }
  if (expected.rawMessages) {
    // The text is JSON's business here; what the messages say must not change.
    assert.deepEqual(plain(context.messages), expected.rawMessages.map(text => plain(JSON.parse(text))));
  }
}

function checkManagerContext(manager, entries, expected, leaf) {
  if (leaf === null) manager.resetLeaf();
  else manager.branch(leaf);
  const context = manager.buildSessionContext();
  if (expected.expect) assert.deepEqual(plain(context), expected.expect, `manager's context of ${leaf}`);
  const held = new Set(entries.filter(entry => entry.type === "message").map(entry => entry.message));
  for (const message of context.messages) {
    const made = ["custom", "branchSummary", "compactionSummary"].includes(message?.role);
    assert.ok(made || held.has(message), "messages are the entries' own objects");
  }
}

for (const testCase of cases("load.json")) {
  test(`load: ${testCase.name}`, async () => {
    const file = await openCase(tempDir(), testCase);
    if (!testCase.loads) {
      await assert.rejects(Session.read(file), { code: "NotASession" });
      return;
    }
    const before = statSync(file);
    const snapshot = await Session.read(file);
    assert.deepEqual(plain(snapshot.getHeader()), testCase.header);
    assert.equal(readFileSync(file, "utf8"), testCase.file, "a snapshot changes nothing");
    assert.equal(statSync(file).mtimeMs, before.mtimeMs);

    const manager = await SessionManager.open(file);
    assert.equal(readFileSync(file, "utf8") !== testCase.file, testCase.migrated, "rewritten where it was migrated");
    for (const session of [snapshot, manager]) {
      const entries = session.getEntries();
      const fresh = testCase.entries[0]?.id?.startsWith("#") ?? false;
      const id = shownIds(entries, fresh);
      const listed = entries.map(entry => ({ type: entry.type, id: id(entry.id), parentId: id(entry.parentId) }));
      assert.deepEqual(listed, testCase.entries);
      for (const [place, first] of testCase.firstKept ?? []) {
        const kept = entries[place].firstKeptEntryId ?? null;
        assert.equal(fresh ? id(kept) : kept, first);
      }
      assert.equal(id(session.getLeafId()), testCase.leaf);
      assert.deepEqual(session.getBranch().map(entry => id(entry.id)), testCase.branch);
      assert.deepEqual(shownTree(session.getTree(), id), testCase.tree);
      assert.deepEqual(session.getUsageStatistics(), testCase.usage);
      for (const entry of entries) assert.equal(session.getLabel(entry.id), testCase.labels[entry.id]);
      for (const expected of testCase.contexts) checkContext(session, entries, fresh, expected);
    }
    const entries = manager.getEntries();
    for (const expected of testCase.contexts) {
      const fresh = testCase.entries[0]?.id?.startsWith("#") ?? false;
      const leaf = fresh && expected.leaf?.startsWith("#") ? entries[expected.leaf.slice(1)].id : expected.leaf;
      if (leaf === null || (leaf !== undefined && manager.getEntry(leaf))) checkManagerContext(manager, entries, expected, leaf);
    }
    await manager.close();
    snapshot.close();
  });
}

function textOf(message) {
  const { content } = message;
  return Array.isArray(content) ? (content.find(block => block.type === "text")?.text ?? null) : (content ?? null);
}

for (const testCase of cases("robust.json")) {
  test(`robust: ${testCase.name}`, async () => {
    const file = await openCase(tempDir(), testCase);
    const session = await Session.read(file);
    const entries = session.getEntries();
    const messages = session.buildSessionContext().messages;
    const found = {
      ids: () => entries.map(entry => entry.id ?? null),
      leaf: () => session.getLeafId(),
      branch: () => session.getBranch().map(entry => entry.id),
      tree: () => shownTree(session.getTree(), id => id ?? null),
      usage: () => session.getUsageStatistics(),
      title: () => session.getSessionName() ?? null,
      texts: () => messages.map(textOf),
    };
    for (const [name, look] of Object.entries(found)) {
      if (name in testCase) assert.deepEqual(look(), testCase[name], name);
    }
    if (testCase.contains) {
      assert.ok(messages.some(message => JSON.stringify(message).includes(testCase.contains)), testCase.contains);
    }
    const report = await session.diagnostics();
    for (const [name, expected] of Object.entries(testCase.diagnostics ?? {})) {
      const told = name === "malformedLines" ? report[name].map(({ line }) => line) : report[name].length;
      assert.deepEqual(told, expected, `diagnostics ${name}`);
    }
    session.close();
  });
}

// Builds the strings that the cases only describe, and puts ids of earlier operations in.
function expand(value, returned) {
  if (typeof value === "string" && /^\$\d+$/.test(value)) return returned[value.slice(1)];
  if (Array.isArray(value)) return value.map(item => expand(item, returned));
  if (typeof value !== "object" || value === null) return value;
  if (value.$repeat) return value.$repeat[0].repeat(value.$repeat[1]);
  if ("$base64" in value) {
    const count = value.$base64;
    return Buffer.from(Uint8Array.from({ length: count }, (_, place) => (7 * place + count) % 256)).toString("base64");
  }
  if (value.$concat) return expand(value.$concat, returned).join("");
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expand(item, returned)]));
}

// A session file as the cases show it.
function shownFile(text, oldId, oldFile) {
  const records = text.split("\n").filter(Boolean).map(line => JSON.parse(line));
  const ids = new Map(records.slice(1).map((entry, place) => [entry.id, `#${place}`]));
  const shown = value => {
    if (typeof value === "string") {
      if (value.length <= 2000) return ids.get(value) ?? value;
      return { $utf16: value.length, $sha256: createHash("sha256").update(value).digest("hex") };
    }
    if (Array.isArray(value)) return value.map(shown);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, shown(item)]));
  };
  const line = record => {
    const header = record.type === "session";
    const named = {
      id: () => (header ? "<session>" : undefined),
      cwd: () => (header ? "<cwd>" : undefined),
      timestamp: () => "<ts>",
      parentSession: () => (header ? { [oldId]: "<old id>", [oldFile]: "<old file>" }[record.parentSession] : undefined),
    };
    const show = ([name, value]) => [name, named[name]?.() ?? shown(value)];
    return JSON.stringify(Object.fromEntries(Object.entries(record).map(show)));
  };
  return records.map(line);
}

async function checkWrite(testCase, storage, dir) {
  const manager = SessionManager.create("/srv/pi", dir, storage);
  const [oldFile, oldId] = [manager.getSessionFile(), manager.getSessionId()];
  const returned = [];
  for (const [name, ...args] of testCase.ops) {
    returned.push(await manager[name](...expand(args, returned)));
    await manager.flush();
  }
  const file = manager.getSessionFile();
  const read = async path => {
    if (storage ? !storage.existsSync(path) : !existsSync(path)) return null;
    return shownFile(storage ? await storage.readText(path) : readFileSync(path, "utf8"), oldId, oldFile);
  };
  const normal = expected => expected && expected.map(line => JSON.stringify(JSON.parse(line)));
  assert.deepEqual(await read(file), normal(testCase.file));
  if (testCase.oldFile) {
    assert.notEqual(file, oldFile);
    assert.deepEqual(await read(oldFile), normal(testCase.oldFile));
  }
  if (testCase.returns) {
    assert.deepEqual(returned.map(value => (typeof value === "boolean" ? value : null)), testCase.returns);
  }
  if (testCase.file) {
    // What the objects say is what a new look at the file says, but for what is shortened there.
    const [held, again] = [manager.getEntries(), await reread(file, storage)];
    assert.deepEqual(held.map(entry => entry.id), again.map(entry => entry.id));
    const shortened = line => /blob:sha256|\$utf16/.test(line) || testCase.name === "transient-keys-removed";
    if (!testCase.file.some(shortened)) assert.equal(JSON.stringify(held), JSON.stringify(again));
  }
  await manager.close();
}

async function reread(file, storage) {
  const session = await Session.read(file, storage);
  const entries = session.getEntries();
  session.close();
  return entries;
}

for (const testCase of cases("write.json")) {
  test(`write: ${testCase.name}`, () => checkWrite(testCase, undefined, tempDir()));
  test(`write in memory: ${testCase.name}`, () => checkWrite(testCase, new MemorySessionStorage(), "/sessions"));
}
