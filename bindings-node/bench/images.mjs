// Images, which go to blobs beside the file and come back.
import { strictEqual } from "node:assert";
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import { SessionManager } from "@xcsh/session";
import { linesOf } from "./place.mjs";

const REF = "blob:sha256:";

// The messages of the user, each with an image as base64.
function messages(place) {
  const all = place.lines("images.jsonl").slice(1).map(line => JSON.parse(line).message);
  return all.filter(message => message.role === "user");
}

async function written(agentDir, messages) {
  const session = SessionManager.create("/srv/pi", undefined, undefined, { agentDir });
  await session.ensureOnDisk();
  return [session, async () => {
    for (const message of messages) session.appendMessage(message);
    await session.flush();
  }];
}

function durably(path, data) {
  const file = openSync(path, "w");
  writeSync(file, data);
  fsyncSync(file);
  closeSync(file);
}

function plainAppend(dir, messages) {
  const blobs = join(dir, "blobs");
  mkdirSync(blobs);
  const file = openSync(join(dir, "plain.jsonl"), "a");
  for (const message of messages) {
    const content = message.content.map(block => {
      if (block.type !== "image") return block;
      const bytes = Buffer.from(block.data, "base64");
      const hash = createHash("sha256").update(bytes).digest("hex");
      durably(join(blobs, "new"), bytes);
      renameSync(join(blobs, "new"), join(blobs, hash));
      return { ...block, data: REF + hash };
    });
    writeSync(file, `${JSON.stringify({ type: "message", message: { ...message, content } })}\n`);
  }
  fsyncSync(file);
  closeSync(file);
}

function plainRead(file, blobs) {
  const entries = linesOf(file).slice(1).map(line => JSON.parse(line));
  for (const { message } of entries) {
    for (const block of message.content) {
      if (block.type !== "image") continue;
      block.data = readFileSync(join(blobs, block.data.slice(REF.length))).toString("base64");
    }
  }
  return entries.map(entry => entry.message);
}

const imageText = messages => messages.reduce((sum, message) => sum + message.content.at(-1).data.length, 0);

export const images = {
  "images-append": {
    what: "200 appends of a message with a 200 KB image and a flush",
    plain: "Buffer.from base64, SHA-256, write, fsync, rename",
    rounds: 5,
    prepare(place) {
      const all = messages(place);
      return {
        plain: timed => {
          const dir = place.fresh();
          return timed(() => plainAppend(dir, all));
        },
        ours: async timed => {
          const [session, append] = await written(place.fresh(), all);
          await timed(append);
          await session.close();
        },
      };
    },
  },
  "images-read": {
    what: "open and context of 200 messages with a 200 KB image each",
    plain: "JSON.parse of every line, readFileSync of the blob, toString base64",
    rounds: 9,
    async prepare(place) {
      const [all, agentDir] = [messages(place), place.fresh()];
      const expected = imageText(all);
      const [session, append] = await written(agentDir, all);
      await append();
      const file = session.getSessionFile();
      await session.close();
      return {
        plain: async timed => strictEqual(imageText(await timed(() => plainRead(file, join(agentDir, "blobs")))), expected),
        ours: async timed => {
          const [opened, messages] = await timed(async () => {
            const opened = await SessionManager.open(file, undefined, undefined, { agentDir });
            return [opened, opened.buildSessionContext().messages];
          });
          strictEqual(imageText(messages), expected);
          await opened.close();
        },
      };
    },
  },
};
