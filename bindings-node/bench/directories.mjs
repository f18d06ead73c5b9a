// Finding sessions among 2,000 files.
import { strictEqual } from "node:assert";
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { getRecentSessions, SessionManager } from "@xcsh/session";
import { linesOf } from "./place.mjs";

const CWD = "/srv/pi";
const RECENT = 10;

function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return message.content.filter(block => block.type === "text").map(block => block.text).join(" ");
}

function newestFirst(dir) {
  const files = readdirSync(dir).filter(name => name.endsWith(".jsonl")).map(name => join(dir, name));
  return files.map(path => ({ path, ...stat(path) })).sort((a, b) => b.mtime - a.mtime);
}

function stat(path) {
  const { mtimeMs, size } = statSync(path);
  return { mtime: mtimeMs, size };
}

function plainList(dir) {
  return newestFirst(dir).map(found => {
    const [header, ...entries] = linesOf(found.path).map(line => JSON.parse(line));
    const messages = entries.filter(entry => entry.type === "message").map(entry => entry.message);
    const first = messages.find(message => message.role === "user");
    const texts = messages.filter(message => message.role === "user" || message.role === "assistant").map(textOf);
    const { id, cwd, title } = header;
    const firstMessage = first ? textOf(first) : "(no messages)";
    return { ...found, id, cwd, title, messageCount: messages.length, firstMessage, allMessagesText: texts.join(" ") };
  });
}

function plainRecent(dir) {
  const buffer = Buffer.alloc(4096);
  return newestFirst(dir).slice(0, RECENT).map(found => {
    const file = openSync(found.path);
    const length = readSync(file, buffer);
    closeSync(file);
    const header = JSON.parse(buffer.toString("utf8", 0, Math.min(length, buffer.indexOf("\n"))));
    return { ...found, id: header.id, title: header.title };
  });
}

// `ours` and `plain` of the directory must name the same sessions in the same order.
function compared(ours, plain) {
  return place => {
    const dir = place.sessionDir();
    const ids = found => found.map(({ id }) => id).join();
    const expected = ids(plain(dir));
    return {
      plain: timed => timed(() => plain(dir)),
      ours: async timed => strictEqual(ids(await timed(() => ours(dir))), expected),
    };
  };
}

export const directories = {
  "list-2000": {
    what: "list, 2,000 files",
    plain: "readdirSync, readFileSync, JSON.parse of every line",
    rounds: 9,
    prepare: compared(dir => SessionManager.list(CWD, dir), plainList),
    goals: ours => [{ figure: "ms", value: ours.ms, at_most: 70 }],
  },
  "recent-2000": {
    what: "the 10 most recent sessions of 2,000 files",
    plain: "readdirSync, statSync of all, readSync and JSON.parse of 10 headers",
    rounds: 25,
    prepare: compared(dir => getRecentSessions(dir, RECENT), plainRecent),
    goals: ours => [{ figure: "ms", value: ours.ms, at_most: 10 }],
  },
};
