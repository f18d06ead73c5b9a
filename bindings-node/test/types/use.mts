// Compiled, never run: every export, as users write it. A line under @ts-expect-error must not compile.
import * as library from "@xcsh/session";
import {
  type AgentMessage,
  type AssistantMessage,
  BlobStore,
  type BlobPutResult,
  type BranchSummaryEntry,
  type BranchSummaryMessage,
  buildSessionContext,
  type CompactionEntry,
  type CompactionSummaryMessage,
  configure,
  type ContextChangeEntry,
  createBranchSummaryMessage,
  createCompactionSummaryMessage,
  createCustomMessage,
  CURRENT_SESSION_VERSION,
  type CustomAgentMessages,
  type CustomEntry,
  type CustomMessage,
  type CustomMessageEntry,
  type Diagnostics,
  type FileEntry,
  FileSessionStorage,
  type Finding,
  findMostRecentSession,
  type ForkResult,
  type Found,
  gcBlobs,
  type GcOptions,
  type GcReport,
  getLatestCompactionEntry,
  getRecentSessions,
  type HistoryEntry,
  HistoryStorage,
  type ImageContent,
  type LabelEntry,
  loadEntriesFromFile,
  type Logger,
  type MalformedLine,
  type MCPToolSelectionEntry,
  MemorySessionStorage,
  migrateSessionEntries,
  type ModeChangeEntry,
  type ModelChangeEntry,
  parseSessionEntries,
  type Profile,
  RecentSessionInfo,
  type ResolvedSession,
  resolveResumableSession,
  type ServiceTierChangeEntry,
  Session,
  type SessionContext,
  type SessionEntry,
  type SessionEntryBase,
  SessionError,
  type SessionErrorCode,
  type SessionHeader,
  type SessionInfo,
  type SessionInitEntry,
  SessionManager,
  SessionManagerState,
  type SessionMessageEntry,
  type SessionOptions,
  type SessionStorage,
  type SessionStorageStat,
  type SessionStorageWriter,
  type SessionTreeNode,
  type SessionView,
  type TextContent,
  type ThinkingContent,
  type ThinkingLevelChangeEntry,
  type TitleSource,
  type ToolCall,
  type ToolResultMessage,
  type TtsrInjectionEntry,
  type Unreadable,
  type Usage,
  type UsageStatistics,
  type UserMessage,
} from "@xcsh/session";

declare module "@xcsh/session" {
  interface CustomAgentMessages {
    shell: { role: "bashExecution"; command: string; timestamp: number };
  }
}

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Equal<A, B>): void {}

// Every value that the module has is named here; one more or fewer does not compile.
same<
  keyof typeof library,
  | "BlobStore"
  | "buildSessionContext"
  | "configure"
  | "createBranchSummaryMessage"
  | "createCompactionSummaryMessage"
  | "createCustomMessage"
  | "CURRENT_SESSION_VERSION"
  | "FileSessionStorage"
  | "findMostRecentSession"
  | "gcBlobs"
  | "getLatestCompactionEntry"
  | "getRecentSessions"
  | "HistoryStorage"
  | "loadEntriesFromFile"
  | "MemorySessionStorage"
  | "migrateSessionEntries"
  | "parseSessionEntries"
  | "RecentSessionInfo"
  | "resolveResumableSession"
  | "Session"
  | "SessionError"
  | "SessionManager"
  | "SessionManagerState"
>(true);

const text: TextContent = { type: "text", text: "t", textSignature: "s" };
const image: ImageContent = { type: "image", data: "", mimeType: "image/png" };
const thinking: ThinkingContent = { type: "thinking", thinking: "t" };
const call: ToolCall = { type: "toolCall", id: "c", name: "read", arguments: { path: "p" } };
const usage: Usage = {
  input: 1, output: 1, cacheRead: 0, cacheWrite: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};
const user: UserMessage = { role: "user", content: [text, image], timestamp: 1 };
const answer: AssistantMessage = { role: "assistant", content: [text, thinking, call], provider: "p", model: "m", usage };
const result: ToolResultMessage = {
  role: "toolResult", toolCallId: "c", toolName: "read", content: [text], isError: false, timestamp: 1,
};
const custom: CustomMessage<{ k: number }> = createCustomMessage("c", "t", true, { k: 1 }, "2026-01-01T00:00:00.000Z", "user");
const summary: BranchSummaryMessage = createBranchSummaryMessage("s", "root", "2026-01-01T00:00:00.000Z");
const compacted: CompactionSummaryMessage = createCompactionSummaryMessage("s", 1, "2026-01-01T00:00:00.000Z", "short");
const own: CustomAgentMessages["shell"] = { role: "bashExecution", command: "ls", timestamp: 1 };

function shown(message: AgentMessage): string {
  switch (message.role) {
    case "user":
      return typeof message.content === "string" ? message.content : message.content.map(block => block.type).join();
    case "assistant":
      return message.content.map(block => (block.type === "toolCall" ? block.name : block.type)).join();
    case "toolResult":
      return message.toolName;
    case "custom":
      return message.customType;
    case "branchSummary":
      return message.fromId;
    case "compactionSummary":
      return `${message.tokensBefore}`;
    case "bashExecution":
      return message.command;
    default:
      return same<typeof message, never>(true) as never;
  }
}

function told(entry: SessionEntry): unknown {
  same<SessionEntryBase["parentId"], string | null>(true);
  switch (entry.type) {
    case "message":
      return (entry satisfies SessionMessageEntry).message;
    case "thinking_level_change":
      return (entry satisfies ThinkingLevelChangeEntry).thinkingLevel;
    case "model_change":
      return (entry satisfies ModelChangeEntry).model;
    case "compaction":
      return (entry satisfies CompactionEntry).firstKeptEntryId;
    case "branch_summary":
      return (entry satisfies BranchSummaryEntry).fromId;
    case "custom":
      return (entry satisfies CustomEntry).data;
    case "custom_message":
      return (entry satisfies CustomMessageEntry).content;
    case "label":
      return (entry satisfies LabelEntry).targetId;
    case "ttsr_injection":
      return (entry satisfies TtsrInjectionEntry).injectedRules;
    case "session_init":
      return (entry satisfies SessionInitEntry).tools;
    case "mode_change":
      return (entry satisfies ModeChangeEntry).data;
    case "service_tier_change":
      return (entry satisfies ServiceTierChangeEntry).serviceTier;
    case "context_change":
      return (entry satisfies ContextChangeEntry).tenant;
    case "mcp_tool_selection":
      return (entry satisfies MCPToolSelectionEntry).selectedToolNames;
    default:
      return same<typeof entry, never>(true);
  }
}

export async function everything(): Promise<void> {
  const logger: Logger = { warn: message => void message, error: message => void message };
  const profile: Profile = "agent";
  configure({ profile, logger });
  // @ts-expect-error no such profile
  configure({ profile: "other" });

  const options: SessionOptions = { agentDir: "/a", profile, readOnly: false, onInvalid: "refuse", lockWaitMs: 10 };
  const storage: SessionStorage = new FileSessionStorage();
  const memory = new MemorySessionStorage();
  const session = SessionManager.create("/w", undefined, storage, options);
  same<ReturnType<typeof SessionManager.open>, Promise<SessionManager>>(true);
  const opened = await SessionManager.open("/s.jsonl", "/dir", memory, options);
  await SessionManager.continueRecent("/w", "/dir", storage, options);
  await SessionManager.forkFrom("/s.jsonl", "/w", "/dir", storage, options);
  SessionManager.inMemory("/w", memory, options);
  const list: Found<SessionInfo> = await SessionManager.list("/w", "/dir", storage, options);
  const all: SessionInfo[] = await SessionManager.listAll(storage, options);
  const dir: string = SessionManager.getDefaultSessionDir("/w", "/agent", storage);

  const id: string = session.appendMessage(user);
  for (const message of [answer, result, custom, summary, compacted, own] satisfies AgentMessage[]) {
    session.appendMessage(message);
  }
  // @ts-expect-error a message has a role
  session.appendMessage({ content: "c" });
  session.appendThinkingLevelChange("high");
  session.appendThinkingLevelChange();
  session.appendModelChange("p/m", "smol");
  session.appendModeChange("plan", { planFile: "p" });
  session.appendServiceTierChange(null);
  session.appendContextChange("a", "b", "c");
  session.appendSessionInit({ systemPrompt: "s", task: "t", tools: ["r"], outputSchema: {} });
  session.appendCompaction("s", undefined, id, 1, { k: 1 }, true, { hook: 1 });
  session.appendCustomEntry("c", [1]);
  session.appendCustomMessageEntry("c", [text, image], false, { k: 1 }, "user");
  session.appendMCPToolSelection(["a"]);
  session.appendTtsrInjection(["r"]);
  session.appendLabelChange(id, "l");
  session.appendLabelChange(id);
  session.branch(id);
  session.branchWithSummary(null, "s", { k: 1 }, true);
  session.resetLeaf();
  const context: SessionContext = session.buildSessionContext();
  context.messages.map(shown);
  session.getBranch(id).map(told);
  const tree: SessionTreeNode[] = session.getTree();
  const header: SessionHeader | null = session.getHeader();
  const entries: SessionEntry[] = [...session.getChildren(id), ...session.getEntries()];
  const maybe: (SessionEntry | undefined)[] = [session.getEntry(id), session.getLeafEntry()];
  const names: (string | undefined)[] = [session.getLabel(id), session.getSessionName(), session.getSessionFile()];
  const strings: string[] = [session.getCwd(), session.getSessionDir(), session.getSessionId(), dir];
  const leaf: string | null = session.getLeafId();
  const source: TitleSource | undefined = session.titleSource;
  same<ReturnType<typeof session.setSessionName>, Promise<boolean>>(true);
  await session.setSessionName("n", "user");
  // @ts-expect-error no such source
  await session.setSessionName("n", "robot");
  await session.setSessionFile("/s.jsonl");
  const file: string | undefined = await session.newSession({ parentSession: "p" });
  const forked: ForkResult | undefined = await session.fork();
  await session.moveTo("/w2");
  const branched: string | undefined = session.createBranchedSession(id);
  await session.rewriteEntries();
  await session.ensureOnDisk();
  await session.flush();
  await session.recover();
  const fresh: SessionEntry[] = await session.refresh();
  const state: SessionManagerState = session.captureState();
  session.restoreState(state);
  const persisted: boolean = session.isPersisted();
  const sums: UsageStatistics = session.getUsageStatistics();
  const rules: string[] = session.getInjectedTtsrRules();
  const role: string | undefined = session.getLastModelChangeRole();
  const put: BlobPutResult = await session.putBlob(Buffer.from(""));
  const artifacts: string | null = session.getArtifactsDir();
  const { id: artifactId, path } = await session.allocateArtifactPath("bash");
  const saved: string | undefined = await session.saveArtifact("c", "bash");
  const artifact: string | null = await session.getArtifactPath("0");
  session.sanitizeLoadedOpenAIResponsesReplayMetadata();
  const report: Diagnostics = await session.diagnostics();
  const [malformed, finding]: [MalformedLine | undefined, Finding | undefined] = [report.malformedLines[0], report.orphans[0]];
  const error: SessionError | undefined = session.persistError;
  const aside: string | undefined = session.movedAside;
  await session.close();

  {
    await using disposed = opened;
    using snapshot = await Session.read("/s.jsonl", storage, options);
    const views: SessionView[] = [disposed, snapshot];
    views.map(view => view.getEntries());
    // @ts-expect-error a snapshot cannot be written
    snapshot.appendMessage(user);
  }

  const records: FileEntry[] = [...(await loadEntriesFromFile("/s.jsonl", storage)), ...parseSessionEntries("")];
  migrateSessionEntries(records);
  const latest: CompactionEntry | null = getLatestCompactionEntry(entries);
  buildSessionContext(entries, null, new Map(entries.map(entry => [entry.id, entry])));
  const version: number = CURRENT_SESSION_VERSION;

  const stat: SessionStorageStat = storage.statSync("/p");
  storage.ensureDirSync("/d");
  storage.writeTextSync("/p", "t");
  const flags: boolean[] = [storage.existsSync("/p"), await storage.exists("/p")];
  const texts: string[] = [...storage.listFilesSync("/d", "*.jsonl"), await storage.readText("/p"), await storage.readTextPrefix("/p", 9)];
  await storage.writeText("/p", "t");
  await storage.rename("/p", "/q");
  await storage.unlink("/q");
  await storage.deleteSessionWithArtifacts("/s.jsonl");
  const writer: SessionStorageWriter = await storage.openWriter("/p", { flags: "a", onError: problem => void problem.message });
  await writer.writeLine("l");
  await writer.flush();
  await writer.fsync();
  await writer.close();
  const problem: Error | undefined = writer.getError();

  const blobs = new BlobStore("/blobs", storage);
  await blobs.put(new Uint8Array(1));
  const bytes: Buffer | null = await blobs.get(put.hash);
  const there: boolean = await blobs.has(put.hash);

  const recent: RecentSessionInfo[] = await getRecentSessions("/d", 5, storage);
  const lines: string[] = recent.flatMap(info => [info.name, info.fullName, info.timeAgo, info.path]);
  const newest: string | null = await findMostRecentSession("/d", storage);
  const resolved: ResolvedSession | undefined = await resolveResumableSession("ab", "/w", "/d", storage, options);
  const collect: GcOptions = { dryRun: true, minAgeMs: 1, also: ["/e"], agentDir: "/a", storage };
  const collected: GcReport = await gcBlobs(collect);
  const left: Unreadable[] = [...list.unreadable, ...collected.failed];

  const history = HistoryStorage.open("/h.db");
  await history.add("p", "/w");
  const prompts: HistoryEntry[] = [...history.getRecent(5), ...history.search("p", 5)];
  await history.flush();
  await history.close();
  HistoryStorage.resetInstance();

  const code: SessionErrorCode = "EntryNotFound";
  const thrown = new SessionError(code, "text");
  const about: (string | number | undefined)[] = [thrown.code, thrown.path, thrown.line, thrown.entryId, thrown.syscall];

  void [all, tree, header, maybe, names, strings, leaf, source, file, forked, branched, fresh, persisted, sums, rules];
  void [role, artifacts, artifactId, path, saved, artifact, malformed, finding, error, aside, latest, version, stat];
  void [flags, texts, problem, bytes, there, lines, newest, resolved, left, prompts, about];
}
