use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::rng::{Ids, Rng};
use crate::time::Iso;
use crate::{SessionSpec, Summary, text};

const COMPACTION_EVERY: usize = 400;
/// Chosen so that the context at the end of 100,000 entries has about 289 messages (SPEC section 15).
const FIRST_COMPACTION: usize = 128;
/// How far before a compaction its kept part starts, at most.
const KEPT: usize = 40;

const MODELS: &[(&str, &str, &str)] = &[
    ("anthropic", "claude-sonnet-4-5", "anthropic-messages"),
    ("anthropic", "claude-opus-4-5", "anthropic-messages"),
    ("openai", "gpt-5.1-codex", "openai-responses"),
];
const LEVELS: &[&str] = &["off", "low", "medium", "high"];
const TOOLS: &[&str] = &["read", "bash", "edit", "grep"];

/// What the entries to come may refer to.
struct Seen {
    id: u32,
    index: usize,
    in_context: bool,
    user: bool,
}

struct Call {
    id: String,
    tool: &'static str,
}

pub(crate) struct Generator<'a> {
    spec: &'a SessionSpec,
    out: &'a mut dyn Write,
    v1: bool,
    rng: Rng,
    ids: Ids,
    clock: u64,
    summary: Summary,
    line: String,
    current: u32,
    parent: Option<u32>,
    /// Leaf of the main line while a branch that will be given up is written.
    main_leaf: Option<u32>,
    on_branch: bool,
    recent: VecDeque<Seen>,
    /// Every 500th entry, so that some branches start far back.
    old: Vec<u32>,
    next_compaction: usize,
    model: usize,
    calls: VecDeque<Call>,
    steps: u64,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(spec: &'a SessionSpec, out: &'a mut dyn Write, v1: bool) -> Self {
        Self {
            spec,
            out,
            v1,
            rng: Rng::new(spec.seed),
            ids: Ids::new(spec.seed),
            clock: spec.start_ms,
            summary: Summary::default(),
            line: String::with_capacity(32 * 1024),
            current: 0,
            parent: None,
            main_leaf: None,
            on_branch: false,
            recent: VecDeque::new(),
            old: Vec::new(),
            next_compaction: FIRST_COMPACTION,
            model: 0,
            calls: VecDeque::new(),
            steps: 0,
        }
    }

    pub(crate) fn run(mut self) -> io::Result<Summary> {
        let header = self.spec.header(self.v1);
        self.out.write_all(header.as_bytes())?;
        self.summary.bytes = header.len() as u64;
        while self.summary.entries < self.spec.entries {
            self.entry()?;
        }
        if !self.v1 {
            self.summary.last_id = self.parent.map(|id| format!("{id:08x}"));
        }
        Ok(self.summary)
    }

    fn entry(&mut self) -> io::Result<()> {
        let index = self.summary.entries;
        if index == 0 {
            return self.model_change();
        }
        if index == 1 {
            return self.thinking_level_change();
        }
        if let Some(call) = self.calls.pop_front() {
            return self.tool_result(&call);
        }
        if self.steps > 0 {
            return self.assistant();
        }
        if self.on_branch {
            self.on_branch = false;
            self.parent = self.main_leaf;
            if self.rng.below(2) == 0 {
                return self.branch_summary();
            }
        }
        if index >= self.next_compaction {
            self.next_compaction += COMPACTION_EVERY;
            return self.compaction();
        }
        match self.rng.below(40) {
            0 => self.model_change(),
            1 => self.thinking_level_change(),
            2 | 3 if !self.v1 => self.label(),
            4 | 5 => self.custom(),
            6 => self.custom_message(),
            // A branch is one turn, at most 25 entries; the last entry must not be on one.
            7 | 8 if !self.v1 && index + 64 < self.spec.entries => {
                self.start_branch();
                self.user()
            }
            _ => self.user(),
        }
    }

    fn start_branch(&mut self) {
        self.on_branch = true;
        self.main_leaf = self.parent;
        self.parent = if !self.old.is_empty() && self.rng.below(4) == 0 {
            Some(*self.rng.pick(&self.old))
        } else {
            Some(self.pick_recent())
        };
    }

    fn pick_recent(&mut self) -> u32 {
        let at = self.rng.below(self.recent.len() as u64) as usize;
        self.recent[at].id
    }

    fn begin(&mut self, kind: &str) {
        self.clock += 40 + self.rng.below(12_000);
        self.current = self.ids.next();
        self.line.clear();
        let _ = write!(self.line, r#"{{"type":"{kind}""#);
    }

    fn base(&mut self) {
        if !self.v1 {
            let _ = write!(self.line, r#","id":"{:08x}","parentId":"#, self.current);
            let _ = match self.parent {
                Some(parent) => write!(self.line, r#""{parent:08x}""#),
                None => write!(self.line, "null"),
            };
        }
        let _ = write!(self.line, r#","timestamp":"{}""#, Iso(self.clock));
    }

    fn end(&mut self, in_context: bool, user: bool) -> io::Result<()> {
        self.line.push_str("}\n");
        self.out.write_all(self.line.as_bytes())?;
        let index = self.summary.entries;
        self.summary.bytes += self.line.len() as u64;
        self.summary.entries += 1;
        self.parent = Some(self.current);
        if self.on_branch {
            return Ok(());
        }
        self.summary.path_entries += 1;
        self.summary.context_messages += usize::from(in_context);
        if index.is_multiple_of(500) {
            self.old.push(self.current);
        }
        if self.recent.len() == KEPT {
            self.recent.pop_front();
        }
        self.recent.push_back(Seen { id: self.current, index, in_context, user });
        Ok(())
    }

    fn model_change(&mut self) -> io::Result<()> {
        self.model = self.rng.below(MODELS.len() as u64) as usize;
        let (provider, model, _) = MODELS[self.model];
        self.begin("model_change");
        self.base();
        let _ = if self.v1 {
            write!(self.line, r#","provider":"{provider}","modelId":"{model}""#)
        } else {
            write!(self.line, r#","model":"{provider}/{model}""#)
        };
        self.end(false, false)
    }

    fn thinking_level_change(&mut self) -> io::Result<()> {
        let level = *self.rng.pick(LEVELS);
        self.begin("thinking_level_change");
        self.base();
        let _ = write!(self.line, r#","thinkingLevel":"{level}""#);
        self.end(false, false)
    }

    fn user(&mut self) -> io::Result<()> {
        self.steps = 1 + self.rng.below(6);
        self.begin("message");
        self.base();
        self.line.push_str(r#","message":{"role":"user","content":[{"type":"text","text":""#);
        let size = 40 + self.rng.below(500) as usize;
        text::prose(&mut self.line, size, &mut self.rng);
        if self.rng.below(8) == 0 {
            text::log(&mut self.line, 600, &mut self.rng);
        }
        let _ = write!(self.line, r#""}}],"timestamp":{}}}"#, self.clock);
        self.end(true, true)
    }

    fn assistant(&mut self) -> io::Result<()> {
        self.steps -= 1;
        self.begin("message");
        self.base();
        self.line.push_str(r#","message":{"role":"assistant","content":["#);
        if self.rng.below(3) > 0 {
            self.line.push_str(r#"{"type":"thinking","thinking":""#);
            let size = 150 + self.rng.below(900) as usize;
            text::prose(&mut self.line, size, &mut self.rng);
            self.line.push_str(r#"","thinkingSignature":""#);
            text::token(&mut self.line, 240, &mut self.rng);
            self.line.push_str(r#""},"#);
        }
        self.line.push_str(r#"{"type":"text","text":""#);
        let size = 60 + self.rng.below(900) as usize;
        text::prose(&mut self.line, size, &mut self.rng);
        self.line.push_str(r#""}"#);
        if self.steps > 0 {
            for _ in 0..=self.rng.below(3) {
                self.tool_call();
            }
        }
        self.usage();
        let stop = if self.steps > 0 { "toolUse" } else { "stop" };
        let _ = write!(self.line, r#","stopReason":"{stop}","timestamp":{}}}"#, self.clock);
        self.end(true, false)
    }

    fn tool_call(&mut self) {
        let tool = *self.rng.pick(TOOLS);
        let mut id = "toolu_01".to_owned();
        let _ = write!(id, "{:016x}", self.rng.next());
        let _ = write!(self.line, r#",{{"type":"toolCall","id":"{id}","name":"{tool}","arguments":{{"path":""#);
        text::path(&mut self.line, &mut self.rng);
        match tool {
            "bash" => self.line.push_str(r#"","command":"cd \"$PWD\" && npm test 2>&1 | tail -n 200"#),
            "edit" => {
                self.line.push_str(r#"","oldText":""#);
                text::code(&mut self.line, 120, &mut self.rng);
                self.line.push_str(r#"","newText":""#);
                text::code(&mut self.line, 180, &mut self.rng);
            }
            _ => {}
        }
        self.line.push_str(r#""}}"#);
        self.calls.push_back(Call { id, tool });
    }

    fn usage(&mut self) {
        let (provider, model, api) = MODELS[self.model];
        let (input, output) = (1 + self.rng.below(3_000), 40 + self.rng.below(900));
        let (read, write) = (self.rng.below(170_000), self.rng.below(20_000));
        let total = input + output + read + write;
        let price = |tokens: u64, per_million: f64| tokens as f64 * per_million / 1e6;
        let costs = [price(input, 3.0), price(output, 15.0), price(read, 0.3), price(write, 3.75)];
        let _ = write!(
            self.line,
            r#"],"api":"{api}","provider":"{provider}","model":"{model}","usage":{{"input":{input},"output":{output},"cacheRead":{read},"cacheWrite":{write},"totalTokens":{total},"cost":{{"input":{},"output":{},"cacheRead":{},"cacheWrite":{},"total":{}}}}}"#,
            costs[0],
            costs[1],
            costs[2],
            costs[3],
            costs.iter().sum::<f64>()
        );
    }

    /// Tool results make up for what the entries before them lack to the mean asked for: any number of
    /// entries then comes out at the right size.
    fn tool_result(&mut self, call: &Call) -> io::Result<()> {
        let spread = self.rng.below(128);
        let wanted = (self.summary.entries + 1) * self.spec.mean_entry_bytes;
        let missing = wanted as i64 - self.summary.bytes as i64;
        let size = (1_000 + (spread * spread) as i64 + missing / 2).clamp(2_000, 20_000);
        self.begin("message");
        self.base();
        let _ = write!(
            self.line,
            r#","message":{{"role":"toolResult","toolCallId":"{}","toolName":"{}","content":[{{"type":"text","text":""#,
            call.id, call.tool
        );
        if call.tool == "bash" {
            text::log(&mut self.line, size as usize, &mut self.rng);
        } else {
            text::code(&mut self.line, size as usize, &mut self.rng);
        }
        let failed = self.rng.below(30) == 0;
        let _ = write!(self.line, r#""}}],"isError":{failed},"timestamp":{}}}"#, self.clock);
        self.end(true, false)
    }

    fn label(&mut self) -> io::Result<()> {
        let target = self.pick_recent();
        let number = self.rng.below(1_000);
        self.begin("label");
        self.base();
        let _ = write!(self.line, r#","targetId":"{target:08x}""#);
        // One in eight clears a label.
        if !number.is_multiple_of(8) {
            let _ = write!(self.line, r#","label":"checkpoint {number}""#);
        }
        self.end(false, false)
    }

    fn custom(&mut self) -> io::Result<()> {
        let number = self.rng.below(1_000_000);
        self.begin("custom");
        let _ = write!(
            self.line,
            r#","customType":"acme.state","data":{{"revision":{number},"open":["src/main.ts"],"ratio":0.25}}"#
        );
        self.base();
        self.end(false, false)
    }

    fn custom_message(&mut self) -> io::Result<()> {
        let message = r#""customType":"acme.note","content":""#;
        if self.v1 {
            self.begin("message");
            self.base();
            let _ = write!(self.line, r#","message":{{"role":"hookMessage",{message}"#);
            text::prose(&mut self.line, 200, &mut self.rng);
            let _ = write!(self.line, r#"","display":true,"timestamp":{}}}"#, self.clock);
        } else {
            self.begin("custom_message");
            let _ = write!(self.line, ",{message}");
            text::prose(&mut self.line, 200, &mut self.rng);
            self.line.push_str(r#"","display":true,"attribution":"agent""#);
            self.base();
        }
        self.end(true, false)
    }

    fn branch_summary(&mut self) -> io::Result<()> {
        let from = self.parent.unwrap_or_default();
        self.begin("branch_summary");
        self.base();
        let _ = write!(self.line, r#","fromId":"{from:08x}","summary":""#);
        text::prose(&mut self.line, 500, &mut self.rng);
        self.line.push('"');
        self.end(true, false)
    }

    fn compaction(&mut self) -> io::Result<()> {
        // The agent cuts at a user message where there is one.
        let start = self.recent.iter().position(|seen| seen.user).unwrap_or(0);
        let kept = self.recent.range(start..).filter(|seen| seen.in_context);
        self.summary.context_messages = kept.count();
        self.summary.compactions += 1;
        let (first, first_index) = (self.recent[start].id, self.recent[start].index);
        self.begin("compaction");
        self.base();
        self.line.push_str(r#","summary":"Goal:\n\n"#);
        text::prose(&mut self.line, 3_000, &mut self.rng);
        self.line.push_str(r#"","shortSummary":""#);
        text::prose(&mut self.line, 40, &mut self.rng);
        let _ = if self.v1 {
            // The index counts all records, and the header is record 0.
            write!(self.line, r#"","firstKeptEntryIndex":{}"#, first_index + 1)
        } else {
            write!(self.line, r#"","firstKeptEntryId":"{first:08x}""#)
        };
        let tokens = 140_000 + self.rng.below(40_000);
        let _ = write!(
            self.line,
            r#","tokensBefore":{tokens},"details":{{"readFiles":["src/main.ts","src/index.ts"],"modifiedFiles":["src/session/entries.ts"]}}"#
        );
        self.end(true, false)
    }
}
