import native = require("./native");
import { callAsync } from "./calls";
import { callOptions, type SessionOptions } from "./config";
import { FileSessionStorage, nativeStorage, type SessionStorage } from "./storage";

/** Something that was left out of a result because it could not be read. */
export interface Unreadable {
  path: string;
  code: string;
  reason: string;
}

/** A list with what was left out of it. */
export type Found<T> = T[] & { readonly unreadable: Unreadable[] };

/** A session of a list. */
export interface SessionInfo {
  path: string;
  id: string;
  /** The working directory that the header names; empty where it names none. */
  cwd: string;
  /** The header's title, else the short summary of the last compaction. */
  title?: string;
  /** `parentSession` of the header: an id or a path. */
  parentSessionPath?: string;
  created: Date;
  modified: Date;
  messageCount: number;
  /** Length of the file in bytes. */
  size: number;
  /** The first user message that has text, else `(no messages)`. */
  firstMessage: string;
  /** The texts of all messages, fetched when it is asked for. */
  readonly allMessagesText: string;
}

function found<T>(items: T[], unreadable: Unreadable[]): Found<T> {
  return Object.defineProperty(items, "unreadable", { value: unreadable }) as Found<T>;
}

/** Without the members that are null. */
function known<T extends object>(facts: T): any {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null));
}

async function listed(listing: Promise<native.NativeListing>): Promise<Found<SessionInfo>> {
  const list = await listing;
  const { sessions, unreadable } = JSON.parse(list.overview());
  const infos = (sessions as any[]).map((session, place): SessionInfo => {
    session.created = new Date(session.created);
    session.modified = new Date(session.modified);
    const get = () => list.allMessagesText(place);
    return Object.defineProperty(session, "allMessagesText", { get, enumerable: true, configurable: true });
  });
  return found(infos, unreadable);
}

/** @internal */
export function listSessions(
  cwd: string,
  sessionDir?: string,
  storage?: SessionStorage,
  options?: SessionOptions,
): Promise<Found<SessionInfo>> {
  const settings = callOptions(options, sessionDir);
  return callAsync(() => listed(native.listSessions(cwd, settings, nativeStorage(storage))));
}

/** @internal */
export function listAllSessions(storage?: SessionStorage, options?: SessionOptions): Promise<Found<SessionInfo>> {
  return callAsync(() => listed(native.listSessions(null, callOptions(options), nativeStorage(storage))));
}

/** A session as the beginning of its file shows it, for pickers. */
export class RecentSessionInfo {
  readonly #recent: native.NativeRecent;
  declare readonly path: string;
  declare readonly id: string;
  /** The working directory that the header names. */
  declare readonly cwd?: string;
  declare readonly title?: string;
  /** The first user message. */
  declare readonly firstPrompt?: string;
  declare readonly parentSession?: string;
  /** When the session began, in milliseconds since 1970. */
  declare readonly created?: number;
  /** When the file was last changed, in milliseconds since 1970. */
  declare readonly mtime: number;
  /** Length of the file in bytes. */
  declare readonly size: number;

  /** @internal */
  constructor(recent: native.NativeRecent) {
    this.#recent = recent;
    Object.assign(this, known(JSON.parse(recent.facts())));
  }

  /** What to call the session, in at most 40 characters. */
  get name(): string {
    return this.#recent.name();
  }

  /** What to call the session: title, else first prompt, else id, else file name; one line. */
  get fullName(): string {
    return this.#recent.fullName();
  }

  /** How long ago the file was changed: `just now`, `5m ago`, `3h ago`, `2d ago`, or a date. */
  get timeAgo(): string {
    return this.#recent.timeAgo(Date.now());
  }
}

/** The most recently changed sessions of a directory. */
export async function getRecentSessions(
  sessionDir: string,
  limit: number = 3,
  storage: SessionStorage = new FileSessionStorage(),
): Promise<Found<RecentSessionInfo>> {
  const wanted = Number.isFinite(limit) ? Math.max(0, Math.floor(limit)) : 0xffffffff;
  const recents = await callAsync(() => native.recentSessions(sessionDir, wanted, nativeStorage(storage)!));
  const infos = Array.from({ length: recents.count() }, (_, place) => new RecentSessionInfo(recents.at(place)!));
  return found(infos, JSON.parse(recents.unreadable()));
}

/** The most recently changed session of a directory. */
export function findMostRecentSession(
  sessionDir: string,
  storage: SessionStorage = new FileSessionStorage(),
): Promise<string | null> {
  return callAsync(() => native.mostRecentSession(sessionDir, nativeStorage(storage)!));
}

/** The session that an argument names. */
export interface ResolvedSession {
  /** Of several the most recently changed one. */
  session: RecentSessionInfo;
  /** Whether it is one of the working directory, or was found among all. */
  scope: "local" | "global";
  /** The files of the others that match, newest first. */
  others: string[];
  /** What could not be looked at and so may have been meant. */
  unreadable: Unreadable[];
}

/**
 * The session that an argument names by the beginning of its id or of its file's name: those of `cwd` first, then all.
 * Undefined where there is none; an empty argument is an error.
 */
export async function resolveResumableSession(
  sessionArg: string,
  cwd: string,
  sessionDir?: string,
  storage?: SessionStorage,
  options?: SessionOptions,
): Promise<ResolvedSession | undefined> {
  const settings = callOptions(options, sessionDir);
  const resolved = await callAsync(() => native.resolveSession(sessionArg, cwd, settings, nativeStorage(storage)));
  return (
    resolved?.session() && {
      session: new RecentSessionInfo(resolved.session()),
      scope: resolved.isGlobal() ? "global" : "local",
      others: resolved.others(),
      unreadable: JSON.parse(resolved.unreadable()),
    }
  );
}

/** What {@link gcBlobs} found and did. */
export interface GcReport {
  /** The blobs that nothing mentions, young ones included. */
  unreferenced: { hash: string; size: number; mtime: number }[];
  deleted: number;
  /** How many are too young to be deleted. */
  keptYoung: number;
  /** Bytes of those that were deleted, or in a dry run would be. */
  bytes: number;
  /** Those that could not be deleted. */
  failed: Unreadable[];
}

/** How blobs are collected. */
export interface GcOptions {
  /** Only look, delete nothing: the default. */
  dryRun?: boolean;
  /** Blobs changed within this time are kept, 24 hours by default. */
  minAgeMs?: number;
  /** Files and directories with sessions outside of the agent's directories. */
  also?: string[];
  agentDir?: string;
  storage?: SessionStorage;
}

/** Finds blobs that no session mentions and, when told to, deletes the old ones. */
export async function gcBlobs(options: GcOptions = {}): Promise<GcReport> {
  const { dryRun = true, minAgeMs, also = [], agentDir, storage } = options;
  const settings = callOptions({ agentDir });
  return JSON.parse(
    await callAsync(() => native.collectBlobs(dryRun, minAgeMs, also, settings, nativeStorage(storage))),
  );
}
