import native = require("./native");
import { call, callAsync } from "./calls";
import { callOptions } from "./config";
import { plannedMessage } from "./messages";
import { FileSessionStorage, nativeStorage, type SessionStorage } from "./storage";
import type { CompactionEntry, FileEntry, SessionContext, SessionEntry } from "./types";

/** The version that sessions are written in. */
export const CURRENT_SESSION_VERSION: number = native.currentSessionVersion();

/** Header and entries of a session file as they are there; empty where it is missing or no session. */
export async function loadEntriesFromFile(filePath: string, storage?: SessionStorage): Promise<FileEntry[]> {
  const from = nativeStorage(storage ?? new FileSessionStorage())!;
  return parsed(await callAsync(() => native.loadEntriesFromFile(filePath, from)));
}

/** Header and entries of a session's text; empty where it is no session. */
export function parseSessionEntries(content: string): FileEntry[] {
  return parsed(call(() => native.parseSessionEntries(content)));
}

function parsed(records: string[]): FileEntry[] {
  return records.map(record => JSON.parse(record));
}

/** Brings header and entries to the current version: the objects of the array are changed. */
export function migrateSessionEntries(entries: FileEntry[]): void {
  const records = entries.filter((entry, place) => isRecord(entry) && (place === 0 || entry.type !== "session"));
  const migrated = call(() => native.migrateSessionEntries(records.map(record => JSON.stringify(record))));
  if (migrated === null || migrated.length !== records.length) return;
  records.forEach((record, place) => become(record, JSON.parse(migrated[place]!)));
}

/** Makes `target` say what `source` says; values that say the same already stay the same objects. */
function become(target: any, source: any): void {
  const same = Object.keys(source).every((name, place) => Object.keys(target)[place] === name);
  const values = Object.keys(source).map(name => {
    const unchanged = name in target && JSON.stringify(target[name]) === JSON.stringify(source[name]);
    if (!unchanged && name === "message" && target[name]) become(target[name], source[name]);
    return unchanged || (name === "message" && target[name]) ? target[name] : source[name];
  });
  if (!same) for (const name of Object.keys(target)) delete target[name];
  Object.keys(source).forEach((name, place) => (target[name] = values[place]));
}

function isRecord(entry: unknown): entry is FileEntry {
  return typeof entry === "object" && entry !== null && typeof (entry as FileEntry).type === "string";
}

/** The last compaction of a list of entries. */
export function getLatestCompactionEntry(entries: SessionEntry[]): CompactionEntry | null {
  return (entries.findLast(entry => entry.type === "compaction") as CompactionEntry | undefined) ?? null;
}

/**
 * What goes to the model for a leaf: null is none, an unknown or absent one is the last entry. Entries that only `byId`
 * holds count as being before the others.
 */
export function buildSessionContext(
  entries: SessionEntry[],
  leafId?: string | null,
  byId?: Map<string, SessionEntry>,
): SessionContext {
  let all = entries;
  if (byId && byId.size > entries.length) {
    const listed = new Set(entries);
    all = [...[...byId.values()].filter(entry => !listed.has(entry)), ...entries];
  }
  const leaf = leafId === undefined ? undefined : leafId === null ? [] : [leafId];
  const plan = JSON.parse(call(() => native.planSessionContext(all.map(outline), leaf, callOptions())));
  const [, ...pairs] = plan.messages as number[];
  plan.messages = Array.from({ length: pairs.length / 2 }, (_, place) => {
    return plannedMessage(all[pairs[2 * place]!]!, pairs[2 * place + 1]!);
  });
  return plan;
}

/** Of an entry what decides about the context: not the texts, which may be long. */
function outline(entry: any): string {
  if (!isRecord(entry) || (entry.type as string) === "session" || (entry.type as string) === "title") return '{"type":"-"}';
  const { type, id, parentId, timestamp } = entry as SessionEntry;
  const base = { type, id, parentId, timestamp };
  const held = entry as any;
  switch (type) {
    case "message": {
      const { role, provider, model } = held.message ?? {};
      return JSON.stringify({ ...base, message: { role, provider, model } });
    }
    case "compaction": {
      const remote = held.preserveData?.openaiRemoteCompaction;
      const items = Array.isArray(remote?.replacementHistory) ? [] : undefined;
      const preserveData = { openaiRemoteCompaction: { provider: remote?.provider, replacementHistory: items } };
      return JSON.stringify({ ...base, firstKeptEntryId: held.firstKeptEntryId, preserveData });
    }
    case "branch_summary":
      return JSON.stringify({ ...base, summary: held.summary ? "-" : "" });
    case "custom":
    case "custom_message":
    case "label":
    case "session_init":
      return JSON.stringify(base);
    default:
      return JSON.stringify(entry);
  }
}
