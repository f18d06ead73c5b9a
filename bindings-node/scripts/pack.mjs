// Makes the packages that are published, in out/: `@xcsh/session` without native code, and one package per platform whose
// binding is in binding/. The first names all platforms of `napi.targets` as optional dependencies.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = join(root, "out");
const { devDependencies, scripts, napi, ...main } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const { name, version, license, description, engines } = main;

// `x86_64-unknown-linux-gnu` is what npm calls linux, x64 and glibc.
function platform(target) {
  const [arch, , system, abi] = target.split("-");
  const os = { linux: "linux", darwin: "darwin", windows: "win32" }[system];
  const cpu = { x86_64: "x64", aarch64: "arm64" }[arch];
  const libc = os === "linux" ? [{ gnu: "glibc", musl: "musl" }[abi]] : undefined;
  return { suffix: [os, cpu, ...(abi ? [abi] : [])].join("-"), os: [os], cpu: [cpu], libc };
}

function pack(staged) {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", out], { cwd: staged, stdio: ["ignore", "inherit", "inherit"] });
}

function stage(folder, manifest, files) {
  const staged = join(out, "staged", folder);
  mkdirSync(staged, { recursive: true });
  writeFileSync(join(staged, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of files) cpSync(join(root, file), join(staged, file.replace(/^.*\.\.\/|^binding\/(?=.*\.node$)/, "")), { recursive: true });
  pack(staged);
}

rmSync(out, { recursive: true, force: true });
const platforms = napi.targets.map(platform);
const optionalDependencies = Object.fromEntries(platforms.map(({ suffix }) => [`${name}-${suffix}`, version]));
stage("main", { ...main, optionalDependencies }, ["dist", "src", "binding/index.js", "binding/index.d.ts", "README.md", "../LICENSE"]);
for (const { suffix, os, cpu, libc } of platforms) {
  const binding = `${napi.binaryName}.${suffix}.node`;
  if (!existsSync(join(root, "binding", binding))) continue;
  const manifest = { name: `${name}-${suffix}`, version, description: `${description} (${suffix})`, license, engines, os, cpu, libc, main: binding, files: [binding] };
  stage(suffix, manifest, [`binding/${binding}`, "../LICENSE"]);
}
rmSync(join(out, "staged"), { recursive: true, force: true });
