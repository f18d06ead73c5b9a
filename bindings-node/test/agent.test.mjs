// Used as the agent uses it: turns, pruning in place, compaction, branches, names, forks, moves, resuming. After each
// step what memory holds and what the file says are compared.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { buildSessionContext, configure, getLatestCompactionEntry, Session, SessionManager } from "@xcsh/session";
import { assistant, lines, plain, tempDir, user } from "./support.mjs";

function toolResult(text, more = {}) {
  const content = [{ type: "text", text }];
  return { role: "toolResult", toolCallId: "c1", toolName: "read", content, isError: false, timestamp: 3, ...more };
}

// One turn of the loop: what was asked, a call of a tool, what it gave, an answer.
function turn(session, number) {
  const call = { type: "toolCall", id: "c1", name: "read", arguments: { path: `f${number}.ts` } };
  return [
    session.appendMessage(user(`question ${number}`)),
    session.appendMessage(assistant("let me look", { content: [call], usage: usage(number) })),
    session.appendMessage(toolResult(`output ${number} `.repeat(50))),
    session.appendMessage(assistant(`answer ${number}`, { usage: usage(number) })),
  ];
}

function usage(input) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0.25 };
  return { input, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: input + 1, cost };
}

// The manager and a fresh look at its file say the same.
async function agree(session) {
  await session.flush();
  const seen = await Session.read(session.getSessionFile());
  assert.equal(JSON.stringify(seen.getEntries()), JSON.stringify(session.getEntries()));
  assert.deepEqual(seen.getHeader(), session.getHeader());
  assert.equal(seen.getSessionId(), session.getSessionId());
  assert.equal(seen.getSessionName(), session.getSessionName());
  assert.deepEqual(seen.getUsageStatistics(), session.getUsageStatistics());
  assert.equal(JSON.stringify(seen.getTree()), JSON.stringify(session.getTree()));
  const mine = plain(session.buildSessionContext());
  assert.deepEqual(plain(buildSessionContext(session.getEntries(), session.getLeafId())), mine);
  assert.deepEqual(plain(buildSessionContext(seen.getEntries(), session.getLeafId())), mine);
  const report = await seen.diagnostics();
  for (const name of Object.keys(report)) assert.deepEqual(report[name], [], name);
  seen.close();
}

test("a day of the agent", async () => {
  const [dir, cwd] = [tempDir(), "/srv/day"];
  const session = SessionManager.create(cwd, dir);
  assert.equal(session.getCwd(), cwd);
  assert.equal(session.getSessionDir(), dir);
  assert.ok(session.isPersisted());
  assert.equal(session.getLeafId(), null);
  assert.equal(session.getLeafEntry(), undefined);
  assert.deepEqual(session.buildSessionContext(), {
    messages: [],
    thinkingLevel: "off",
    models: {},
    injectedTtsrRules: [],
    selectedMCPToolNames: [],
    hasPersistedMCPToolSelection: false,
    mode: "none",
  });

  // Nothing is written before the first answer, everything with it.
  const first = session.getSessionFile();
  session.appendModelChange("anthropic/claude", "default");
  session.appendThinkingLevelChange("high");
  const asked = user("question 0");
  const askedId = session.appendMessage(asked);
  assert.ok(!existsSync(first));
  session.appendMessage(assistant("answer 0", { usage: usage(5) }));
  assert.equal(lines(first).length, 5);
  assert.equal(session.getEntry(askedId).message, asked, "the object that was given");
  await agree(session);

  // Turns.
  const ids = [1, 2, 3].flatMap(number => turn(session, number));
  assert.equal(session.getLeafId(), ids.at(-1));
  assert.equal(session.getLeafEntry(), session.getEntries().at(-1));
  assert.deepEqual(session.getChildren(ids[0]), [session.getEntry(ids[1])]);
  assert.equal(session.getUsageStatistics().input, 5 + 2 * (1 + 2 + 3));
  await agree(session);

  // Pruning in place: memory at once, the file with rewriteEntries.
  const outputs = session.getBranch().filter(entry => entry.type === "message" && entry.message.role === "toolResult");
  assert.equal(outputs.length, 3);
  for (const entry of outputs.slice(0, 2)) {
    entry.message.content = [{ type: "text", text: "[pruned]" }];
    entry.message.prunedAt = 17;
  }
  const texts = context => context.messages.filter(message => message.role === "toolResult").map(m => m.content[0].text);
  assert.deepEqual(texts(session.buildSessionContext()).slice(0, 2), ["[pruned]", "[pruned]"]);
  assert.ok(!readFileSync(first, "utf8").includes("[pruned]"));
  const rewriting = session.rewriteEntries();
  outputs[2].message.content[0].text = "too late for this rewrite";
  await rewriting;
  assert.equal(readFileSync(first, "utf8").split("[pruned]").length, 3);
  assert.ok(!readFileSync(first, "utf8").includes("too late"));
  await session.rewriteEntries();
  assert.ok(readFileSync(first, "utf8").includes("too late"));
  await agree(session);

  // Compaction.
  const details = { readFiles: ["a.ts"] };
  const compactionId = session.appendCompaction("what happened", "short", ids[8], 4200, details, false, { hook: true });
  assert.equal(session.getEntry(compactionId).details, details);
  assert.equal(getLatestCompactionEntry(session.getEntries()), session.getEntry(compactionId));
  const compacted = session.buildSessionContext().messages;
  assert.deepEqual(compacted.map(message => message.role), ["compactionSummary", "user", "assistant", "toolResult", "assistant"]);
  assert.equal(compacted[1], session.getEntry(ids[8]).message);
  await agree(session);

  // The other kinds of entries.
  const init = { systemPrompt: "be", task: "do", tools: ["read"], outputSchema: { type: "object" } };
  session.appendSessionInit(init);
  const data = { planFile: "p.md" };
  session.appendModeChange("plan", data);
  session.appendServiceTierChange("flex");
  session.appendContextChange("prod", "acme", "ns");
  session.appendMCPToolSelection(["a", "b"]);
  session.appendTtsrInjection(["r1", "r2"]);
  session.appendTtsrInjection(["r2", "r3"]);
  const state = { count: 1 };
  const customId = session.appendCustomEntry("ext", state);
  assert.equal(session.getEntry(customId).data, state);
  const blocks = [{ type: "text", text: "injected" }];
  session.appendCustomMessageEntry("ext", blocks, true, { k: 1 });
  session.appendModelChange("openai/small", "smol");
  session.appendLabelChange(ids[0], "start");
  const { messages, ...context } = session.buildSessionContext();
  assert.equal(messages.at(-1).content, blocks);
  assert.deepEqual(context, {
    thinkingLevel: "high",
    serviceTier: "flex",
    models: { default: "anthropic/claude", smol: "openai/small" },
    activeContextName: "prod",
    activeContextTenant: "acme",
    injectedTtsrRules: ["r1", "r2", "r3"],
    selectedMCPToolNames: ["a", "b"],
    hasPersistedMCPToolSelection: true,
    mode: "plan",
    modeData: data,
  });
  assert.deepEqual(session.getInjectedTtsrRules(), ["r1", "r2", "r3"]);
  assert.equal(session.getLastModelChangeRole(), "smol");
  assert.equal(session.getLabel(ids[0]), "start");
  assert.deepEqual(session.getTree()[0].entry, session.getEntries()[0]);
  await agree(session);

  // Branches.
  const left = session.getLeafId();
  session.branch(ids[3]);
  assert.equal(session.getLeafId(), ids[3]);
  assert.deepEqual(session.getBranch().at(-1), session.getEntry(ids[3]));
  turn(session, 10);
  const summaryId = session.branchWithSummary(ids[3], "tried something", { note: "n" }, true);
  assert.equal(session.getEntry(summaryId).parentId, ids[3]);
  assert.equal(session.getEntry(summaryId).fromId, ids[3]);
  assert.equal(session.buildSessionContext().messages.at(-1).role, "branchSummary");
  const rootSummary = session.branchWithSummary(null, "all of it");
  assert.equal(session.getEntry(rootSummary).fromId, "root");
  assert.equal(session.getEntry(rootSummary).parentId, null);
  session.resetLeaf();
  assert.equal(session.getLeafId(), null);
  assert.deepEqual(session.getBranch(), []);
  const root = session.appendMessage(user("anew"));
  assert.equal(session.getEntry(root).parentId, null);
  assert.equal(session.getTree().length, 3);
  session.branch(left);
  for (const refused of [
    () => session.branch("nowhere"),
    () => session.branchWithSummary("nowhere", "s"),
    () => session.appendLabelChange("nowhere", "l"),
    () => session.createBranchedSession("nowhere"),
  ]) {
    assert.throws(refused, { name: "SessionError", code: "EntryNotFound", message: "Entry nowhere not found" });
  }
  assert.equal(session.getLeafId(), left);
  assert.deepEqual([session.getEntry("nowhere"), session.getLabel("nowhere")], [undefined, undefined]);
  assert.deepEqual([session.getChildren("nowhere"), session.getBranch("nowhere")], [[], []]);
  session.appendLabelChange(ids[0]);
  assert.equal(session.getLabel(ids[0]), undefined);
  session.appendLabelChange(ids[0], "kept");
  await agree(session);

  // Names.
  assert.equal(await session.setSessionName("auto \u0007 name", "auto"), true);
  assert.equal(session.getSessionName(), "auto name");
  assert.equal(session.titleSource, "auto");
  assert.equal(await session.setSessionName("by hand", "user"), true);
  assert.equal(await session.setSessionName("auto again"), false);
  assert.equal(await session.setSessionName(" \n ", "user"), false);
  assert.deepEqual([session.getSessionName(), session.titleSource], ["by hand", "user"]);
  await agree(session);

  // Artifacts and blobs.
  assert.equal(session.getArtifactsDir(), first.slice(0, -".jsonl".length));
  assert.equal(await session.saveArtifact("one", "bash"), "0");
  const allocated = await session.allocateArtifactPath("grep");
  assert.deepEqual(allocated, { id: "1", path: join(session.getArtifactsDir(), "1.grep.log") });
  const saved = await session.getArtifactPath("0");
  assert.equal(readFileSync(saved, "utf8"), "one");
  assert.equal(await session.getArtifactPath("7"), null);
  const blob = await session.putBlob(Buffer.from("bytes"));
  assert.equal(blob.ref, `blob:sha256:${blob.hash}`);
  assert.equal(readFileSync(blob.path, "utf8"), "bytes");

  // A fork goes on in a copy, with the same objects.
  const before = readFileSync(first, "utf8");
  const [oldId, objects] = [session.getSessionId(), session.getEntries()];
  const forked = await session.fork();
  assert.deepEqual(forked, { oldSessionFile: first, newSessionFile: session.getSessionFile() });
  assert.notEqual(session.getSessionFile(), first);
  assert.equal(session.getHeader().parentSession, oldId);
  assert.ok(session.getEntries().every((entry, place) => entry === objects[place]));
  turn(session, 20);
  assert.equal(readFileSync(first, "utf8"), before, "what was left stays as it was");
  await agree(session);

  // A branch as a session of its own: only its path, with the same objects.
  const forkFile = session.getSessionFile();
  const kept = session.getBranch(ids[7]).filter(entry => entry.type !== "label");
  const branchedFile = session.createBranchedSession(ids[7]);
  assert.equal(branchedFile, session.getSessionFile());
  assert.equal(session.getHeader().parentSession, forkFile);
  const branched = session.getEntries();
  assert.ok(kept.every((entry, place) => entry === branched[place]), "the objects of the path");
  assert.deepEqual(branched.slice(kept.length).map(entry => [entry.type, entry.targetId, entry.label]), [["label", ids[0], "kept"]]);
  turn(session, 30);
  await agree(session);

  // A move takes the artifacts along.
  await session.saveArtifact("of the branch", "bash");
  await session.moveTo("/srv/elsewhere");
  assert.ok(!existsSync(branchedFile) || session.getSessionFile() === branchedFile);
  assert.equal(session.getCwd(), "/srv/elsewhere");
  assert.equal(session.getHeader().cwd, "/srv/elsewhere");
  assert.equal(readFileSync(await session.getArtifactPath("0"), "utf8"), "of the branch");
  await agree(session);

  // A state is captured and restored.
  const state0 = session.captureState();
  const [leaf0, file0, entries0] = [session.getLeafId(), session.getSessionFile(), session.getEntries()];
  assert.equal(await session.newSession({ parentSession: "from there" }), session.getSessionFile());
  assert.equal(session.getHeader().parentSession, "from there");
  assert.deepEqual(session.getEntries(), []);
  session.restoreState(state0);
  assert.deepEqual([session.getLeafId(), session.getSessionFile()], [leaf0, file0]);
  assert.ok(session.getEntries().every((entry, place) => entry === entries0[place]));
  await agree(session);

  // Another session's file, and back.
  await session.setSessionFile(first);
  assert.equal(session.getSessionId(), oldId);
  assert.equal(session.getCwd(), cwd);
  assert.equal(session.getSessionDir(), dirname(first));
  await agree(session);
  await session.close();
  assert.throws(() => session.appendMessage(user("after the end")), { code: "Closed" });
  assert.ok(session.getEntries().length > 0, "reading goes on");
  assert.ok(session.buildSessionContext().messages.length > 0);
  await session.close();

  // Resuming.
  const resumed = await SessionManager.open(first);
  assert.equal(JSON.stringify(resumed.getEntries()), JSON.stringify(session.getEntries()));
  const opened = resumed.getEntries();
  assert.equal(resumed.getEntries()[3], opened[3]);
  assert.equal(resumed.getEntry(opened[3].id), opened[3]);
  turn(resumed, 40);
  await agree(resumed);
  await resumed.close();

  const copy = await SessionManager.forkFrom(first, "/srv/copy", tempDir());
  assert.equal(copy.getHeader().parentSession, oldId);
  assert.equal(copy.getCwd(), "/srv/copy");
  await agree(copy);
  await copy.close();
});

test("edits of entries that were parsed from the file", async () => {
  const file = join(tempDir(), "s.jsonl");
  // Spellings that JSON.stringify would not choose stay, but where an entry was changed.
  const texts = [
    '{"type":"session","version":3,"id":"1f9d2a6b9c0d1234","timestamp":"2026-02-16T10:20:30.000Z","cwd":"/w"}',
    '{"type":"message","id":"a","parentId":null,"timestamp":"2026-02-16T10:20:31.000Z","message":{"role":"user","content":"\\u00e9","n":1.0,"big":12345678901234567890}}',
    '{ "type":"message","id":"b","parentId":"a","timestamp":"2026-02-16T10:20:32.000Z","message":{"role":"assistant","content":[],"x":1e400,"twice":1,"twice":2}}',
    '{"type":"message","id":"c","parentId":"b","timestamp":"2026-02-16T10:20:33.000Z","message":{"role":"user","content":"old"}}',
  ];
  writeFileSync(file, texts.map(text => `${text}\n`).join(""));
  const session = await SessionManager.open(file);
  session.getEntries()[2].message.content = "new";
  await session.rewriteEntries();
  texts[3] = texts[3].replace('"old"', '"new"');
  assert.equal(readFileSync(file, "utf8"), texts.map(text => `${text}\n`).join(""));
  delete session.getEntry("a").message.big;
  session.getEntry("a").message.content = [session.getEntry("a").message];
  await assert.rejects(session.rewriteEntries(), TypeError, "a circle");
  session.getEntry("a").message.content = "e";
  await session.rewriteEntries();
  assert.equal(lines(file)[1].message.content, "e");
  await session.close();
});

test("two managers of one file take each other's entries in", async () => {
  const file = join(tempDir(), "s.jsonl");
  const one = await SessionManager.open(file);
  one.appendMessage(user("one"));
  const two = await SessionManager.open(file);
  const objects = two.getEntries();
  const fromOne = one.appendMessage(assistant("from one"));
  const fromTwo = two.appendMessage(assistant("from two"));
  assert.deepEqual((await one.refresh()).map(entry => entry.id), [fromTwo]);
  assert.ok(two.getEntry(fromOne));
  // A rewrite by one puts another file in the place; the other goes on with its objects.
  one.getEntries()[0].message.content = "one, changed";
  await one.rewriteEntries();
  const last = two.appendMessage(user("after the rewrite"));
  assert.equal(two.getEntry(last).message.content, "after the rewrite");
  assert.equal(two.getEntry(fromTwo).message, two.getEntries().find(entry => entry.id === fromTwo).message);
  assert.equal(two.getEntries()[0].message.content, "one, changed");
  assert.notEqual(two.getEntries()[0], objects[0], "an entry that says something else is another object");
  await one.refresh();
  assert.equal(JSON.stringify(one.getEntries()), JSON.stringify(two.getEntries()));
  // A closed manager holds no file open: it reads the one that is there.
  await two.close();
  one.getEntries()[1].message.content[0].text = "changed after the end";
  await one.rewriteEntries();
  one.appendMessage(user("appended after the end"));
  assert.equal(two.getEntries()[1].message.content[0].text, "changed after the end");
  assert.ok((await two.refresh()).length > 0 || two.getEntries().length === one.getEntries().length);
  assert.equal(JSON.stringify(one.getEntries()), JSON.stringify(two.getEntries()));
  await one.close();
});

test("calls that return promises keep their order", async () => {
  const session = SessionManager.create("/srv/order", tempDir());
  session.appendMessage(assistant("a"));
  void session.setSessionName("first", "user");
  void session.setSessionName("second", "user");
  const renamed = session.getSessionFile();
  void session.fork();
  void session.setSessionName("third", "user");
  await session.close();
  assert.equal(lines(renamed)[0].title, "second");
  assert.equal(session.getSessionName(), "third");
  assert.equal(lines(session.getSessionFile())[0].title, "third");
});

test("in memory nothing is written", async () => {
  const session = SessionManager.inMemory();
  assert.equal(session.getCwd(), process.cwd());
  const message = assistant("a");
  const id = session.appendMessage(message);
  assert.equal(session.getEntry(id).message, message);
  assert.equal(session.isPersisted(), false);
  assert.deepEqual([session.getSessionFile(), session.getArtifactsDir()], [undefined, null]);
  assert.equal(await session.fork(), undefined);
  assert.equal(await session.saveArtifact("x", "bash"), undefined);
  assert.deepEqual(await session.allocateArtifactPath("bash"), {});
  assert.equal(await session.getArtifactPath("0"), null);
  session.getEntries()[0].message.content[0].text = "b";
  await session.rewriteEntries();
  const state = session.captureState();
  assert.equal(session.createBranchedSession(id), undefined);
  assert.equal(session.getEntries()[0].message, message);
  assert.equal(await session.newSession(), undefined);
  session.restoreState(state);
  assert.equal(session.getEntry(id).message, message);
  assert.equal(session.buildSessionContext().messages[0], message);
  await session.flush();
  await session.close();
});

test("profiles and options", async () => {
  const dir = tempDir();
  const home = SessionManager.getDefaultSessionDir(join(process.env.HOME ?? "/root", "p"), dir);
  assert.match(home, /sessions[/\\]--.*-p--$/);
  configure({ profile: "agent" });
  try {
    const agent = SessionManager.getDefaultSessionDir(join(process.env.HOME ?? "/root", "p"), dir);
    assert.equal(agent, join(dir, "sessions", "-p"));
  } finally {
    configure({ profile: "document" });
  }
  assert.throws(() => configure({ profile: "other" }), { code: "InvalidArgument" });
  // The environment counts as it is when a call is made.
  const before = process.env.PI_CODING_AGENT_DIR;
  process.env.PI_CODING_AGENT_DIR = dir;
  try {
    assert.equal(SessionManager.create("/srv/env").getSessionDir(), join(dir, "sessions", "--srv-env--"));
  } finally {
    process.env.PI_CODING_AGENT_DIR = before;
  }

  const file = join(dir, "notes.txt");
  writeFileSync(file, "no session\n");
  await assert.rejects(SessionManager.open(file, undefined, undefined, { onInvalid: "refuse" }), { code: "NotASession", path: file });
  assert.equal(readFileSync(file, "utf8"), "no session\n");
  const session = await SessionManager.open(file);
  assert.equal(readFileSync(session.movedAside, "utf8"), "no session\n");
  session.appendMessage(assistant("a"));
  await session.close();
  const seen = await SessionManager.open(file, undefined, undefined, { readOnly: true });
  assert.throws(() => seen.appendMessage(user("u")), { code: "ReadOnly" });
  await seen.close();
  writeFileSync(file, readFileSync(file, "utf8").replace('"version":3', '"version":4'));
  const newer = await SessionManager.open(file);
  assert.throws(() => newer.appendMessage(user("u")), { code: "UnsupportedVersion" });
  assert.equal(newer.getEntries().length, 1);
  await newer.close();
  assert.ok(!readdirSync(dir).some(name => name.endsWith(".tmp")));
});

test("an append that cannot be written keeps its entry, and recover brings it to the file", async () => {
  const file = join(tempDir(), "s.jsonl");
  const logged = [];
  configure({ logger: { warn: text => logged.push(text), error: text => logged.push(text) } });
  try {
    const session = await SessionManager.open(file, undefined, undefined, { lockWaitMs: 0 });
    session.appendMessage(assistant("a"));
    await session.close();
    // A session that another one replaced is never overwritten.
    const other = await SessionManager.open(file);
    const replace = (id, next) => {
      writeFileSync(`${file}.next`, readFileSync(file, "utf8").replace(id, next));
      renameSync(`${file}.next`, file);
    };
    replace(other.getSessionId(), "0000000000000000");
    const message = user("kept");
    let thrown;
    try {
      other.appendMessage(message);
    } catch (error) {
      thrown = error;
    }
    assert.equal(thrown?.code, "Replaced");
    assert.equal(other.getEntry(thrown.entryId).message, message);
    assert.equal(other.persistError.code, "Replaced");
    assert.equal(other.getLeafId(), thrown.entryId);
    await assert.rejects(other.flush(), { code: "Replaced" });
    assert.equal(logged.filter(text => text.includes(file)).length, 1, "logged once");
    replace("0000000000000000", other.getSessionId());
    await other.recover();
    assert.equal(other.persistError, undefined);
    assert.equal(lines(file).at(-1).message.content, "kept");
    await other.close();
  } finally {
    configure({ logger: undefined });
  }
});

test("disposal", async () => {
  const session = SessionManager.create("/srv/disposed", tempDir());
  session.appendMessage(assistant("a"));
  assert.equal(typeof session[Symbol.asyncDispose], "function");
  await session[Symbol.asyncDispose]();
  assert.throws(() => session.appendMessage(user("u")), { code: "Closed" });
  const seen = await Session.read(session.getSessionFile());
  assert.equal(seen.path, session.getSessionFile());
  seen[Symbol.dispose]();
  assert.throws(() => seen.getEntries(), { code: "Closed" });
});

test("replay metadata of loaded messages is taken out when asked for", async () => {
  const file = join(tempDir(), "s.jsonl");
  const session = await SessionManager.open(file);
  const thinking = { type: "thinking", thinking: "t", thinkingSignature: "sig" };
  const providerPayload = { type: "openaiResponsesHistory", provider: "openai", items: [{ id: "rs_1" }] };
  session.appendMessage(assistant("a", { content: [thinking], providerPayload }));
  session.appendMessage(assistant("b", { content: [{ ...thinking }] }));
  await session.close();
  const loaded = await SessionManager.open(file);
  loaded.sanitizeLoadedOpenAIResponsesReplayMetadata();
  const [a, b] = loaded.buildSessionContext().messages;
  assert.ok(!("providerPayload" in a) && !("thinkingSignature" in a.content[0]));
  assert.equal(b.content[0].thinkingSignature, "sig");
  assert.ok(readFileSync(file, "utf8").includes("rs_1"));
  await loaded.rewriteEntries();
  assert.ok(!readFileSync(file, "utf8").includes("rs_1"));
  await loaded.close();
});
