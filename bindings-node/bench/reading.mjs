// Opening sessions, their contexts, entries and trees.
import { strictEqual } from "node:assert";
import { SessionManager } from "@xcsh/session";
import { timesFaster } from "./measure.mjs";
import { linesOf } from "./place.mjs";

const parsed = file => linesOf(file).map(line => JSON.parse(line));

function plainIndex(file) {
  const records = parsed(file);
  return [records, new Map(records.map(record => [record.id, record]))];
}

function plainContext(file) {
  const [records, byId] = plainIndex(file);
  const path = [];
  for (let entry = records.at(-1); entry; entry = byId.get(entry.parentId)) path.push(entry);
  path.reverse();
  const at = path.findLastIndex(entry => entry.type === "compaction");
  const kept = path.findIndex(entry => entry.id === path[at].firstKeptEntryId);
  const rest = [...path.slice(kept, at), ...path.slice(at + 1)];
  const spoken = ["message", "custom_message", "branch_summary"];
  return [path[at], ...rest.filter(entry => spoken.includes(entry.type))];
}

function plainTree(file) {
  const [records] = plainIndex(file);
  const nodes = new Map(records.slice(1).map(entry => [entry.id, { entry, children: [] }]));
  const roots = [];
  for (const node of nodes.values()) (nodes.get(node.entry.parentId)?.children ?? roots).push(node);
  return roots;
}

// `ask` of an opened session, with the opening, against `plain` of its file. Both give a number, the same.
function opened(name, ask, plain) {
  return place => {
    const file = place.file(name);
    const expected = plain(file);
    return {
      plain: timed => timed(() => plain(file)),
      ours: async timed => {
        const [session, got] = await timed(async () => {
          const session = await SessionManager.open(file);
          return [session, ask(session)];
        });
        strictEqual(got, expected);
        await session.close();
      },
    };
  };
}

export const reading = {
  "open-10k": {
    what: "open, 10k entries",
    plain: "JSON.parse of every line, Map of ids",
    rounds: 15,
    prepare: opened("10k.jsonl", session => session.getLeafId(), file => plainIndex(file)[0].at(-1).id),
  },
  "open-context-10k": {
    what: "open and context as objects, 10k entries",
    plain: "JSON.parse of every line, walk",
    rounds: 15,
    prepare: opened(
      "10k.jsonl",
      session => session.buildSessionContext().messages.length,
      file => plainContext(file).length,
    ),
    goals: (ours, plain) => [{ figure: "ms", value: ours.ms, at_most: 40 }, timesFaster(ours, plain, 8)],
  },
  "iterate-10k": {
    what: "open and all entries as objects, 10k entries",
    plain: "JSON.parse of every line",
    rounds: 9,
    prepare: opened("10k.jsonl", session => session.getEntries().length, file => parsed(file).length - 1),
    goals: (ours, plain) => [timesFaster(ours, plain, 1)],
  },
  "tree-10k": {
    what: "open and tree of objects, 10k entries",
    plain: "JSON.parse of every line, nodes linked",
    rounds: 9,
    prepare: opened("10k.jsonl", session => session.getTree().length, file => plainTree(file).length),
  },
  "entries-10k": {
    what: "getEntries where the objects are there already, 10k entries",
    plain: null,
    rounds: 15,
    prepare: warm(session => session.getEntries().length),
  },
  "children-10k": {
    what: "getChildren of every entry where the objects are there already, 10k entries",
    plain: null,
    rounds: 9,
    prepare: warm((session, ids) => ids.reduce((count, id) => count + session.getChildren(id).length, 0)),
    goals: ours => [{ figure: "ms", value: ours.ms, at_most: 10 }],
  },
};

// `ask` of a session whose entries have all been seen.
function warm(ask) {
  return async place => {
    const session = await SessionManager.open(place.file("10k.jsonl"));
    const ids = session.getEntries().map(entry => entry.id);
    return { ours: timed => timed(() => ask(session, ids)) };
  };
}
