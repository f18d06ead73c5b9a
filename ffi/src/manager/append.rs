//! Appends. Each makes one entry behind the leaf and moves the leaf to it.

use super::{XcshManager, manager};
use crate::error::{Failure, XcshError};
use crate::input::{choice, field, handle, optional, optional_field, text, texts};
use crate::output::optional_out;
use crate::status::XcshStatus;
use crate::string::{XcshStr, XcshString};
use session::{Compaction, CustomMessage};
use std::ffi::c_char;

/// A flag that is absent from the entry.
pub const XCSH_ABSENT: u32 = 0;
/// A flag that is false in the entry.
pub const XCSH_FALSE: u32 = 1;
/// A flag that is true in the entry.
pub const XCSH_TRUE: u32 = 2;

pub(super) fn flag(number: u32, what: &str) -> Result<Option<bool>, Failure> {
    choice(&[(XCSH_ABSENT, None), (XCSH_FALSE, Some(false)), (XCSH_TRUE, Some(true))], number, what)
}

/// The fields of a compaction. Set it to zeros, then set what there is. It never gets more members; use
/// xcsh_manager_append() for fields that it does not have.
#[repr(C)]
pub struct XcshCompaction {
    /// What stands for the entries that are left out.
    pub summary: XcshStr,
    /// Optional.
    pub short_summary: XcshStr,
    /// The id of the first entry that stays in the context; optional.
    pub first_kept_entry_id: XcshStr,
    /// JSON; optional.
    pub details: XcshStr,
    /// JSON; optional.
    pub preserve_data: XcshStr,
    /// How many tokens the context had before.
    pub tokens_before: u64,
    /// XCSH_ABSENT, XCSH_FALSE or XCSH_TRUE.
    pub from_extension: u32,
}

/// The fields of a message of an extension. Set it to zeros, then set what there is. It never gets more members; use
/// xcsh_manager_append() for fields that it does not have.
#[repr(C)]
pub struct XcshCustomMessage {
    /// The extension's name for this kind of message.
    pub custom_type: XcshStr,
    /// JSON: a string or an array of blocks.
    pub content: XcshStr,
    /// JSON; optional.
    pub details: XcshStr,
    /// Optional; "agent" where it is absent.
    pub attribution: XcshStr,
    /// Whether a user sees the message: 0 or not 0.
    pub display: u32,
}

/// Appends a message; `message` is its JSON, an object, which is kept byte for byte. For this and all other appends: `id`
/// may be NULL; else it is set to the id of the new entry, free it with xcsh_string_free(). Errors of all of them:
/// XCSH_INVALID_JSON, XCSH_CLOSED, XCSH_READ_ONLY, XCSH_UNSUPPORTED_VERSION (nothing was appended), and XCSH_IO,
/// XCSH_LOCKED, XCSH_REPLACED with an xcsh_error_entry_id(): the entry is in memory and could not be written yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_message(
    manager: Option<&XcshManager>,
    message: *const c_char,
    message_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let message = text(message, message_len, "message")?;
        id.give(XcshString::new(self::manager(manager)?.append_message(message)?));
        Ok(())
    })
}

/// Appends an entry of any type. `fields` is a JSON object whose members become the entry's, in their order; `type`, `id`,
/// `parentId` and `timestamp` are not taken from it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append(
    manager: Option<&XcshManager>,
    entry_type: *const c_char,
    entry_type_len: usize,
    fields: *const c_char,
    fields_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let entry_type = text(entry_type, entry_type_len, "entry_type")?;
        let fields = text(fields, fields_len, "fields")?;
        id.give(XcshString::new(self::manager(manager)?.append(entry_type, fields)?));
        Ok(())
    })
}

/// Appends a change of the thinking level. NULL with length 0 unsets it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_thinking_level_change(
    manager: Option<&XcshManager>,
    level: *const c_char,
    level_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let level = optional(level, level_len, "level")?;
        id.give(XcshString::new(self::manager(manager)?.append_thinking_level_change(level)?));
        Ok(())
    })
}

/// Appends a change of model ("provider/modelId") for a role; NULL with length 0: for the default role.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_model_change(
    manager: Option<&XcshManager>,
    model: *const c_char,
    model_len: usize,
    role: *const c_char,
    role_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let (model, role) = (text(model, model_len, "model")?, optional(role, role_len, "role")?);
        id.give(XcshString::new(self::manager(manager)?.append_model_change(model, role)?));
        Ok(())
    })
}

/// Appends a change of mode. `data` is JSON; NULL with length 0: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_mode_change(
    manager: Option<&XcshManager>,
    mode: *const c_char,
    mode_len: usize,
    data: *const c_char,
    data_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let (mode, data) = (text(mode, mode_len, "mode")?, optional(data, data_len, "data")?);
        id.give(XcshString::new(self::manager(manager)?.append_mode_change(mode, data)?));
        Ok(())
    })
}

/// Appends a change of the service tier. NULL with length 0 unsets it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_service_tier_change(
    manager: Option<&XcshManager>,
    tier: *const c_char,
    tier_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let tier = optional(tier, tier_len, "tier")?;
        id.give(XcshString::new(self::manager(manager)?.append_service_tier_change(tier)?));
        Ok(())
    })
}

/// Appends a change of the active context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_context_change(
    manager: Option<&XcshManager>,
    name: *const c_char,
    name_len: usize,
    tenant: *const c_char,
    tenant_len: usize,
    name_space: *const c_char,
    name_space_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let (name, tenant) = (text(name, name_len, "name")?, text(tenant, tenant_len, "tenant")?);
        let name_space = text(name_space, name_space_len, "name_space")?;
        id.give(XcshString::new(self::manager(manager)?.append_context_change(name, tenant, name_space)?));
        Ok(())
    })
}

/// Appends what the session was started with: the `tools_count` names at `tools`. `output_schema` is JSON; NULL with length
/// 0: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_session_init(
    manager: Option<&XcshManager>,
    system_prompt: *const c_char,
    system_prompt_len: usize,
    task: *const c_char,
    task_len: usize,
    tools: *const XcshStr,
    tools_count: usize,
    output_schema: *const c_char,
    output_schema_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let prompt = text(system_prompt, system_prompt_len, "system_prompt")?;
        let (task, tools) = (text(task, task_len, "task")?, texts(tools, tools_count, "tools")?);
        let schema = optional(output_schema, output_schema_len, "output_schema")?;
        id.give(XcshString::new(self::manager(manager)?.append_session_init(prompt, task, &tools, schema)?));
        Ok(())
    })
}

/// Appends a compaction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_compaction(
    manager: Option<&XcshManager>,
    compaction: Option<&XcshCompaction>,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let given = handle(compaction, "compaction")?;
        let compaction = Compaction {
            summary: field(given.summary, "summary")?,
            short_summary: optional_field(given.short_summary, "short_summary")?,
            first_kept_entry_id: optional_field(given.first_kept_entry_id, "first_kept_entry_id")?,
            tokens_before: given.tokens_before,
            details: optional_field(given.details, "details")?,
            from_extension: flag(given.from_extension, "from_extension")?,
            preserve_data: optional_field(given.preserve_data, "preserve_data")?,
        };
        id.give(XcshString::new(self::manager(manager)?.append_compaction(&compaction)?));
        Ok(())
    })
}

/// Appends the state of an extension, which takes no part in the context. `data` is JSON; NULL with length 0: none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_custom_entry(
    manager: Option<&XcshManager>,
    custom_type: *const c_char,
    custom_type_len: usize,
    data: *const c_char,
    data_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let custom_type = text(custom_type, custom_type_len, "custom_type")?;
        let data = optional(data, data_len, "data")?;
        id.give(XcshString::new(self::manager(manager)?.append_custom_entry(custom_type, data)?));
        Ok(())
    })
}

/// Appends a message of an extension, which takes part in the context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_custom_message_entry(
    manager: Option<&XcshManager>,
    message: Option<&XcshCustomMessage>,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let given = handle(message, "message")?;
        let message = CustomMessage {
            custom_type: field(given.custom_type, "custom_type")?,
            content: field(given.content, "content")?,
            display: given.display != 0,
            details: optional_field(given.details, "details")?,
            attribution: optional_field(given.attribution, "attribution")?,
        };
        id.give(XcshString::new(self::manager(manager)?.append_custom_message_entry(&message)?));
        Ok(())
    })
}

/// Appends the choice of MCP tools: the `count` names at `names`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_mcp_tool_selection(
    manager: Option<&XcshManager>,
    names: *const XcshStr,
    count: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let names = texts(names, count, "names")?;
        id.give(XcshString::new(self::manager(manager)?.append_mcp_tool_selection(&names)?));
        Ok(())
    })
}

/// Appends the rules that were injected: the `count` names at `rules`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_ttsr_injection(
    manager: Option<&XcshManager>,
    rules: *const XcshStr,
    count: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let rules = texts(rules, count, "rules")?;
        id.give(XcshString::new(self::manager(manager)?.append_ttsr_injection(&rules)?));
        Ok(())
    })
}

/// Labels the entry with the id `target`; a label that is absent (NULL with length 0) or empty clears. Error:
/// XCSH_ENTRY_NOT_FOUND.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_manager_append_label_change(
    manager: Option<&XcshManager>,
    target: *const c_char,
    target_len: usize,
    label: *const c_char,
    label_len: usize,
    id: *mut *mut XcshString,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let id = optional_out(id);
        let (target, label) = (text(target, target_len, "target")?, optional(label, label_len, "label")?);
        id.give(XcshString::new(self::manager(manager)?.append_label_change(target, label)?));
        Ok(())
    })
}
