// The packed packages, installed into an empty project without the network, in Node and in Bun.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { onBun, tempDir } from "./support.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const bun = join(root, "node_modules", ".bin", "bun");
const out = join(root, "out");

const use = load => `
  ${load}
  const session = SessionManager.create(process.cwd(), process.cwd());
  session.appendMessage({ role: "assistant", content: [{ type: "text", text: "packed" }], provider: "p", model: "m" });
  session.flush().then(() => SessionManager.open(session.getSessionFile())).then(again => {
    console.log(again.buildSessionContext().messages[0].content[0].text);
  });
`;

function project() {
  const dir = join(tempDir(), "project");
  mkdirSync(dir);
  writeFileSync(join(dir, "package.json"), '{ "name": "empty", "private": true }\n');
  writeFileSync(join(dir, "esm.mjs"), use('import { SessionManager } from "@xcsh/session";'));
  writeFileSync(join(dir, "cjs.cjs"), use('const { SessionManager } = require("@xcsh/session");'));
  return dir;
}

function run(dir, command, ...args) {
  // No registry answers here: what is installed is what was packed.
  const env = { ...process.env, npm_config_registry: "http://127.0.0.1:9/", npm_config_fetch_retries: "0", npm_config_audit: "false" };
  return execFileSync(command, args, { cwd: dir, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], timeout: 120_000 });
}

test("pack, install, use", { skip: onBun && "once is enough", timeout: 240_000 }, () => {
  run(root, process.execPath, "scripts/pack.mjs");
  const packed = readdirSync(out).filter(name => name.endsWith(".tgz")).map(name => join(out, name));
  assert.equal(packed.length, 2, packed.join());
  const declared = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).napi.targets.length;

  const byNpm = project();
  run(byNpm, "npm", "install", "--no-fund", ...packed);
  const manifest = JSON.parse(readFileSync(join(byNpm, "node_modules/@xcsh/session/package.json"), "utf8"));
  assert.equal(Object.keys(manifest.optionalDependencies).length, declared);
  assert.ok(!("devDependencies" in manifest) && !("scripts" in manifest));
  const byBun = project();
  run(byBun, bun, "add", ...packed);
  for (const dir of [byNpm, byBun]) {
    const inside = readdirSync(join(dir, "node_modules/@xcsh/session/binding"));
    assert.deepEqual(inside.filter(name => name.endsWith(".node")), [], "no native code but in the platform's package");
    for (const command of [process.execPath, bun]) {
      for (const file of ["esm.mjs", "cjs.cjs"]) assert.equal(run(dir, command, file), "packed\n");
    }
  }
});
