import native = require("./native");
import { call, callAsync, Queue } from "./calls";
import { callOptions, type SessionOptions } from "./config";
import { SessionError } from "./errors";
import { listAllSessions, listSessions, type Found, type SessionInfo } from "./discovery";
import { MemorySessionStorage, nativeStorage, type SessionStorage } from "./storage";
import type { AgentMessage, ImageContent, SessionEntry, TextContent, TitleSource } from "./types";
import type { BlobPutResult } from "./blobs";
import { SessionView } from "./view";

/** Where a manager was: see {@link SessionManager.captureState}. */
export class SessionManagerState {
  /** @internal */
  readonly state: native.NativeState;
  /** @internal */
  readonly entries: SessionEntry[];

  /** @internal */
  constructor(state: native.NativeState, entries: SessionEntry[]) {
    this.state = state;
    this.entries = entries;
  }
}

type Appended = ReturnType<native.NativeManager["append"]>;

/** The files of a fork. */
export interface ForkResult {
  oldSessionFile: string;
  newSessionFile: string;
}

/**
 * One session that is appended to, in memory and in its file.
 *
 * An append has reached the kernel when it returns, once the session has its file (which the first assistant message
 * makes). Entry objects keep their identity: the message that `appendMessage` was given is the `message` of the entry
 * that `getEntries` returns, and what is changed in such objects is what {@link rewriteEntries} writes.
 */
export class SessionManager extends SessionView {
  readonly #manager: native.NativeManager;
  readonly #queue = new Queue();

  private constructor(manager: native.NativeManager) {
    super(manager.reader());
    this.#manager = manager;
  }

  /** A new session for a working directory. */
  static create(cwd: string, sessionDir?: string, storage?: SessionStorage, options?: SessionOptions): SessionManager {
    const settings = callOptions(options, sessionDir);
    return new SessionManager(call(() => native.NativeManager.create(cwd, settings, nativeStorage(storage))));
  }

  /** A session that is never written. */
  static inMemory(
    cwd: string = process.cwd(),
    storage: SessionStorage = new MemorySessionStorage(),
    options?: SessionOptions,
  ): SessionManager {
    return new SessionManager(call(() => native.NativeManager.inMemory(cwd, callOptions(options), nativeStorage(storage))));
  }

  /** Opens a session file; a missing or empty one becomes a new session at this path. */
  static async open(
    filePath: string,
    sessionDir?: string,
    storage?: SessionStorage,
    options?: SessionOptions,
  ): Promise<SessionManager> {
    const settings = callOptions(options, sessionDir);
    return new SessionManager(await callAsync(() => native.openSession(filePath, settings, nativeStorage(storage))));
  }

  /** The session that this terminal was in, else the newest of the working directory, else a new one. */
  static async continueRecent(
    cwd: string,
    sessionDir?: string,
    storage?: SessionStorage,
    options?: SessionOptions,
  ): Promise<SessionManager> {
    const settings = callOptions(options, sessionDir);
    return new SessionManager(await callAsync(() => native.continueRecent(cwd, settings, nativeStorage(storage))));
  }

  /** A new session of a working directory with the entries of another session's file, which stays as it is. */
  static async forkFrom(
    sourcePath: string,
    targetCwd: string,
    sessionDir?: string,
    storage?: SessionStorage,
    options?: SessionOptions,
  ): Promise<SessionManager> {
    const settings = callOptions(options, sessionDir);
    return new SessionManager(
      await callAsync(() => native.forkSession(sourcePath, targetCwd, settings, nativeStorage(storage))),
    );
  }

  /** The sessions of a working directory, newest first. */
  static list(cwd: string, sessionDir?: string, storage?: SessionStorage, options?: SessionOptions): Promise<Found<SessionInfo>> {
    return listSessions(cwd, sessionDir, storage, options);
  }

  /** The sessions of all working directories, newest first. */
  static listAll(storage?: SessionStorage, options?: SessionOptions): Promise<Found<SessionInfo>> {
    return listAllSessions(storage, options);
  }

  /** Where new sessions of a working directory go. */
  static getDefaultSessionDir(cwd: string, agentDir?: string, _storage?: SessionStorage): string {
    return call(() => native.defaultSessionDir(cwd, callOptions({ agentDir })));
  }

  /** Appends a message and returns the entry's id, as all appends do. */
  appendMessage(message: AgentMessage): string {
    const text = json(message, "message");
    return this.#add("message", { message }, () => this.#manager.appendMessage(text));
  }

  /** Appends a change of the thinking level; none unsets it. */
  appendThinkingLevelChange(thinkingLevel?: string | null): string {
    return this.#append("thinking_level_change", { thinkingLevel: thinkingLevel ?? null });
  }

  /** Appends a change of model, `provider/modelId`, for a role (`default` where none is given). */
  appendModelChange(model: string, role?: string): string {
    return this.#append("model_change", { model, role });
  }

  /** Appends a change of mode. */
  appendModeChange(mode: string, data?: Record<string, unknown>): string {
    return this.#append("mode_change", { mode, data });
  }

  /** Appends a change of the service tier; null unsets it. */
  appendServiceTierChange(serviceTier: string | null): string {
    return this.#append("service_tier_change", { serviceTier: serviceTier ?? null });
  }

  /** Appends a change of the active context. */
  appendContextChange(contextName: string, tenant: string, namespace: string): string {
    return this.#append("context_change", { contextName, tenant, namespace });
  }

  /** Appends what the session was started with. */
  appendSessionInit(init: { systemPrompt: string; task: string; tools: string[]; outputSchema?: unknown }): string {
    const { systemPrompt, task, tools, outputSchema } = init;
    return this.#append("session_init", { systemPrompt, task, tools, outputSchema });
  }

  /** Appends a compaction. */
  appendCompaction<T = unknown>(
    summary: string,
    shortSummary: string | undefined | null,
    firstKeptEntryId: string,
    tokensBefore: number,
    details?: T,
    fromExtension?: boolean,
    preserveData?: Record<string, unknown>,
  ): string {
    return this.#append("compaction", {
      summary,
      shortSummary: shortSummary ?? undefined,
      firstKeptEntryId,
      tokensBefore,
      details,
      fromExtension,
      preserveData,
    });
  }

  /** Appends the state of an extension. */
  appendCustomEntry(customType: string, data?: unknown): string {
    return this.#append("custom", { customType, data });
  }

  /** Appends a message of an extension that takes part in the context. */
  appendCustomMessageEntry<T = unknown>(
    customType: string,
    content: string | (TextContent | ImageContent)[],
    display: boolean,
    details?: T,
    attribution: string = "agent",
  ): string {
    return this.#append("custom_message", { customType, content, display, details, attribution });
  }

  /** Appends the choice of MCP tools. */
  appendMCPToolSelection(selectedToolNames: string[]): string {
    return this.#append("mcp_tool_selection", { selectedToolNames });
  }

  /** Appends the rules that were injected. */
  appendTtsrInjection(ruleNames: string[]): string {
    return this.#append("ttsr_injection", { injectedRules: ruleNames });
  }

  /** Labels an entry; no label clears. Error: `Entry <id> not found`. */
  appendLabelChange(targetId: string, label?: string): string {
    return this.#append("label", { targetId, label });
  }

  /** Moves the leaf to an entry. Error: `Entry <id> not found`. */
  branch(branchFromId: string): void {
    call(() => this.#manager.branch(branchFromId));
  }

  /** The next append is a new root. */
  resetLeaf(): void {
    call(() => this.#manager.resetLeaf());
  }

  /** Moves the leaf, to none with null, and appends a summary of the path that is left. */
  branchWithSummary(
    branchFromId: string | null,
    summary: string,
    details?: unknown,
    fromExtension?: boolean,
  ): string {
    const fields = { fromId: branchFromId ?? "root", summary, details, fromExtension };
    return this.#append("branch_summary", fields, text => {
      return this.#manager.appendBehind(branchFromId ?? null, "branch_summary", text);
    });
  }

  /**
   * Goes on in a new session that holds only the path from the root to an entry, and returns its file (none in memory).
   * Error: `Entry <id> not found`.
   */
  createBranchedSession(leafId: string): string | undefined {
    const file = call(() => this.#manager.createBranchedSession(leafId));
    this.held.carry();
    return file ?? undefined;
  }

  /** Writes the file anew with what was changed in entry objects until this call. */
  async rewriteEntries(): Promise<void> {
    let changes = this.held.changes();
    await this.#queue.run(async () => {
      while (!(await this.#manager.rewriteEntries(changes.numbering, changes.numbers, changes.texts))) {
        changes = this.held.renumber(changes);
      }
    });
  }

  /** Everything that was appended before survives a power loss when this resolves. */
  flush(): Promise<void> {
    return this.#queue.run(() => this.#manager.flush());
  }

  /** Flushes and lets go of the file. Reading goes on, writing is an error (`Closed`). */
  close(): Promise<void> {
    return this.#queue.run(() => this.#manager.close());
  }

  /** Makes the session's file now, assistant message or not. */
  ensureOnDisk(): Promise<void> {
    return this.#queue.run(() => this.#manager.ensureOnDisk());
  }

  /** Writes what an earlier error kept from the file. */
  recover(): Promise<void> {
    return this.#queue.run(() => this.#manager.recover());
  }

  /** What keeps memory and file apart. */
  get persistError(): SessionError | undefined {
    const error = call(() => this.#manager.persistError());
    return error ? new SessionError(error.code, error.message) : undefined;
  }

  /** Takes in what other writers appended, and returns it. The leaf stays. */
  refresh(): Promise<SessionEntry[]> {
    return this.#queue.run(async () => {
      for (;;) {
        const entries = this.entriesNamed(await this.#manager.refresh());
        if (entries) return entries;
      }
    });
  }

  /** Sets the title. An empty one is refused, and an `auto` one never replaces a user's: false. */
  setSessionName(name: string, source: TitleSource = "auto"): Promise<boolean> {
    return this.#queue.run(() => this.#manager.setSessionName(name, source));
  }

  /** Who chose the title. */
  get titleSource(): TitleSource | undefined {
    return (call(() => this.#manager.titleSource()) as TitleSource | null) ?? undefined;
  }

  /** Goes on in another session's file. */
  setSessionFile(sessionFile: string): Promise<void> {
    return this.#queue.run(async () => {
      await this.#manager.setSessionFile(sessionFile);
      this.held.reset();
    });
  }

  /** Goes on in a new session, and returns its file (none in memory). */
  newSession(options?: { parentSession?: string }): Promise<string | undefined> {
    return this.#queue.run(async () => {
      const file = await this.#manager.newSession(options?.parentSession ?? null);
      this.held.reset();
      return file ?? undefined;
    });
  }

  /** Goes on in a copy of the session; undefined in memory. */
  fork(): Promise<ForkResult | undefined> {
    return this.#queue.run(async () => {
      const forked = await this.#manager.fork();
      this.held.renamed();
      return forked ?? undefined;
    });
  }

  /** Moves the session, its artifacts included, to another working directory. */
  moveTo(newCwd: string): Promise<void> {
    return this.#queue.run(() => this.#manager.moveTo(newCwd));
  }

  /** Remembers which session this is and where its leaf is. */
  captureState(): SessionManagerState {
    return new SessionManagerState(call(() => this.#manager.captureState()), this.held.values());
  }

  /** Goes back to a captured session and its leaf. What was appended to it since stays in it. */
  restoreState(snapshot: SessionManagerState): void {
    const before = this.getSessionId();
    call(() => this.#manager.restoreState(snapshot.state));
    if (this.getSessionId() !== before) this.held.carry(snapshot.entries);
  }

  /** The working directory. */
  getCwd(): string {
    return call(() => this.#manager.cwd());
  }

  /** The directory of the session's file. */
  getSessionDir(): string {
    return call(() => this.#manager.sessionDir());
  }

  /** The session's file; undefined in memory. */
  getSessionFile(): string | undefined {
    return call(() => this.#manager.sessionFile()) ?? undefined;
  }

  /** Whether the session is written to a file. */
  isPersisted(): boolean {
    return call(() => this.#manager.isPersisted());
  }

  /** Where the bytes went of a file that was no session when it was opened. */
  get movedAside(): string | undefined {
    return call(() => this.#manager.movedAside()) ?? undefined;
  }

  /** The directory of the session's artifacts; null in memory. */
  getArtifactsDir(): string | null {
    return call(() => this.#manager.artifactsDir());
  }

  /** An id and a path for a new artifact; empty in memory. */
  async allocateArtifactPath(toolType: string): Promise<{ id?: string; path?: string }> {
    return (await this.#queue.run(() => this.#manager.allocateArtifactPath(toolType))) ?? {};
  }

  /** Saves an artifact and returns its id; undefined in memory. */
  async saveArtifact(content: string, toolType: string): Promise<string | undefined> {
    return (await this.#queue.run(() => this.#manager.saveArtifact(content, toolType))) ?? undefined;
  }

  /** The path of an artifact that is there. */
  getArtifactPath(id: string): Promise<string | null> {
    return callAsync(() => this.#manager.artifactPath(id));
  }

  /** Stores bytes in the blob store, durably. */
  async putBlob(data: Uint8Array): Promise<BlobPutResult> {
    const [hash, path] = (await callAsync(() => this.#manager.putBlob(data))) as [string, string];
    return { hash, path, ref: `blob:sha256:${hash}` };
  }

  /**
   * Takes out of assistant messages what only the connection they came from could use: the provider's replay payload and
   * the signatures of thoughts that belong to it. In memory; the file has it until {@link rewriteEntries}.
   */
  sanitizeLoadedOpenAIResponsesReplayMetadata(): void {
    this.held.watch(withoutReplayMetadata);
  }

  #append(
    type: SessionEntry["type"],
    fields: Record<string, unknown>,
    append = (text: string): Appended => this.#manager.append(type, text),
  ): string {
    const text = json(fields, type);
    for (const name in fields) if (fields[name] === undefined) delete fields[name];
    return this.#add(type, fields, () => append(text));
  }

  #add(type: string, fields: Record<string, unknown>, append: () => Appended): string {
    let appended: Appended;
    try {
      appended = call(append);
    } catch (error) {
      if (error instanceof SessionError && error.entryId) {
        this.#hold(type, fields, call(() => this.#manager.appendedAs(error.entryId!)));
      }
      throw error;
    }
    this.#hold(type, fields, appended);
    return appended[0];
  }

  #hold(type: string, fields: Record<string, unknown>, [id, parentId, time, number, numbering]: Appended): void {
    const timestamp = new Date(time).toISOString();
    const ownFirst = type === "custom" || type === "custom_message";
    const entry = ownFirst ? { type, ...fields, id, parentId, timestamp } : { type, id, parentId, timestamp, ...fields };
    this.held.add(numbering, number, entry as unknown as SessionEntry);
  }
}

export interface SessionManager extends AsyncDisposable {}

if (typeof Symbol.asyncDispose === "symbol") {
  const close = SessionManager.prototype.close;
  Object.defineProperty(SessionManager.prototype, Symbol.asyncDispose, { value: close, configurable: true });
}

/** The JSON text of a value; throws what JSON.stringify throws. */
function json(value: unknown, what: string): string {
  const text = JSON.stringify(value);
  if (text === undefined) throw new SessionError("InvalidArgument", `a ${what} must be a JSON value`);
  return text;
}

function withoutReplayMetadata(entry: SessionEntry): void {
  if (entry.type !== "message" || entry.message?.role !== "assistant") return;
  const message = entry.message as any;
  if (message.providerPayload?.type !== "openaiResponsesHistory") return;
  delete message.providerPayload;
  if (!Array.isArray(message.content)) return;
  for (const block of message.content) if (block?.type === "thinking") delete block.thinkingSignature;
}
