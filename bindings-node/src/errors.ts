import { getSystemErrorName } from "node:util";

/** What a {@link SessionError} can be about. Also: the names of `errno.h` on errors of the storage classes. */
export type SessionErrorCode =
  | "Io"
  | "NotFound"
  | "NotASession"
  | "UnsupportedVersion"
  | "EntryNotFound"
  | "InvalidArgument"
  | "InvalidJson"
  | "Locked"
  | "Replaced"
  | "ReadOnly"
  | "Closed"
  | "Vanished"
  | "Blob"
  | "History"
  | "Panic";

/** Any error of this library. `code` is stable, the text is for people. */
export class SessionError extends Error {
  /** What kind of error this is: a {@link SessionErrorCode}, or `ENOENT` and the like from a storage. */
  readonly code: SessionErrorCode | (string & {});
  /** The file or directory it is about. */
  declare readonly path?: string;
  /** The line it is about, counted from 1. */
  declare readonly line?: number;
  /** The entry that an append added to memory although it could not be written yet. */
  declare readonly entryId?: string;
  /** The failed operation, on errors of the storage classes. */
  declare readonly syscall?: string;

  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.code = code;
    for (const [name, value] of Object.entries(details)) {
      if (value !== undefined && value !== null) Object.defineProperty(this, name, { value, enumerable: name !== "cause" });
    }
  }
}
Object.defineProperty(SessionError.prototype, "name", { value: "SessionError", configurable: true, writable: true });

function errnoName(code: string): string {
  const number = Number(code);
  if (Number.isInteger(number) && number > 0) {
    try {
      return getSystemErrorName(-number);
    } catch {
      return "EIO";
    }
  }
  const kinds: Record<string, string> = { NotFound: "ENOENT", AlreadyExists: "EEXIST", PermissionDenied: "EACCES" };
  return kinds[code] ?? "EIO";
}

/** The error object for what the binding threw. @internal */
export function translated(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const text = thrown.message;
  if (text.startsWith("{")) {
    const { code, message, cause, errno, missing, ...details } = JSON.parse(text);
    const name = errno ? errnoName(String(errno)) : missing ? "ENOENT" : undefined;
    const below = cause || name ? { cause: new SessionError(name ?? "EIO", cause ?? message) } : {};
    return new SessionError(code, message, { ...details, ...below });
  }
  if (text.startsWith("io\n")) {
    const [, number, syscall, path, ...words] = text.split("\n");
    const code = errnoName(number!);
    const said = words.join("\n").replace(/ \(os error \d+\)$/, "");
    const shown = `${said.charAt(0).toLowerCase()}${said.slice(1)}`;
    return new SessionError(code, `${code}: ${shown}, ${syscall} '${path}'`, { syscall, path });
  }
  return new SessionError("InvalidArgument", text);
}
