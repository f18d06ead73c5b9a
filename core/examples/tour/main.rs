//! A tour of the session manager: makes a store in a temporary directory and shows what is on disk at each step.
//!
//! `cargo run --release --example tour`

mod crash;
mod show;

use show::{Disk, step};
use std::error::Error;
use std::sync::Arc;
use xcsh_session::dirs::AgentDirs;
use xcsh_session::storage::FileSessionStorage;
use xcsh_session::{Compaction, Leaf, ManagerOptions, SessionManager, TitleSource};

fn main() -> Result<(), Box<dyn Error>> {
    if let Some(file) = crash::asked_for() {
        return crash::append_until_killed(&file);
    }
    let dir = tempfile::tempdir()?;
    let disk = Disk::new(dir.path());
    let options = ManagerOptions::at(AgentDirs::at(dir.path()), Arc::new(FileSessionStorage::new()));
    println!("A store in {}; it is removed at the end.", dir.path().display());

    step("A new session: nothing is on disk before the first answer");
    let session = SessionManager::create("/srv/shop", options.clone())?;
    let question =
        session.append_message(r#"{"role":"user","content":"Why is the total a cent off?","timestamp":1}"#)?;
    disk.show();

    step("The answer: now the file is there, the question in it too");
    let answer = session.append_message(&assistant("Prices are floats; the sum drifts."))?;
    session.flush()?;
    disk.show();

    step("A branch: the same question asked on from an earlier entry; nothing is overwritten");
    session.append_message(r#"{"role":"user","content":"Round at the end, then.","timestamp":3}"#)?;
    session.branch(&answer)?;
    session.append_label_change(&answer, Some("two ways"))?;
    session.append_message(r#"{"role":"user","content":"Count in cents.","timestamp":4}"#)?;
    session.append_message(&assistant("Done: all prices are whole cents."))?;
    disk.show();
    show::tree(&session)?;

    step("A compaction: the model gets a summary and what follows the entry that is kept");
    session.append_compaction(&Compaction {
        summary: "Prices were floats; they are whole cents now.",
        first_kept_entry_id: Some(&answer),
        tokens_before: 42_000,
        ..Compaction::default()
    })?;
    show::context(&session)?;

    step("An image: its bytes go to the blob store, the line keeps a reference; readers get the image back");
    let image = "iVBORw0KGgo".to_owned() + &"A".repeat(4085);
    session.append_message(&format!(
        r#"{{"role":"user","content":[{{"type":"image","mimeType":"image/png","data":"{image}"}}],"timestamp":5}}"#
    ))?;
    session.flush()?;
    disk.show();
    let read_back = session.read(|session| {
        let plan = session.context(Leaf::Last)?;
        session.messages(&plan)
    })?;
    println!("  the context holds the whole image: {}", read_back.iter().any(|message| message.contains(&image)));

    step("A title: the file is rewritten beside itself and renamed over, so a crash leaves the old or the new one");
    session.set_session_name("Count prices\n in cents", TitleSource::User)?;
    disk.show();

    step("A fork: a second file goes on, the first stays as it was");
    if let Some(fork) = session.fork()? {
        println!("  from {}\n  to   {}", show::name(&fork.old_file), show::name(&fork.new_file));
    }
    session.append_message(r#"{"role":"user","content":"And taxes?","timestamp":6}"#)?;
    session.close()?;
    disk.show();

    step("A crash: a child process appends and is killed in the middle; every acknowledged entry is there");
    let file = session.session_file().ok_or("the session has a file")?;
    let acknowledged = crash::kill_a_writer(&file)?;
    let reopened = SessionManager::open(&file, options)?;
    let found = reopened.read(|session| acknowledged.iter().filter(|id| session.number_of(id).is_some()).count());
    println!("  acknowledged before the kill: {}; found after reopening: {found}", acknowledged.len());
    let clean = reopened.read(|session| session.diagnostics())?.is_clean();
    println!("  the file has no damaged line: {clean}");
    disk.show();
    reopened.close()?;
    if found != acknowledged.len() {
        return Err(format!("{} acknowledged entries are lost", acknowledged.len() - found).into());
    }
    println!("\nThe first question is still {question}, wherever it is read.");
    Ok(())
}

fn assistant(text: &str) -> String {
    let usage = r#"{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.002}}"#;
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"provider":"anthropic","model":"claude-sonnet-4-5","usage":{usage},"timestamp":2}}"#
    )
}
