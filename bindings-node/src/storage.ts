import fsp = require("node:fs/promises");
import { basename } from "node:path";
import native = require("./native");
import { call, callAsync, Queue } from "./calls";
import { SessionError } from "./errors";

/** What a storage tells about a file. */
export interface SessionStorageStat {
  size: number;
  mtimeMs: number;
  mtime: Date;
}

/** Appends to one file. */
export interface SessionStorageWriter {
  /** Adds one line; a line end is put behind it where it has none. */
  writeLine(line: string): Promise<void>;
  /** What was written is with the operating system. */
  flush(): Promise<void>;
  /** What was written survives a power loss. */
  fsync(): Promise<void>;
  close(): Promise<void>;
  /** The first error, which later calls give again. */
  getError(): Error | undefined;
}

/** Where sessions are kept. Errors have the codes of `node:fs` (`ENOENT`). */
export interface SessionStorage {
  ensureDirSync(dir: string): void;
  existsSync(path: string): boolean;
  writeTextSync(path: string, content: string): void;
  statSync(path: string): SessionStorageStat;
  /** The files of a directory whose names match, as paths. `*` stands for any characters, `?` for one. */
  listFilesSync(dir: string, pattern?: string): string[];
  exists(path: string): Promise<boolean>;
  readText(path: string): Promise<string>;
  readTextPrefix(path: string, maxBytes: number): Promise<string>;
  writeText(path: string, content: string): Promise<void>;
  rename(path: string, nextPath: string): Promise<void>;
  unlink(path: string): Promise<void>;
  deleteSessionWithArtifacts(sessionPath: string): Promise<void>;
  openWriter(path: string, options?: { flags?: "a" | "w"; onError?: (error: Error) => void }): Promise<SessionStorageWriter>;
}

const natives = new WeakMap<object, native.NativeStorage>();

/** What the binding takes for a storage. @internal */
export function nativeStorage(storage: SessionStorage | undefined): native.NativeStorage | undefined {
  if (storage === undefined || storage === null) return undefined;
  const known = natives.get(storage);
  if (!known) {
    throw new SessionError("InvalidArgument", "a storage is a FileSessionStorage or a MemorySessionStorage");
  }
  return known;
}

abstract class NativeBacked implements SessionStorage {
  readonly #storage: native.NativeStorage;

  constructor(storage: native.NativeStorage) {
    this.#storage = storage;
    natives.set(this, storage);
  }

  ensureDirSync(dir: string): void {
    call(() => this.#storage.ensureDir(dir));
  }

  existsSync(path: string): boolean {
    return call(() => this.#storage.existsNow(path));
  }

  writeTextSync(path: string, content: string): void {
    call(() => this.#storage.writeTextNow(path, content));
  }

  statSync(path: string): SessionStorageStat {
    const { size, mtimeMs } = call(() => this.#storage.stat(path));
    return { size, mtimeMs, mtime: new Date(mtimeMs) };
  }

  listFilesSync(dir: string, pattern: string = "*"): string[] {
    const matches = matcher(pattern);
    return call(() => this.#storage.listFiles(dir)).filter(path => matches.test(basename(path)));
  }

  exists(path: string): Promise<boolean> {
    return callAsync(() => this.#storage.exists(path));
  }

  readText(path: string): Promise<string> {
    return callAsync(() => this.#storage.readText(path));
  }

  readTextPrefix(path: string, maxBytes: number): Promise<string> {
    return callAsync(() => this.#storage.readTextPrefix(path, maxBytes));
  }

  writeText(path: string, content: string): Promise<void> {
    return callAsync(() => this.#storage.writeText(path, content));
  }

  rename(path: string, nextPath: string): Promise<void> {
    return callAsync(() => this.#storage.rename(path, nextPath));
  }

  unlink(path: string): Promise<void> {
    return callAsync(() => this.#storage.unlink(path));
  }

  /** Removes a session's file and its artifacts. */
  async deleteSessionWithArtifacts(sessionPath: string): Promise<void> {
    await this.unlink(sessionPath);
    const dir = native.artifactsDir(sessionPath);
    try {
      await this.removeDirectory(dir);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      throw new SessionError(
        (error as { code?: string })?.code ?? "Io",
        `Session file deleted but failed to remove artifacts directory ${dir}: ${message}`,
        { path: dir, cause: error },
      );
    }
  }

  async openWriter(
    path: string,
    options: { flags?: "a" | "w"; onError?: (error: Error) => void } = {},
  ): Promise<SessionStorageWriter> {
    const writer = call(() => this.#storage.openWriter(path));
    call(() => writer.start(options.flags === "w"));
    return new Writer(writer, options.onError);
  }

  /** @internal */
  protected removeDirectory(dir: string): Promise<void> {
    return callAsync(() => this.#storage.removeDirAll(dir));
  }
}

/** Sessions as files. */
export class FileSessionStorage extends NativeBacked {
  constructor() {
    super(native.NativeStorage.files());
  }

  /** @internal */
  protected override removeDirectory(dir: string): Promise<void> {
    return fsp.rm(dir, { recursive: true, force: true });
  }
}

/** Sessions in memory, for tests and for sessions that are not to last. */
export class MemorySessionStorage extends NativeBacked {
  constructor() {
    super(native.NativeStorage.memory());
  }
}

class Writer implements SessionStorageWriter {
  readonly #writer: native.NativeStorageWriter;
  readonly #onError: ((error: Error) => void) | undefined;
  readonly #queue = new Queue();
  #error: Error | undefined;

  constructor(writer: native.NativeStorageWriter, onError?: (error: Error) => void) {
    this.#writer = writer;
    this.#onError = onError;
  }

  writeLine(line: string): Promise<void> {
    return this.#run(() => this.#writer.writeLine(line.endsWith("\n") ? line : `${line}\n`));
  }

  flush(): Promise<void> {
    return this.#run(() => Promise.resolve());
  }

  fsync(): Promise<void> {
    return this.#run(() => this.#writer.fsync());
  }

  async close(): Promise<void> {
    await this.#queue.run(() => this.#writer.close());
    if (this.#error) throw this.#error;
  }

  getError(): Error | undefined {
    return this.#error;
  }

  async #run(work: () => Promise<void>): Promise<void> {
    try {
      await this.#queue.run(async () => {
        if (this.#error) throw this.#error;
        await work();
      });
    } catch (error) {
      if (!this.#error) {
        this.#error = error as Error;
        this.#onError?.(this.#error);
      }
      throw this.#error;
    }
  }
}

function matcher(pattern: string): RegExp {
  const text = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${text}$`, "su");
}
