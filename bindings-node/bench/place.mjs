import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

// The data of a measurement, which stays as it is, and a directory of its own for what it writes, gone at the end.
export class Place {
  #data;
  #dir;
  #made = 0;

  constructor(data) {
    this.#data = resolve(data);
    this.#dir = mkdtempSync(join(dirname(this.#data), "bench-"));
    process.env.PI_CODING_AGENT_DIR = this.#dir;
    process.on("exit", () => rmSync(this.#dir, { recursive: true, force: true }));
    for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  }

  // A file of the data, to be read only.
  file(name) {
    return join(this.#data, name);
  }

  // The lines of such a file.
  lines(name) {
    return linesOf(this.file(name));
  }

  // A copy that may be changed.
  copy(name) {
    const copy = join(this.fresh(), name);
    copyFileSync(this.file(name), copy);
    return copy;
  }

  // A new directory.
  fresh() {
    const dir = join(this.#dir, `${this.#made++}`);
    mkdirSync(dir);
    return dir;
  }

  // The directory below `files` that holds the session files.
  sessionDir() {
    const found = readdirSync(this.file("files"), { recursive: true }).find(name => name.endsWith(".jsonl"));
    return dirname(this.file(join("files", found)));
  }
}

export function linesOf(file) {
  return readFileSync(file, "utf8").split("\n").filter(Boolean);
}
