/** The session store of a coding agent. */
export * from "./types";
export { BlobStore, type BlobPutResult } from "./blobs";
export { configure, type Profile, type SessionOptions } from "./config";
export {
  findMostRecentSession,
  type Found,
  gcBlobs,
  type GcOptions,
  type GcReport,
  getRecentSessions,
  RecentSessionInfo,
  type ResolvedSession,
  resolveResumableSession,
  type SessionInfo,
  type Unreadable,
} from "./discovery";
export { SessionError, type SessionErrorCode } from "./errors";
export { type HistoryEntry, HistoryStorage } from "./history";
export { type Logger } from "./log";
export { SessionManager, SessionManagerState, type ForkResult } from "./manager";
export { createBranchSummaryMessage, createCompactionSummaryMessage, createCustomMessage } from "./messages";
export {
  buildSessionContext,
  CURRENT_SESSION_VERSION,
  getLatestCompactionEntry,
  loadEntriesFromFile,
  migrateSessionEntries,
  parseSessionEntries,
} from "./records";
export { Session } from "./session";
export {
  FileSessionStorage,
  MemorySessionStorage,
  type SessionStorage,
  type SessionStorageStat,
  type SessionStorageWriter,
} from "./storage";
export { type SessionView } from "./view";
