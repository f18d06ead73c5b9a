import native = require("./native");
import { call, callAsync } from "./calls";
import { callOptions } from "./config";
import { log } from "./log";

/** One prompt of the history. */
export interface HistoryEntry {
  id: number;
  prompt: string;
  /** In seconds since 1970. */
  created_at: number;
  /** The working directory it was typed in. */
  cwd?: string;
}

/** What the user typed, kept in SQLite for recall and search. */
export class HistoryStorage {
  static readonly #open = new Map<string, HistoryStorage>();
  readonly #history: native.NativeHistory;

  private constructor(history: native.NativeHistory) {
    this.#history = history;
  }

  /** The history in this database, the same object every time; without a path the agent's own. */
  static open(dbPath: string = native.historyPath(callOptions())): HistoryStorage {
    let history = HistoryStorage.#open.get(dbPath);
    if (!history) {
      history = new HistoryStorage(call(() => native.NativeHistory.open(dbPath)));
      HistoryStorage.#open.set(dbPath, history);
    }
    return history;
  }

  /** Closes what {@link open} gave; the next call opens anew. */
  static resetInstance(): void {
    for (const history of HistoryStorage.#open.values()) {
      try {
        call(() => history.#history.closeNow());
      } catch (error) {
        log("error", `HistoryStorage.resetInstance: ${(error as Error).message}`);
      }
    }
    HistoryStorage.#open.clear();
  }

  /** The database. */
  get path(): string {
    return this.#history.path();
  }

  /**
   * Adds a prompt; resolves when it is in the database. White space around it goes; an empty prompt and a repeat of the
   * last one are ignored. A rejection that nobody handles is logged only.
   */
  add(prompt: string, cwd?: string): Promise<void> {
    const added = this.#add(prompt, cwd);
    added.catch(error => log("error", `HistoryStorage.add: ${error.message}`));
    return added;
  }

  async #add(prompt: string, cwd?: string): Promise<void> {
    call(() => this.#history.add(prompt, cwd ?? null));
    await this.flush();
  }

  /** The newest prompts, newest first; none, and a message to the logger, where they cannot be read. */
  getRecent(limit: number): HistoryEntry[] {
    return this.#rows("getRecent", () => this.#history.recent(count(limit)));
  }

  /** The newest prompts in which every word occurs; none, and a message to the logger, where they cannot be read. */
  search(query: string, limit: number): HistoryEntry[] {
    return this.#rows("search", () => this.#history.search(query, count(limit)));
  }

  #rows(what: string, ask: () => string): HistoryEntry[] {
    try {
      const rows: any[] = JSON.parse(call(ask));
      return rows.map(({ cwd, ...row }) => (cwd === null ? row : { ...row, cwd }));
    } catch (error) {
      log("error", `HistoryStorage.${what}: ${(error as Error).message}`);
      return [];
    }
  }

  /** Everything that was added before is in the database when this resolves. */
  flush(): Promise<void> {
    return callAsync(() => this.#history.flush());
  }

  /** Writes what is queued and closes the database. */
  async close(): Promise<void> {
    for (const [path, history] of HistoryStorage.#open) if (history === this) HistoryStorage.#open.delete(path);
    await callAsync(() => this.#history.close());
  }
}

export interface HistoryStorage extends AsyncDisposable {}

if (typeof Symbol.asyncDispose === "symbol") {
  const close = HistoryStorage.prototype.close;
  Object.defineProperty(HistoryStorage.prototype, Symbol.asyncDispose, { value: close, configurable: true });
}

/** At most what the database gives; anything that is no number of rows is none. */
function count(limit: number): number {
  return Math.min(1000, Math.max(0, Math.floor(Number(limit) || 0)));
}
