use std::fmt::Write;
use std::sync::LazyLock;

use crate::rng::Rng;

/// A line of text, already escaped for JSON; where it has a `~`, a number and the rest follow.
type Line = (String, Option<String>);

/// Escaped once, since escaping each of some million lines anew would cost more than writing them.
fn escaped(lines: &[&str], end: &str) -> Vec<Line> {
    let escape = |part: &str| {
        let quoted = serde_json::Value::from(part).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    lines
        .iter()
        .map(|line| match line.split_once('~') {
            Some((before, after)) => (escape(before), Some(escape(after) + &escape(end))),
            None => (escape(line) + &escape(end), None),
        })
        .collect()
}

static CODE: LazyLock<Vec<Line>> = LazyLock::new(|| escaped(CODE_LINES, "\n"));
static LOG: LazyLock<Vec<Line>> = LazyLock::new(|| escaped(LOG_LINES, "\n"));
static PROSE: LazyLock<Vec<Line>> = LazyLock::new(|| escaped(SENTENCES, " "));

fn fill(to: &mut String, lines: &[Line], size: usize, rng: &mut Rng) {
    let end = to.len() + size;
    while to.len() < end {
        let draw = rng.next();
        let (before, after) = &lines[(draw >> 32) as usize % lines.len()];
        to.push_str(before);
        if let Some(after) = after {
            let _ = write!(to, "{}{after}", draw & 0xffff);
        }
    }
}

/// Appends at least `size` bytes that look like source code.
pub(crate) fn code(to: &mut String, size: usize, rng: &mut Rng) {
    fill(to, &CODE, size, rng);
}

/// Appends at least `size` bytes that look like the output of a command.
pub(crate) fn log(to: &mut String, size: usize, rng: &mut Rng) {
    fill(to, &LOG, size, rng);
}

/// Appends at least `size` bytes of sentences.
pub(crate) fn prose(to: &mut String, size: usize, rng: &mut Rng) {
    fill(to, &PROSE, size, rng);
}

/// Appends `length` characters that need no escape, like those of a signature or a call id.
pub(crate) fn token(to: &mut String, length: usize, rng: &mut Rng) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0;
    for i in 0..length {
        if i % 10 == 0 {
            bits = rng.next();
        }
        to.push(char::from(ALPHABET[(bits & 63) as usize]));
        bits >>= 6;
    }
}

/// Appends the path of a source file.
pub(crate) fn path(to: &mut String, rng: &mut Rng) {
    let (dir, file) = (*rng.pick(DIRECTORIES), *rng.pick(FILES));
    let _ = write!(to, "{dir}/{file}");
}

const DIRECTORIES: &[&str] = &[
    "src",
    "src/session",
    "src/storage",
    "src/tui/components",
    "packages/agent/src",
    "packages/agent/test",
    "crates/store/src",
    "docs",
];

const FILES: &[&str] = &[
    "main.ts",
    "session-manager.ts",
    "index.ts",
    "lib.rs",
    "journal.rs",
    "context.rs",
    "theme.json",
    "README.md",
    "blob-store.test.ts",
    "settings.py",
];

const CODE_LINES: &[&str] = &[
    "",
    "}",
    "\t}",
    "\t\t});",
    "/**",
    " * Returns the entry with the given id, or undefined where there is none.",
    " */",
    "import { join, dirname, resolve } from \"node:path\";",
    "import type { AgentMessage, ThinkingLevel } from \"../agent/types.js\";",
    "export const MAX_ENTRIES_~ = 1 << 12;",
    "export function readEntry~(path: string): Entry | undefined {",
    "\tconst lines = text.split(\"\\n\").filter((line) => line.trim() !== \"\");",
    "\tif (index >= ~) throw new Error(`entry ${id} not found in \"${path}\"`);",
    "\t\tthis.#entries.push({ ...entry, id: this.#nextId(), seq: ~ });",
    "\t\treturn this.#byId.get(id)?.parentId ?? null;",
    "\tprivate readonly pattern~ = /^\\s*\\{\"type\":\"(\\w+)\"/u;",
    "    let mut buffer = Vec::with_capacity(~);",
    "    for (index, line) in text.lines().enumerate().skip(~) {",
    "        match serde_json::from_str::<Envelope<'_>>(line) {",
    "            Err(error) => report.push(format!(\"line {}: {error}\", index + 1)),",
    "    assert_eq!(session.entries().len(), ~, \"after reopening\");",
    "#[derive(Debug, Clone, PartialEq, Eq)]",
    "pub struct Entry~ {",
    "    pub(crate) parent: Option<Box<str>>,",
    "def read_rows~(path: Path) -> list[dict[str, object]]:",
    "    \"\"\"Yield each row; é, ü and 日本語 stay as they are.\"\"\"",
    "    with path.open(encoding=\"utf-8\") as rows:",
    "        return [json.loads(row) for row in rows if row.strip()]",
    "\tconst label = locale === \"ja\" ? \"セッション~\" : \"session — plain\";",
    "// See https://example.com/issues/~ for why the cast is needed.",
];

const LOG_LINES: &[&str] = &[
    "",
    "total ~",
    "drwxr-xr-x  5 dev dev  4096 Feb 16 10:20 node_modules",
    "-rw-r--r--  1 dev dev ~ Feb 16 10:20 session-manager.ts",
    "   Compiling store v0.4.~ (/srv/pi/crates/store)",
    "warning: unused variable: `index`\n   --> src/journal.rs:~:13",
    "error[E0382]: borrow of moved value: `entry`\n  --> src/lib.rs:~:27",
    "test journal::torn_tail_is_cut_back_~ ... ok",
    "\u{1b}[32m ✓\u{1b}[39m test/session.test.ts (~ tests)",
    "\u{1b}[31m × appends after a failed write\u{1b}[39m\t~ ms",
    "[10:20:30.417] INFO  worker=~ \"GET /api/v1/sessions?limit=50\" 200",
    "[10:20:31.002] WARN  retry=3 after=~ms cause=\"ETIMEDOUT\"",
    "[10:20:31.640] DEBUG {\"event\":\"flush\",\"bytes\":~,\"ok\":true}",
    "src/session/entries.ts:~:\t\tthrow new Error(\"Entry not found\");",
    "diff --git a/src/context.rs b/src/context.rs",
    "@@ -~,7 +120,9 @@ impl Context {",
    "-        let text = \"résumé\";\tlet count = ~;",
    "+        let text = \"naïve → exact\";\tlet count = ~;",
    "    at Object.<anonymous> (C:\\work\\pi\\dist\\cli.js:~:19)",
    "Downloaded ~ kB in 1.42 s 😀",
];

const SENTENCES: &[&str] = &[
    "Please look at why the session list takes so long when there are more than ~ files.",
    "I think the parser reads every line twice.",
    "The test in `session.test.ts` fails at line ~.",
    "Now I have the whole picture.",
    "Let me check how the \"label\" entries are resolved before I change anything.",
    "There are two places that write the header, and only one of them keeps the title.",
    "That means a rename between both loses what the other wrote ~ ms earlier.",
    "A smaller change would be to keep the raw line and splice the one field.\n\n",
    "The fix is in place and all ~ tests pass.",
    "1. Read the file in chunks.\n2. Split at line feeds.\n3. Keep an index of offsets.\n",
    "It should work on Windows too (`C:\\Users\\dev`), so paths must not be compared as text.",
    "Could you also cover names such as Łukasz, Zoë and 山田さん?",
    "I would rather not add a dependency for ~ lines of code — what do you think?",
    "## Summary\n\nThe store appends whole lines and never rewrites one in place.\n\n",
    "```ts\nconst session = SessionManager.open(\"demo.jsonl\");\n```\n",
    "No further changes are needed there.",
];
