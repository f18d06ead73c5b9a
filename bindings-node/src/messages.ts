import type {
  AgentMessage,
  BranchSummaryMessage,
  CompactionEntry,
  CompactionSummaryMessage,
  CustomMessage,
  ImageContent,
  SessionEntry,
  TextContent,
} from "./types";

function time(timestamp: string): number {
  return new Date(timestamp).getTime();
}

/** The message that a custom_message entry puts into a context. */
export function createCustomMessage<T = unknown>(
  customType: string,
  content: string | (TextContent | ImageContent)[],
  display: boolean,
  details: T | undefined,
  timestamp: string,
  attribution?: string,
): CustomMessage<T> {
  return {
    role: "custom",
    customType,
    content,
    display,
    ...(details !== undefined && { details }),
    ...(attribution !== undefined && { attribution }),
    timestamp: time(timestamp),
  };
}

/** The message that a branch_summary entry puts into a context. */
export function createBranchSummaryMessage(summary: string, fromId: string, timestamp: string): BranchSummaryMessage {
  return { role: "branchSummary", summary, fromId, timestamp: time(timestamp) };
}

/** The message that a compaction entry puts into a context. */
export function createCompactionSummaryMessage(
  summary: string,
  tokensBefore: number,
  timestamp: string,
  shortSummary?: string,
  providerPayload?: CompactionSummaryMessage["providerPayload"],
): CompactionSummaryMessage {
  return {
    role: "compactionSummary",
    summary,
    ...(shortSummary !== undefined && { shortSummary }),
    tokensBefore,
    ...(providerPayload !== undefined && { providerPayload }),
    timestamp: time(timestamp),
  };
}

function compactionMessage(entry: CompactionEntry, remote: boolean): CompactionSummaryMessage {
  const { summary, tokensBefore, timestamp, shortSummary } = entry;
  const kept = remote ? (entry.preserveData?.["openaiRemoteCompaction"] as any) : undefined;
  const payload = kept && { type: "openaiResponsesHistory", provider: kept.provider, items: kept.replacementHistory };
  return createCompactionSummaryMessage(summary, tokensBefore, timestamp, shortSummary, payload);
}

/** The message that a plan of the core asks for: an entry and how the message is made of it. @internal */
export function plannedMessage(entry: SessionEntry, source: number): AgentMessage {
  const held = entry as any;
  switch (source) {
    case 0:
      return held.message;
    case 1:
      return createCustomMessage(
        held.customType,
        held.content,
        held.display,
        held.details,
        held.timestamp,
        held.attribution,
      );
    case 2:
      return createBranchSummaryMessage(held.summary, held.fromId, held.timestamp);
    default:
      return compactionMessage(held, source === 4);
  }
}
