import native = require("./native");
import { call } from "./calls";
import { entryText } from "./json";
import type { SessionEntry } from "./types";

/** Text of entries that is compared at once, in UTF-16 units. */
const BATCH = 4 << 20;

/** Entries whose objects say something else than their lines. @internal */
export interface Changes {
  numbering: number;
  ids: string[];
  numbers: Uint32Array;
  texts: string[];
}

/**
 * The entry objects that JavaScript has seen, by their number in the session. An entry is parsed when it is first asked
 * for and stays the same object from then on. Where the core gives entries other numbers (another program replaced the
 * file), objects follow their entries by id, unless the entry now says something else.
 * @internal
 */
export class HeldEntries {
  readonly #reader: native.NativeReader;
  #entries = new Map<number, SessionEntry>();
  #numbering: number;
  #sessionId: string;
  #parsed: ((entry: SessionEntry) => void) | undefined;

  constructor(reader: native.NativeReader) {
    this.#reader = reader;
    this.#numbering = reader.extent()[0]!;
    this.#sessionId = reader.sessionId();
  }

  /** The objects of the entries that stand in `found` behind their numbering; undefined where that is no longer valid. */
  of(found: ArrayLike<number>): SessionEntry[] | undefined {
    if (!this.#agree(found[0]!)) return undefined;
    const entries = new Array<SessionEntry>(found.length - 1);
    let missing: number[] | undefined;
    for (let place = 1; place < found.length; place++) {
      const entry = this.#entries.get(found[place]!);
      if (entry) entries[place - 1] = entry;
      else (missing ??= []).push(found[place]!);
    }
    if (!missing) return entries;
    return this.#parse(found[0]!, Uint32Array.from(missing)) ? this.of(found) : undefined;
  }

  /** False where the numbers are no longer valid. */
  #parse(numbering: number, numbers: Uint32Array): boolean {
    for (let from = 0; from < numbers.length; ) {
      const text = call(() => this.#reader.lines(numbering, numbers, from));
      if (text === null) return false;
      for (const entry of JSON.parse(text) as SessionEntry[]) {
        this.#parsed?.(entry);
        this.#entries.set(numbers[from++]!, entry);
      }
    }
    return true;
  }

  /** Holds the object of an entry that was just appended. */
  add(numbering: number, number: number, entry: SessionEntry): void {
    if (this.#agree(numbering)) this.#entries.set(number, entry);
  }

  /** Another session is in the place of this one. */
  reset(): void {
    this.#entries = new Map();
    this.#note();
  }

  /** The session has another id and the same entries. */
  renamed(): void {
    this.#sessionId = call(() => this.#reader.sessionId());
  }

  /** The session now holds some of the same entries under other numbers: their objects stay, edits included. */
  carry(entries: Iterable<SessionEntry> = this.#entries.values()): void {
    this.#carry([...entries], true);
  }

  /** All objects. */
  values(): SessionEntry[] {
    return [...this.#entries.values()];
  }

  /** `look` sees every entry that is parsed from now on, and every one that is held. */
  watch(look: (entry: SessionEntry) => void): void {
    this.#parsed = look;
    this.#entries.forEach(look);
  }

  /** What callers changed in the objects they hold. Throws what JSON.stringify throws. */
  changes(): Changes {
    for (;;) {
      this.#agree(call(() => this.#reader.extent())[0]!);
      const changes = this.#compare();
      if (changes) return changes;
    }
  }

  /** The same changes under the numbers that are valid now. Entries that are gone are left out. */
  renumber(changes: Changes): Changes {
    const found = call(() => this.#reader.findAll(changes.ids));
    const still = changes.ids.map((_, place) => place).filter(place => found[place + 1]! > 0);
    return {
      numbering: found[0]!,
      ids: still.map(place => changes.ids[place]!),
      numbers: Uint32Array.from(still, place => found[place + 1]! - 1),
      texts: still.map(place => changes.texts[place]!),
    };
  }

  #note(): void {
    this.#numbering = call(() => this.#reader.extent())[0]!;
    this.#sessionId = call(() => this.#reader.sessionId());
  }

  /** Brings the objects to a numbering; false where the core has gone on to another one. */
  #agree(numbering: number): boolean {
    if (numbering !== this.#numbering) {
      if (call(() => this.#reader.sessionId()) === this.#sessionId) this.#carry([...this.#entries.values()], false);
      else this.reset();
    }
    return numbering === this.#numbering;
  }

  #carry(entries: SessionEntry[], ours: boolean): void {
    const held = entries.filter(entry => typeof entry.id === "string");
    const found = call(() => this.#reader.findAll(held.map(entry => entry.id)));
    this.#note();
    this.#numbering = found[0]!;
    this.#entries = new Map();
    held.forEach((entry, place) => {
      const number = found[place + 1]!;
      if (number > 0) this.#entries.set(number - 1, entry);
    });
    const differing = this.#compare();
    if (!differing) return this.reset();
    for (const number of differing.numbers) {
      const text = call(() => this.#reader.lines(differing.numbering, Uint32Array.of(number), 0));
      const line = text === null ? undefined : JSON.parse(text)[0];
      const entry = this.#entries.get(number)!;
      // Entries that followed a left-out label entry follow what it followed.
      if (ours && line && line.type === entry.type) entry.parentId = line.parentId;
      else this.#entries.delete(number);
    }
  }

  #compare(): Changes | undefined {
    const numbering = this.#numbering;
    const [ids, numbers, texts]: [string[], number[], string[]] = [[], [], []];
    const held = [...this.#entries];
    for (let from = 0; from < held.length; ) {
      const [some, written]: [number[], string[]] = [[], []];
      for (let length = 0; from < held.length && length < BATCH; from++) {
        const [number, entry] = held[from]!;
        const text = entryText(entry);
        some.push(number);
        written.push(text);
        length += text.length;
      }
      const places = call(() => this.#reader.differing(numbering, Uint32Array.from(some), written));
      if (places === null) return undefined;
      for (const place of places) {
        const [number, text] = [some[place]!, written[place]!];
        const line = call(() => this.#reader.lines(numbering, Uint32Array.of(number), 0));
        if (line === null) return undefined;
        // A line can be spelled otherwise than JSON.stringify does it and say the same.
        if (entryText(JSON.parse(line)[0]) === text) continue;
        ids.push(this.#entries.get(number)!.id);
        numbers.push(number);
        texts.push(text);
      }
    }
    return { numbering, ids, numbers: Uint32Array.from(numbers), texts };
  }
}
