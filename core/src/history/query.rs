//! From the text a user typed to a statement that cannot fail: which words the full-text index answers, and which
//! are matched against the prompt itself.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memmem::Finder;
use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::HistoryEntry;
use super::fault::Fault;

/// The scalar function `MATCH_FUNCTION(prompt, words)` that connections of this module have.
pub(super) const MATCH_FUNCTION: &str = "xcsh_history_match";

/// Words of a query that count. The work of matching is the product of the words and the length of a prompt, so a
/// megabyte of words must not meet a megabyte of prompt unbounded.
const MAX_WORDS: usize = 1024;
/// More words than this do not narrow a result any further; FTS5 bounds the size of an expression.
const MAX_INDEXED_WORDS: usize = 64;
/// FTS5 cuts tokens at 32 KiB; words of any such length are matched against the prompt.
const MAX_INDEXED_BYTES: usize = 1024;
/// Below this length trying every position costs less than lower-casing the whole prompt, and the product of the two
/// lengths stays harmless.
const SHORT_NEEDLE: usize = 32;

const COLUMNS: &str = "SELECT h.id, h.prompt, h.created_at, h.cwd";
const NEWEST_FIRST: &str = "ORDER BY h.created_at DESC, h.id DESC LIMIT";

/// A search text, taken apart.
struct Query {
    /// An FTS5 expression: quoted prefix terms, all of which must match. Empty if no word suits the index.
    indexed: String,
    /// The other words, separated by single spaces.
    rest: String,
    /// All words, separated by single spaces.
    all: String,
}

impl Query {
    fn parse(text: &str) -> Query {
        let mut query = Query { indexed: String::new(), rest: String::new(), all: String::new() };
        let mut seen = HashSet::new();
        let mut indexed = 0;
        let add = |list: &mut String, before: &str, word: &str, after: &str| {
            if !list.is_empty() {
                list.push(' ');
            }
            list.extend([before, word, after]);
        };
        for word in text.split_whitespace().filter(|word| seen.insert(*word)).take(MAX_WORDS) {
            add(&mut query.all, "", word, "");
            if is_plain(word) && word.len() <= MAX_INDEXED_BYTES && indexed < MAX_INDEXED_WORDS {
                indexed += 1;
                add(&mut query.indexed, "\"", word, "\"*");
            } else {
                add(&mut query.rest, "", word, "");
                if let Some(token) = inner_token(word)
                    && indexed < MAX_INDEXED_WORDS
                {
                    indexed += 1;
                    add(&mut query.indexed, "\"", token, "\"*");
                }
            }
        }
        query
    }
}

/// A word of three and more letters or digits, all of which the index's tokenizer (unicode61, of Unicode 6.1) takes as
/// parts of one token, in scripts that put spaces between words. Prefix search is exact for these and for no others.
fn is_plain(word: &str) -> bool {
    word.chars().all(is_plain_char) && word.chars().nth(2).is_some()
}

fn is_plain_char(c: char) -> bool {
    match c {
        '\0'..='\x7f' => c.is_ascii_alphanumeric(),
        '\u{c0}'..='\u{24f}' | '\u{386}'..='\u{3ff}' | '\u{400}'..='\u{481}' | '\u{48a}'..='\u{527}' => {
            c.is_alphabetic()
        }
        _ => false,
    }
}

/// The longest ASCII token in a word that begins after ASCII punctuation, such as `agent` in `multi-agent`. A prompt
/// that contains the word has a token that begins with it, so the index can narrow the search; what stands before
/// the first punctuation could be the tail of a longer token.
fn inner_token(word: &str) -> Option<&str> {
    if !word.is_ascii() || word.len() > MAX_INDEXED_BYTES {
        return None;
    }
    word.split(|c: char| !c.is_ascii_alphanumeric()).skip(1).filter(|token| token.len() >= 3).max_by_key(|t| t.len())
}

/// What one word asks of a prompt.
struct Term {
    needle: Needle,
    /// The word must stand at the beginning of a token.
    at_start: bool,
}

/// A word prepared for being looked for in many prompts.
enum Needle {
    /// No letter in it has two cases.
    Exact(Finder<'static>),
    /// Short lower-case ASCII; ASCII letters of a prompt match in both cases.
    Ascii(Vec<u8>),
    /// Lower-cased; to be looked for in a lower-cased prompt.
    Folded(Finder<'static>),
}

/// Lower case, character by character. Final sigma is folded to sigma, so that the result does not depend on what
/// follows a character.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).map(|c| if c == 'ς' { 'σ' } else { c }).collect()
}

impl Term {
    fn new(word: &str) -> Term {
        let at_start = is_plain(word);
        let caseless = word.chars().all(|c| c.to_lowercase().eq([c]) && c.to_uppercase().eq([c]));
        let needle = if caseless && !at_start {
            Needle::Exact(Finder::new(word).into_owned())
        } else if word.is_ascii() && word.len() <= SHORT_NEEDLE && !at_start {
            Needle::Ascii(word.to_ascii_lowercase().into_bytes())
        } else {
            Needle::Folded(Finder::new(&fold(word)).into_owned())
        };
        Term { needle, at_start }
    }

    fn matches(&self, prompt: &str, folded: &mut Option<String>) -> bool {
        match &self.needle {
            Needle::Exact(finder) => finder.find(prompt.as_bytes()).is_some(),
            Needle::Ascii(word) => contains_ascii(prompt.as_bytes(), word),
            Needle::Folded(finder) => {
                let text = folded.get_or_insert_with(|| fold(prompt));
                // Occurrences overlap only inside one token, so the one at its beginning is never skipped.
                finder
                    .find_iter(text.as_bytes())
                    .any(|at| !self.at_start || !text[..at].chars().next_back().is_some_and(char::is_alphanumeric))
            }
        }
    }
}

/// `word` is lower case and not empty.
fn contains_ascii(text: &[u8], word: &[u8]) -> bool {
    let Some(last) = text.len().checked_sub(word.len()) else {
        return false;
    };
    let first = word[0];
    let starts = &text[..=last];
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), starts)
        .any(|at| text[at..at + word.len()].eq_ignore_ascii_case(word))
}

/// Gives a connection [`MATCH_FUNCTION`]. Its second argument is a space-separated list of words, all of which must
/// match; it is prepared once per statement.
pub(super) fn register(conn: &Connection) -> Result<(), Fault> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    conn.create_scalar_function(MATCH_FUNCTION, 2, flags, |context| {
        let terms = context.get_or_create_aux(1, |words| {
            Ok::<_, rusqlite::Error>(text_of(words).split_whitespace().map(Term::new).collect::<Vec<_>>())
        })?;
        let prompt = text_of(context.get_raw(0));
        let mut folded = None;
        Ok(terms.iter().all(|term| term.matches(&prompt, &mut folded)))
    })?;
    Ok(())
}

/// The newest prompts. `limit` is at most a few thousand: all of them are held in memory.
pub(super) fn recent(conn: &Connection, limit: usize) -> Result<Vec<HistoryEntry>, Fault> {
    let mut statement = conn.prepare(&format!("{COLUMNS} FROM history h {NEWEST_FIRST} ?1"))?;
    Ok(statement.query_map(params![count(limit)], entry)?.collect::<Result<_, _>>()?)
}

/// The newest prompts that match every word of `text`; none if there is no word in it. Without the index the same
/// words are looked for in the table.
pub(super) fn search(conn: &Connection, text: &str, limit: usize, indexed: bool) -> Result<Vec<HistoryEntry>, Fault> {
    let query = Query::parse(text);
    if query.all.is_empty() || limit == 0 {
        return Ok(Vec::new());
    }
    let collect = |sql: &str, params: &[&dyn rusqlite::ToSql]| {
        Ok(conn.prepare(sql)?.query_map(params, entry)?.collect::<Result<_, _>>()?)
    };
    if !indexed || query.indexed.is_empty() {
        let sql = format!("{COLUMNS} FROM history h WHERE {MATCH_FUNCTION}(h.prompt, ?1) {NEWEST_FIRST} ?2");
        collect(&sql, params![query.all, count(limit)])
    } else if query.rest.is_empty() {
        collect(&format!("{} {NEWEST_FIRST} ?2", by_index()), params![query.indexed, count(limit)])
    } else {
        let sql = format!("{} AND {MATCH_FUNCTION}(h.prompt, ?2) {NEWEST_FIRST} ?3", by_index());
        collect(&sql, params![query.indexed, query.rest, count(limit)])
    }
}

/// Whether the search statement finds one prompt by one plain word.
pub(super) fn finds(conn: &Connection, word: &str, id: i64) -> Result<bool, Fault> {
    let sql = format!("{} AND f.rowid = ?2 {NEWEST_FIRST} 1", by_index());
    Ok(conn.prepare(&sql)?.exists(params![format!("\"{word}\"*"), id])?)
}

/// `CROSS` fixes the order of the join: the index first, then the rows it names.
fn by_index() -> String {
    format!("{COLUMNS} FROM history_fts f CROSS JOIN history h ON h.id = f.rowid WHERE history_fts MATCH ?1")
}

fn count(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Another program may have stored any type in any column; what is not text is shown as well as it can be.
fn text_of(value: ValueRef<'_>) -> Cow<'_, str> {
    match value {
        ValueRef::Null => Cow::Borrowed(""),
        ValueRef::Integer(number) => Cow::Owned(number.to_string()),
        ValueRef::Real(number) => Cow::Owned(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes),
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<HistoryEntry> {
    Ok(HistoryEntry {
        id: row.get(0)?,
        prompt: text_of(row.get_ref(1)?).into_owned(),
        created_at: match row.get_ref(2)? {
            ValueRef::Integer(seconds) => seconds,
            other => text_of(other).parse::<f64>().unwrap_or_default() as i64,
        },
        cwd: match row.get_ref(3)? {
            ValueRef::Null => None,
            other => Some(text_of(other).into_owned()),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_where_they_are_matched_exactly() {
        let query = Query::parse("  Größe of a/bcd don't 漢字 x-\"y NEAR( AND foo:barbaz  of");
        assert_eq!(query.indexed, "\"Größe\"* \"bcd\"* \"AND\"* \"barbaz\"*");
        assert_eq!(query.rest, "of a/bcd don't 漢字 x-\"y NEAR( foo:barbaz");
        assert_eq!(query.all, "Größe of a/bcd don't 漢字 x-\"y NEAR( AND foo:barbaz");
    }

    #[test]
    fn every_kind_of_needle_agrees_with_a_naive_search() {
        let words = ["C++", "c++", "ab", "Ab-", "漢字", "ÉT", "Σ", "123-", "word", &"aA-".repeat(40)];
        let prompts = ["c++ AB-", "xC++", "漢字かな", "étude", "ΟΔΟΣ", "0123-4", "sword Words", &"aa-".repeat(41), ""];
        for word in words {
            for prompt in prompts {
                let (text, needle) = (fold(prompt), fold(word));
                let naive = text.match_indices(&needle).any(|(at, _)| {
                    !is_plain(word) || !text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
                });
                assert_eq!(Term::new(word).matches(prompt, &mut None), naive, "{word:?} in {prompt:?}");
            }
        }
    }
}
