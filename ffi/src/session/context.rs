//! The context that goes to the model.

use super::{XcshSession, source};
use crate::border;
use crate::error::{Failure, XcshError};
use crate::input::{at, choice, handle, text};
use crate::options::model_resolution;
use crate::output::out;
use crate::status::XcshStatus;
use crate::string::{XcshStr, XcshString};
use session::{ContextPlan, Leaf};
use std::ffi::c_char;

/// The context of the last entry.
pub const XCSH_LEAF_LAST: u32 = 0;
/// An empty context.
pub const XCSH_LEAF_NONE: u32 = 1;
/// The context of the entry with an id; of the last entry where no entry has it.
pub const XCSH_LEAF_ID: u32 = 2;

/// A context: messages and settings. It does not change any more. Free it with xcsh_context_free().
pub struct XcshContext {
    plan: ContextPlan,
    messages: Vec<String>,
}

#[derive(Clone, Copy)]
enum Kind {
    Last,
    None,
    Id,
}

pub(crate) fn leaf<'a>(kind: u32, id: &'a str) -> Result<Leaf<'a>, Failure> {
    let kinds = [(XCSH_LEAF_LAST, Kind::Last), (XCSH_LEAF_NONE, Kind::None), (XCSH_LEAF_ID, Kind::Id)];
    Ok(match choice(&kinds, kind, "XCSH_LEAF")? {
        Kind::Last => Leaf::Last,
        Kind::None => Leaf::None,
        Kind::Id => Leaf::Id(id),
    })
}

/// Builds the context for a leaf: `leaf` is one of XCSH_LEAF_.., `entry_id` is looked at for XCSH_LEAF_ID only. (The leaf of
/// the session is XCSH_LEAF_ID with xcsh_session_leaf_id(), and XCSH_LEAF_NONE where that gives NULL.) `resolution` is one
/// of XCSH_MODEL_.. Free `context` with xcsh_context_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_context(
    session: Option<&XcshSession>,
    leaf: u32,
    entry_id: *const c_char,
    entry_id_len: usize,
    resolution: u32,
    context: *mut *mut XcshContext,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let context = out(context, "context")?;
        let id = if leaf == XCSH_LEAF_ID { text(entry_id, entry_id_len, "entry_id")? } else { "" };
        let (leaf, resolution) = (self::leaf(leaf, id)?, model_resolution(resolution)?);
        let built = source(session)?.look(|session| -> Result<_, Failure> {
            let plan = match resolution {
                None => session.context(leaf)?,
                Some(resolution) => session.context_with(leaf, resolution)?,
            };
            let messages = session.messages(&plan)?;
            Ok(XcshContext { plan, messages })
        })?;
        context.give(built);
        Ok(())
    })
}

/// The JSON of a whole context: an object with messages, thinkingLevel, serviceTier, models, activeContextName,
/// activeContextTenant, injectedTtsrRules, selectedMCPToolNames, hasPersistedMCPToolSelection, mode and modeData; what is
/// not set is left out. Free `json` with xcsh_string_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_context_json(
    context: Option<&XcshContext>,
    json: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let XcshContext { plan, messages } = handle(context, "context")?;
        json.give(XcshString::new(plan.to_json(messages)));
        Ok(())
    })
}

/// The number of messages; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_context_len(context: Option<&XcshContext>) -> usize {
    context.map_or(0, |context| context.messages.len())
}

/// The JSON of a message, exactly as it was appended, borrowed until the context is freed. Messages are counted from 0.
/// Error: XCSH_INVALID_ARGUMENT where there is no such message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_context_message(
    context: Option<&XcshContext>,
    index: usize,
    json: *mut XcshStr,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let json = out(json, "json")?;
        let messages = &handle(context, "context")?.messages;
        json.set(XcshStr::of(at(messages, index, "message")?.as_bytes()));
        Ok(())
    })
}

/// The number of the entry that a message is made of. Error: XCSH_INVALID_ARGUMENT where there is no such message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_context_message_entry(
    context: Option<&XcshContext>,
    index: usize,
    number: *mut u32,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let number = out(number, "number")?;
        let messages = &handle(context, "context")?.plan.messages;
        number.set(at(messages, index, "message")?.entry);
        Ok(())
    })
}

/// Frees a context. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_context_free(context: Option<Box<XcshContext>>) {
    border::free(context);
}
