import native = require("./native");
import { call, callAsync } from "./calls";
import { HeldEntries } from "./held";
import { plannedMessage } from "./messages";
import type {
  Diagnostics,
  SessionContext,
  SessionEntry,
  SessionHeader,
  SessionTreeNode,
  UsageStatistics,
} from "./types";

/** Everything that can be asked of a session, be it one that is written or a snapshot. */
export abstract class SessionView {
  /** @internal */
  protected readonly reader: native.NativeReader;
  /** @internal */
  protected readonly held: HeldEntries;

  /** @internal */
  protected constructor(reader: native.NativeReader) {
    this.reader = reader;
    this.held = new HeldEntries(reader);
  }

  /** All entries but the header, in the order of the file. Each is the same object every time. */
  getEntries(): SessionEntry[] {
    return this.#entries(() => {
      const [numbering, count] = this.reader.extent() as [number, number];
      const found = new Uint32Array(count + 1);
      found[0] = numbering;
      for (let number = 0; number < count; number++) found[number + 1] = number;
      return found;
    });
  }

  /** The entry with this id. */
  getEntry(id: string): SessionEntry | undefined {
    return this.#entries(() => this.reader.find(id))[0];
  }

  /** The entries that follow this one, in the order of the file. */
  getChildren(parentId: string): SessionEntry[] {
    return this.#entries(() => this.reader.children(parentId));
  }

  /** The entries from the root to `fromId`, or to the leaf. Empty where no entry has this id. */
  getBranch(fromId?: string): SessionEntry[] {
    return this.#entries(() => this.reader.branch(fromId ?? null));
  }

  /** The id of the entry that the next append follows; null for a new root. */
  getLeafId(): string | null {
    return call(() => this.reader.leafId());
  }

  /** The entry that the next append follows. */
  getLeafEntry(): SessionEntry | undefined {
    return this.#entries(() => this.reader.leaf())[0];
  }

  /** The label of an entry. */
  getLabel(id: string): string | undefined {
    return call(() => this.reader.label(id)) ?? undefined;
  }

  /** All entries as a tree: roots in the order of the file, children by timestamp. */
  getTree(): SessionTreeNode[] {
    for (;;) {
      const found = call(() => this.reader.tree());
      const entries = this.held.of(withoutSeconds(found));
      if (!entries) continue;
      const labels = this.#labels();
      const roots: SessionTreeNode[] = [];
      const path: SessionTreeNode[] = [];
      entries.forEach((entry, place) => {
        const depth = found[2 + 2 * place]!;
        const label = labels.get(entry.id);
        const node: SessionTreeNode = { entry, children: [], ...(label !== undefined && { label }) };
        (depth === 0 ? roots : path[depth - 1]!.children).push(node);
        path[depth] = node;
      });
      return roots;
    }
  }

  #labels(): Map<string, string> {
    const flat = call(() => this.reader.labels());
    const labels = new Map<string, string>();
    for (let place = 0; place < flat.length; place += 2) labels.set(flat[place]!, flat[place + 1]!);
    return labels;
  }

  /**
   * What goes to the model for the current leaf. The messages of message entries are the entries' own objects; what has
   * not been seen yet is parsed, and nothing else.
   */
  buildSessionContext(): SessionContext {
    for (;;) {
      const plan = JSON.parse(call(() => this.reader.context()));
      const pairs: number[] = plan.messages;
      const entries = this.held.of(withoutSeconds(pairs));
      if (!entries) continue;
      plan.messages = entries.map((entry, place) => plannedMessage(entry, pairs[2 * place + 2]!));
      return plan;
    }
  }

  /** The header. */
  getHeader(): SessionHeader | null {
    return JSON.parse(call(() => this.reader.header()));
  }

  /** The session's id. */
  getSessionId(): string {
    return call(() => this.reader.sessionId());
  }

  /** The title. */
  getSessionName(): string | undefined {
    return call(() => this.reader.title()) ?? undefined;
  }

  /** Tokens and cost of all entries. */
  getUsageStatistics(): UsageStatistics {
    return JSON.parse(call(() => this.reader.usage()));
  }

  /** The rules that were injected on the way to the leaf. */
  getInjectedTtsrRules(): string[] {
    return call(() => this.reader.ttsrRules());
  }

  /** The role of the last model change on the way to the leaf: `default` where it names none. */
  getLastModelChangeRole(): string | undefined {
    return call(() => this.reader.lastModelChangeRole()) ?? undefined;
  }

  /** What is not as it should be. Looks at every entry and blob, on another thread. */
  async diagnostics(): Promise<Diagnostics> {
    return JSON.parse(await callAsync(() => this.reader.diagnostics()));
  }

  /** @internal */
  protected entriesNamed(found: ArrayLike<number>): SessionEntry[] | undefined {
    return this.held.of(found);
  }

  #entries(ask: () => ArrayLike<number>): SessionEntry[] {
    for (;;) {
      const entries = this.held.of(call(ask));
      if (entries) return entries;
    }
  }
}

/** Of pairs of numbers behind a numbering the first ones, behind the same numbering. */
function withoutSeconds(pairs: ArrayLike<number>): Uint32Array {
  const firsts = new Uint32Array((pairs.length + 1) / 2);
  firsts[0] = pairs[0]!;
  for (let place = 1; place < firsts.length; place++) firsts[place] = pairs[2 * place - 1]!;
  return firsts;
}
