import native = require("./native");
import { callAsync } from "./calls";
import { callOptions, type SessionOptions } from "./config";
import { nativeStorage, type SessionStorage } from "./storage";
import { SessionView } from "./view";

/**
 * A session file as it was when it was read. Reading leaves no trace: nothing is written, no lock is taken, no time
 * changes. A session of an older version reads as if it had been migrated.
 */
export class Session extends SessionView {
  private constructor(reader: native.NativeReader) {
    super(reader);
  }

  /** Reads a session file. Errors: `NotFound`, `NotASession`, `Io`. */
  static async read(path: string, storage?: SessionStorage, options?: SessionOptions): Promise<Session> {
    return new Session(await callAsync(() => native.readSession(path, callOptions(options), nativeStorage(storage))));
  }

  /** The file that was read. */
  get path(): string {
    return this.reader.path();
  }

  /** Lets go of the file; nothing can be asked any more. */
  close(): void {
    this.reader.release();
  }
}

export interface Session extends Disposable {}

if (typeof Symbol.dispose === "symbol") {
  Object.defineProperty(Session.prototype, Symbol.dispose, { value: Session.prototype.close, configurable: true });
}
