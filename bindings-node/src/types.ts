/** A block of text. */
export interface TextContent {
  type: "text";
  text: string;
  textSignature?: string;
}

/** An image; `data` is base64. */
export interface ImageContent {
  type: "image";
  data: string;
  mimeType: string;
}

/** What the model thought. */
export interface ThinkingContent {
  type: "thinking";
  thinking: string;
  thinkingSignature?: string;
}

/** A call of a tool. */
export interface ToolCall {
  type: "toolCall";
  id: string;
  name: string;
  arguments: Record<string, any>;
  thoughtSignature?: string;
}

/** Tokens and cost of one answer. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens?: number;
  premiumRequests?: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

/** What the user said. */
export interface UserMessage {
  role: "user";
  content: string | (TextContent | ImageContent)[];
  timestamp: number;
  [field: string]: unknown;
}

/** What the model answered. The first one of a session makes its file. */
export interface AssistantMessage {
  role: "assistant";
  content: (TextContent | ThinkingContent | ToolCall)[];
  provider: string;
  model: string;
  api?: string;
  usage?: Usage;
  stopReason?: string;
  errorMessage?: string;
  providerPayload?: unknown;
  timestamp?: number;
  [field: string]: unknown;
}

/** What a tool gave. */
export interface ToolResultMessage {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: (TextContent | ImageContent)[];
  isError: boolean;
  details?: any;
  timestamp: number;
  [field: string]: unknown;
}

/** A message of an extension, as it stands in a context. */
export interface CustomMessage<T = unknown> {
  role: "custom";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: T;
  attribution?: string;
  timestamp: number;
}

/** The summary of a path that was left, as it stands in a context. */
export interface BranchSummaryMessage {
  role: "branchSummary";
  summary: string;
  fromId: string;
  timestamp: number;
}

/** The summary that stands for what was compacted, as it stands in a context. */
export interface CompactionSummaryMessage {
  role: "compactionSummary";
  summary: string;
  shortSummary?: string;
  tokensBefore: number;
  providerPayload?: { type: "openaiResponsesHistory"; provider: string; items: unknown[] };
  timestamp: number;
}

/** Messages with roles of your own: declare them in this interface to have them in {@link AgentMessage}. */
export interface CustomAgentMessages {}

/** Any message, told apart by `role`. At run time other roles occur too and are kept as they are. */
export type AgentMessage =
  | UserMessage
  | AssistantMessage
  | ToolResultMessage
  | CustomMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage
  | CustomAgentMessages[keyof CustomAgentMessages];

/** The first line of a session file. */
export interface SessionHeader {
  type: "session";
  /** Absent in files of version 1. */
  version?: number;
  id: string;
  timestamp: string;
  cwd: string;
  title?: string;
  titleSource?: TitleSource;
  /** Where the session comes from: an id or a path, not to be followed blindly. */
  parentSession?: string;
}

/** Who chose a title. */
export type TitleSource = "auto" | "user";

/** What every entry has. */
export interface SessionEntryBase {
  type: string;
  /** Unique in the session; of several entries with one id the last counts. */
  id: string;
  /** The entry this one follows; null for a root. */
  parentId: string | null;
  /** ISO 8601, UTC, milliseconds. */
  timestamp: string;
}

export interface SessionMessageEntry extends SessionEntryBase {
  type: "message";
  message: AgentMessage;
}

export interface ThinkingLevelChangeEntry extends SessionEntryBase {
  type: "thinking_level_change";
  thinkingLevel: string | null;
}

export interface ModelChangeEntry extends SessionEntryBase {
  type: "model_change";
  /** `provider/modelId`. */
  model: string;
  /** Absent means `default`. */
  role?: string;
}

export interface CompactionEntry<T = unknown> extends SessionEntryBase {
  type: "compaction";
  summary: string;
  shortSummary?: string;
  firstKeptEntryId?: string;
  tokensBefore: number;
  details?: T;
  fromExtension?: boolean;
  preserveData?: Record<string, unknown>;
}

export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
  type: "branch_summary";
  /** An entry's id, or `root`. */
  fromId: string;
  summary: string;
  details?: T;
  fromExtension?: boolean;
}

export interface CustomEntry<T = unknown> extends SessionEntryBase {
  type: "custom";
  customType: string;
  data?: T;
}

export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
  type: "custom_message";
  customType: string;
  content: string | (TextContent | ImageContent)[];
  display: boolean;
  details?: T;
  attribution?: string;
}

export interface LabelEntry extends SessionEntryBase {
  type: "label";
  targetId: string;
  /** Absent or empty: the label is cleared. */
  label?: string;
}

export interface TtsrInjectionEntry extends SessionEntryBase {
  type: "ttsr_injection";
  injectedRules: string[];
}

export interface SessionInitEntry extends SessionEntryBase {
  type: "session_init";
  systemPrompt: string;
  task: string;
  tools: string[];
  outputSchema?: unknown;
}

export interface ModeChangeEntry extends SessionEntryBase {
  type: "mode_change";
  mode: string;
  data?: Record<string, unknown>;
}

export interface ServiceTierChangeEntry extends SessionEntryBase {
  type: "service_tier_change";
  serviceTier: string | null;
}

export interface ContextChangeEntry extends SessionEntryBase {
  type: "context_change";
  contextName: string;
  tenant: string;
  namespace: string;
}

export interface MCPToolSelectionEntry extends SessionEntryBase {
  type: "mcp_tool_selection";
  selectedToolNames: string[];
}

/** Any entry, told apart by `type`. At run time other types occur too and are kept as they are. */
export type SessionEntry =
  | SessionMessageEntry
  | ThinkingLevelChangeEntry
  | ModelChangeEntry
  | CompactionEntry
  | BranchSummaryEntry
  | CustomEntry
  | CustomMessageEntry
  | LabelEntry
  | TtsrInjectionEntry
  | SessionInitEntry
  | ModeChangeEntry
  | ServiceTierChangeEntry
  | ContextChangeEntry
  | MCPToolSelectionEntry;

/** A record of a session file. */
export type FileEntry = SessionHeader | SessionEntry;

/** An entry with what follows it. */
export interface SessionTreeNode {
  entry: SessionEntry;
  /** By timestamp, oldest first. */
  children: SessionTreeNode[];
  label?: string;
}

/** What goes to the model, and the state that belongs to it. */
export interface SessionContext {
  messages: AgentMessage[];
  /** `off` where none was chosen. */
  thinkingLevel: string;
  serviceTier?: string;
  /** Role to `provider/modelId`. */
  models: Record<string, string>;
  activeContextName?: string;
  activeContextTenant?: string;
  injectedTtsrRules: string[];
  selectedMCPToolNames: string[];
  hasPersistedMCPToolSelection: boolean;
  /** `none` where none was entered. */
  mode: string;
  modeData?: Record<string, unknown>;
}

/** Sums over a session. */
export interface UsageStatistics {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  premiumRequests: number;
  cost: number;
}

/** A stretch of a file that is no record; it stays in the file. */
export interface MalformedLine {
  /** Counted from 1. */
  line: number;
  offset: number;
  length: number;
  reason: string;
}

/** An entry about which there is something to say. */
export interface Finding {
  /** Counted from 1; 0 for an entry that is not in the file yet. */
  line: number;
  id?: string | null;
  [field: string]: unknown;
}

/** What is not as it should be in a session. */
export interface Diagnostics {
  malformedLines: MalformedLine[];
  recovered: Finding[];
  orphans: Finding[];
  cycles: Finding[];
  duplicateIds: Finding[];
  withoutId: Finding[];
  badBlobRefs: Finding[];
  missingBlobs: Finding[];
  damagedBlobs: Finding[];
  danglingFirstKept: Finding[];
}
