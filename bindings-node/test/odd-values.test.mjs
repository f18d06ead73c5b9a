// Values at the edges: what JSON.stringify would do with them, or its error with the session unchanged.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { migrateSessionEntries, parseSessionEntries, Session, SessionManager } from "@xcsh/session";
import { assistant, cases, onBun, tempDir, user } from "./support.mjs";

// A session that has its file.
function begun() {
  const session = SessionManager.create("/srv/odd", tempDir());
  session.appendMessage(assistant("a"));
  return session;
}

class Point {
  constructor(x) {
    this.x = x;
  }
  toJSON() {
    return { point: this.x };
  }
}

test("texts in any script come back as they were, however much of them is beyond ASCII", async () => {
  const scripts = ["plain", "é", "→ naïve", "日本語の文章", "\u{1f600}", "\u07ff\u0800\uffff\u{10000}\u{10ffff}", "\x7f\x80"];
  const lines = ['{"type":"session","version":3,"id":"s"}'];
  for (const script of scripts) {
    for (let before = 0; before < 70; before++) {
      const text = "x".repeat(before) + script + "y".repeat((before * before) % 200) + script.repeat(before % 5);
      lines.push(JSON.stringify({ type: "custom", id: `${lines.length}`, parentId: null, customType: script, data: { [text]: text } }));
    }
  }
  for (const kept of [lines, ...scripts.map(script => [lines[0], ...lines.filter(line => line.includes(script))])]) {
    const file = join(tempDir(), "s.jsonl");
    writeFileSync(file, kept.map(line => `${line}\n`).join(""));
    const session = await Session.read(file);
    assert.deepEqual(session.getEntries(), kept.slice(1).map(line => JSON.parse(line)));
    session.close();
  }
});

test("values that JSON can say come back as they were", async () => {
  const session = begun();
  const values = {
    "lone surrogates": "\ud83d|\ude00|x\ud83d",
    pairs: "\u{1f600}",
    "line separators": "\u2028\u2029\u0085",
    "a line end": "a\nb\r\n",
    nul: "\0|\u0001",
    quotes: "\"\\/",
    "a key\ud83d": { "": 1, "\ud83d": 2 },
    numbers: [0, -0, 1e300, 5e-324, 0.1, Number.MAX_SAFE_INTEGER],
    nested: [[[[{}]]]],
    "1 MB": "é".repeat(1 << 19) + "x".repeat(1 << 10),
    __proto__: null,
  };
  Object.defineProperty(values, "__proto__", { value: { own: 1 }, enumerable: true });
  const message = user(values["lone surrogates"]);
  message.values = values;
  session.appendMessage(message);
  session.appendCustomEntry("odd\ud83d", values);
  session.appendCompaction("sum\ud83d", "short\ude00", "first\ud83d", 1, values);
  session.appendLabelChange(session.getEntries()[0].id, "label\ud83d");
  session.appendModeChange("mode\u2028", values);
  session.branchWithSummary(session.getEntries()[0].id, "left\ud83d\u2028", values);
  await session.flush();
  const seen = await Session.read(session.getSessionFile());
  // The file has long strings cut; memory has them whole.
  const cut = text => text.replaceAll(JSON.stringify(values["1 MB"]), '"cut"');
  const uncut = entries => cut(JSON.stringify(entries)).replace(/"é{400000,}\\n\\n\[Session persistence[^"]*"/g, '"cut"');
  assert.equal(uncut(seen.getEntries()), cut(JSON.stringify(session.getEntries())));
  assert.equal(seen.getEntries()[1].message.content, "\ud83d|\ude00|x\ud83d");
  assert.equal(seen.getEntries()[3].summary, "sum\ud83d");
  assert.equal(session.getEntries()[2].data, values);
  assert.ok(!readFileSync(session.getSessionFile(), "utf8").includes("\ufffd"), "nothing was replaced");
  await session.rewriteEntries();
  seen.close();
  await session.close();
});

test("a string of 1 MB in ASCII and an array of 100,000 items", async () => {
  const session = begun();
  const text = "x".repeat(400_000);
  const items = Array.from({ length: 100_000 }, (_, place) => place);
  session.appendMessage(user([{ type: "text", text }, { type: "text", text: `${text}${text}${text}` }, { items }]));
  const [first, second] = session.buildSessionContext().messages.at(-1).content;
  assert.equal(first.text.length + second.text.length, 1_600_000);
  await session.close();
  const seen = await Session.read(session.getSessionFile());
  const content = seen.getEntries()[1].message.content;
  assert.equal(content[0].text, text);
  assert.equal(content[1].text.length, 500_000);
  assert.deepEqual(content[2].items, items);
  seen.close();
});

test("what JSON.stringify leaves out or changes is left out and changed", async () => {
  const session = begun();
  const message = user("u");
  Object.assign(message, {
    left: undefined,
    fn() {},
    [Symbol("s")]: 1,
    list: [undefined, () => {}, Symbol("s"), NaN, Infinity],
    point: new Point(3),
    date: new Date(0),
    map: new Map([[1, 2]]),
  });
  const id = session.appendMessage(message);
  assert.equal(session.getEntry(id).message, message);
  session.appendModelChange("p/m", undefined);
  session.appendCustomEntry("e");
  session.appendThinkingLevelChange();
  await session.flush();
  const seen = await Session.read(session.getSessionFile());
  const [, said, model, custom, level] = seen.getEntries();
  assert.deepEqual(said.message, {
    role: "user",
    content: "u",
    timestamp: 1,
    list: [null, null, null, null, null],
    point: { point: 3 },
    date: "1970-01-01T00:00:00.000Z",
    map: {},
  });
  assert.ok(!("role" in model) && !("data" in custom));
  assert.equal(level.thinkingLevel, null);
  seen.close();
  // The objects differ from their lines in nothing that could be written: a rewrite changes no byte.
  const before = readFileSync(session.getSessionFile(), "utf8");
  await session.rewriteEntries();
  assert.equal(readFileSync(session.getSessionFile(), "utf8"), before);
  await session.close();
});

test("what JSON.stringify refuses is refused, and the session is unchanged", async () => {
  const session = begun();
  const circle = user("u");
  circle.self = circle;
  const throwing = { toJSON: () => { throw new RangeError("no"); } };
  const [count, leaf] = [session.getEntries().length, session.getLeafId()];
  const file = readFileSync(session.getSessionFile(), "utf8");
  for (const [refused, error] of [
    [() => session.appendMessage({ role: "user", content: 1n }), TypeError],
    [() => session.appendMessage(circle), TypeError],
    [() => session.appendCustomEntry("c", { big: 1n }), TypeError],
    [() => session.appendCustomEntry("c", circle), TypeError],
    [() => session.appendCompaction("s", "t", "x", 1, throwing), RangeError],
    [() => session.branchWithSummary(null, "s", throwing), RangeError],
    [() => session.appendCustomMessageEntry("c", circle, true), TypeError],
    [() => session.appendMessage(undefined), { code: "InvalidArgument" }],
    [() => session.appendMessage(() => {}), { code: "InvalidArgument" }],
    [() => session.appendMessage(null), { code: "InvalidJson" }],
    [() => session.appendMessage("text"), { code: "InvalidJson" }],
    [() => session.appendMessage([]), { code: "InvalidJson" }],
    [() => session.branch(undefined), { code: "InvalidArgument" }],
    [() => session.branch(7), { code: "InvalidArgument" }],
    [() => session.getEntry({}), { code: "InvalidArgument" }],
    [() => session.createBranchedSession(null), { code: "InvalidArgument" }],
  ]) {
    assert.throws(refused, error, String(refused));
  }
  await assert.rejects(session.setSessionFile(1), { code: "InvalidArgument" });
  await assert.rejects(session.setSessionName("n", "robot"), { code: "InvalidArgument" });
  await assert.rejects(SessionManager.open(), { code: "InvalidArgument" });
  await assert.rejects(Session.read(null), { code: "InvalidArgument" });
  assert.throws(() => SessionManager.create("/x", undefined, {}), { code: "InvalidArgument" });
  assert.deepEqual([session.getEntries().length, session.getLeafId()], [count, leaf]);
  await session.flush();
  assert.equal(readFileSync(session.getSessionFile(), "utf8"), file);
  // An edit that cannot be said refuses the whole rewrite.
  session.getEntries()[0].message.big = 1n;
  await assert.rejects(session.rewriteEntries(), TypeError);
  assert.equal(readFileSync(session.getSessionFile(), "utf8"), file);
  delete session.getEntries()[0].message.big;
  session.getEntries()[0].type = "session";
  await assert.rejects(session.rewriteEntries(), { code: "InvalidJson" });
  assert.equal(readFileSync(session.getSessionFile(), "utf8"), file);
  await session.close();
});

test("deep nesting", async () => {
  const file = join(tempDir(), "deep.jsonl");
  const deep = "[".repeat(10_000) + "]".repeat(10_000);
  const header = '{"type":"session","version":3,"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}';
  const base = '"parentId":null,"timestamp":"2026-02-16T10:20:31.000Z"';
  writeFileSync(file, `${header}\n{"type":"message","id":"a",${base},"message":{"role":"user","content":${deep}}}\n`);
  const session = await SessionManager.open(file);
  let [depth, at] = [0, session.getEntries()[0].message.content];
  while (at) [depth, at] = [depth + 1, at[0]];
  assert.equal(depth, 10_000);
  assert.equal(session.buildSessionContext().messages.length, 1);
  session.appendMessage(assistant("after it"));
  await session.rewriteEntries();
  session.getEntries()[0].message.edited = [undefined, new Point(1)];
  session.getEntries()[0].message.left = undefined;
  await session.rewriteEntries();
  assert.ok(readFileSync(file, "utf8").includes(`"content":${deep},"edited":[null,{"point":1}]}}\n`));
  if (!onBun) {
    // Bun's own JSON.stringify takes seconds to see a circle below so many arrays.
    session.getEntries()[0].message.edited = session.getEntries()[0];
    await assert.rejects(session.rewriteEntries(), TypeError);
  }
  await session.close();
  assert.equal(JSON.stringify(parseSessionEntries(readFileSync(file, "utf8")).map(entry => entry.type)), '["session","message","message"]');
});

test("migration changes the objects of the array", () => {
  let migrated = 0;
  for (const testCase of cases("load.json").filter(({ loads }) => loads)) {
    const records = parseSessionEntries(testCase.file);
    const objects = [...records];
    const messages = records.map(record => record.message);
    const texts = records.map(record => JSON.stringify(record));
    migrateSessionEntries(records);
    assert.ok(records.every((record, place) => record === objects[place] && record.message === messages[place]));
    assert.equal(records[0].version, testCase.migrated ? 3 : JSON.parse(texts[0]).version);
    const shown = records.slice(1).map(({ type, id, parentId }) => ({ type, id: id ?? null, parentId: parentId ?? null }));
    if (!testCase.migrated) assert.deepEqual(records.map(record => JSON.stringify(record)), texts);
    else if (!testCase.entries[0]?.id?.startsWith("#")) assert.deepEqual(shown, testCase.entries);
    else assert.equal(new Set(shown.map(({ id }) => id)).size, shown.length);
    migrated += Number(testCase.migrated);
  }
  assert.ok(migrated > 3);
});
