// Measures one step, against the plain way in the same process; `tests/bench` runs all of them.
//
//     node|bun run.mjs --list                        the steps
//     node|bun run.mjs STEP DATA                     one line of JSON
//     node|bun run.mjs STEP DATA --peak ours|plain   how much memory that side takes
import { parseArgs } from "node:util";
import { directories } from "./directories.mjs";
import { images } from "./images.mjs";
import { measured, peak } from "./measure.mjs";
import { Place } from "./place.mjs";
import { reading } from "./reading.mjs";
import { waiting } from "./waiting.mjs";
import { writing } from "./writing.mjs";

const steps = { ...reading, ...waiting, ...writing, ...directories, ...images };
const options = { list: { type: "boolean" }, peak: { type: "string" } };
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const [name, data] = positionals;
if (values.list) {
  console.log(Object.keys(steps).join("\n"));
} else if (!steps[name] || !data || !["ours", "plain", undefined].includes(values.peak)) {
  console.error("usage: run.mjs --list | STEP DATA [--peak ours|plain]");
  process.exitCode = 2;
} else {
  const place = new Place(data);
  const result = values.peak ? await peak(steps[name], values.peak, place) : await measured(steps[name], place);
  console.log(JSON.stringify(result));
}
