// Every name of the SPEC's list is there, and gives a value or a Promise as it says there.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import * as library from "@xcsh/session";
import { assistant, tempDir, user } from "./support.mjs";

const { SessionManager } = library;
const isPromise = value => value instanceof Promise;

// Calls by name; each gets the manager, the id of an assistant message in it, and a directory.
const SYNC = {
  appendMessage: m => m.appendMessage(user("u")),
  appendThinkingLevelChange: m => m.appendThinkingLevelChange("low"),
  appendModelChange: m => m.appendModelChange("p/m"),
  appendModeChange: m => m.appendModeChange("plan"),
  appendServiceTierChange: m => m.appendServiceTierChange(null),
  appendContextChange: m => m.appendContextChange("a", "b", "c"),
  appendSessionInit: m => m.appendSessionInit({ systemPrompt: "s", task: "t", tools: [] }),
  appendCompaction: (m, id) => m.appendCompaction("s", undefined, id, 1),
  appendCustomEntry: m => m.appendCustomEntry("c"),
  appendCustomMessageEntry: m => m.appendCustomMessageEntry("c", "t", true),
  appendMCPToolSelection: m => m.appendMCPToolSelection([]),
  appendTtsrInjection: m => m.appendTtsrInjection([]),
  appendLabelChange: (m, id) => m.appendLabelChange(id, "l"),
  branch: (m, id) => m.branch(id),
  branchWithSummary: (m, id) => m.branchWithSummary(id, "s"),
  resetLeaf: m => m.resetLeaf(),
  buildSessionContext: m => m.buildSessionContext(),
  getBranch: m => m.getBranch(),
  getChildren: (m, id) => m.getChildren(id),
  getEntries: m => m.getEntries(),
  getEntry: (m, id) => m.getEntry(id),
  getHeader: m => m.getHeader(),
  getLabel: (m, id) => m.getLabel(id),
  getLeafEntry: m => m.getLeafEntry(),
  getLeafId: m => m.getLeafId(),
  getTree: m => m.getTree(),
  getCwd: m => m.getCwd(),
  getSessionDir: m => m.getSessionDir(),
  getSessionFile: m => m.getSessionFile(),
  getSessionId: m => m.getSessionId(),
  getSessionName: m => m.getSessionName(),
  isPersisted: m => m.isPersisted(),
  captureState: m => m.captureState(),
  restoreState: m => m.restoreState(m.captureState()),
  getUsageStatistics: m => m.getUsageStatistics(),
  getInjectedTtsrRules: m => m.getInjectedTtsrRules(),
  getLastModelChangeRole: m => m.getLastModelChangeRole(),
  getArtifactsDir: m => m.getArtifactsDir(),
  sanitizeLoadedOpenAIResponsesReplayMetadata: m => m.sanitizeLoadedOpenAIResponsesReplayMetadata(),
  createBranchedSession: (m, id) => m.createBranchedSession(id),
};
const PROMISE = {
  setSessionName: m => m.setSessionName("n", "user"),
  rewriteEntries: m => m.rewriteEntries(),
  ensureOnDisk: m => m.ensureOnDisk(),
  flush: m => m.flush(),
  recover: m => m.recover(),
  refresh: m => m.refresh(),
  diagnostics: m => m.diagnostics(),
  putBlob: m => m.putBlob(new Uint8Array(3)),
  allocateArtifactPath: m => m.allocateArtifactPath("t"),
  saveArtifact: m => m.saveArtifact("c", "t"),
  getArtifactPath: m => m.getArtifactPath("0"),
  fork: m => m.fork(),
  moveTo: m => m.moveTo("/srv/moved"),
  setSessionFile: (m, _, dir) => m.setSessionFile(join(dir, "other.jsonl")),
  newSession: m => m.newSession(),
  close: m => m.close(),
};

test("methods of a manager", async () => {
  for (const [calls, promised] of [[SYNC, false], [PROMISE, true]]) {
    for (const [name, call] of Object.entries(calls)) {
      const dir = tempDir();
      const manager = SessionManager.create("/srv/kinds", dir);
      const id = manager.appendMessage(assistant("a"));
      assert.equal(typeof SessionManager.prototype[name], "function", name);
      const result = call(manager, id, dir);
      assert.equal(isPromise(result), promised, name);
      await result;
      await manager.close();
    }
  }
  const manager = SessionManager.inMemory();
  assert.deepEqual([manager.titleSource, manager.persistError, manager.movedAside], [undefined, undefined, undefined]);
});

test("static methods", async () => {
  const dir = tempDir();
  const manager = SessionManager.create("/srv/kinds", dir);
  manager.appendMessage(assistant("a"));
  const file = manager.getSessionFile();
  assert.ok(SessionManager.inMemory() instanceof SessionManager);
  assert.equal(typeof SessionManager.getDefaultSessionDir("/srv/kinds"), "string");
  for (const [name, result] of Object.entries({
    open: SessionManager.open(file),
    continueRecent: SessionManager.continueRecent("/srv/kinds", dir),
    forkFrom: SessionManager.forkFrom(file, "/srv/other", dir),
    list: SessionManager.list("/srv/kinds", dir),
    listAll: SessionManager.listAll(),
    read: library.Session.read(file),
  })) {
    assert.ok(isPromise(result), name);
    const given = await result;
    if (given.close) await given.close();
  }
  await manager.close();
});

test("functions and classes", async () => {
  const dir = tempDir();
  for (const [name, result] of Object.entries({
    loadEntriesFromFile: library.loadEntriesFromFile(join(dir, "none.jsonl")),
    findMostRecentSession: library.findMostRecentSession(dir),
    getRecentSessions: library.getRecentSessions(dir),
    resolveResumableSession: library.resolveResumableSession("abc", "/srv/kinds", dir),
    gcBlobs: library.gcBlobs({ agentDir: dir }),
  })) {
    assert.ok(isPromise(result), name);
    await result;
  }
  assert.equal(library.CURRENT_SESSION_VERSION, 3);
  assert.deepEqual(library.parseSessionEntries("nothing"), []);
  assert.equal(library.migrateSessionEntries([]), undefined);
  assert.equal(library.getLatestCompactionEntry([]), null);
  assert.deepEqual(library.buildSessionContext([]).messages, []);
  const at = "1970-01-01T00:00:01.000Z";
  assert.deepEqual(library.createCustomMessage("t", "c", true, { d: 1 }, at), {
    role: "custom", customType: "t", content: "c", display: true, details: { d: 1 }, timestamp: 1000,
  });
  assert.deepEqual(library.createBranchSummaryMessage("s", "root", at), {
    role: "branchSummary", summary: "s", fromId: "root", timestamp: 1000,
  });
  assert.deepEqual(library.createCompactionSummaryMessage("s", 7, at, "short"), {
    role: "compactionSummary", summary: "s", shortSummary: "short", tokensBefore: 7, timestamp: 1000,
  });
  for (const name of ["FileSessionStorage", "MemorySessionStorage", "BlobStore", "HistoryStorage", "RecentSessionInfo", "SessionError"]) {
    assert.equal(typeof library[name], "function", name);
  }
  assert.equal(typeof library.configure, "function");
});
