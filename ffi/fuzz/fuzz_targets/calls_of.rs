//! One call, chosen by the input.

use crate::given::{Given, World};
use crate::place::{call, give, give_string};
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use std::ptr::{null, null_mut};
use xcsh_abi::blob::*;
use xcsh_abi::discovery::*;
use xcsh_abi::manager::*;
use xcsh_abi::options::*;
use xcsh_abi::records::*;
use xcsh_abi::session::*;
use xcsh_abi::status::XCSH_OK;
use xcsh_abi::string::*;

/// What every sequence begins with, so that the first bytes of an input need not make it.
pub fn begin(world: &mut World) {
    let agent = b"/agent";
    let home = XcshEnvVar { name: text(b"HOME"), value: text(agent) };
    // SAFETY: pointers to what lives until the call is over, with its length.
    unsafe {
        world.options.put(give(true, |out, err| xcsh_options_from_env(&home, 1, out, err)));
        let options = world.options.take();
        let set = |err| xcsh_options_set_agent_dir(options.as_deref(), agent.as_ptr().cast(), agent.len(), err);
        assert_eq!(call(true, set), XCSH_OK);
        assert_eq!(call(true, |err| xcsh_options_use_memory(options.as_deref(), err)), XCSH_OK);
        let cwd = b"/srv/pi";
        let create =
            |out: *mut _, err| xcsh_manager_create(options.as_deref(), cwd.as_ptr().cast(), cwd.len(), out, err);
        world.managers.put(give(true, create));
        world.options.put(options);
    }
}

fn text(bytes: &[u8]) -> XcshStr {
    XcshStr { data: bytes.as_ptr().cast(), len: bytes.len() }
}

pub fn one(input: &mut Unstructured<'_>, world: &mut World) -> Result<()> {
    let choice = u8::arbitrary(input)? % 72;
    let with_err = u8::arbitrary(input)? % 8 != 0;
    let number = u32::from(u8::arbitrary(input)?);
    let (a, b, c) = (Given::text(input, world)?, Given::text(input, world)?, Given::text(input, world)?);
    let mut learnt = None;
    // SAFETY: handles are alive; pointers are NULL, or have length 0, or are to what lives until the call is over.
    unsafe {
        match choice {
            0..=29 => learnt = on_manager(choice, input, world, with_err, number, [&a, &b, &c])?,
            30..=49 => learnt = on_session(choice, input, world, with_err, number, [&a, &b, &c])?,
            50..=57 => learnt = on_options(choice, input, world, with_err, number, [&a, &b, &c])?,
            58..=64 => learnt = on_the_rest(choice, input, world, with_err, number, [&a, &b, &c])?,
            65 => xcsh_manager_free(world.managers.take()),
            66 => xcsh_session_free(world.sessions.take()),
            67 => xcsh_entries_free(world.entries.take()),
            68 => xcsh_context_free(world.contexts.take()),
            69 => xcsh_tree_free(world.trees.take()),
            70 => xcsh_state_free(world.states.take()),
            _ => xcsh_blobs_free(world.blobs.take()),
        }
    }
    if let Some(bytes) = learnt {
        world.learn(bytes);
    }
    Ok(())
}

type Learnt = Result<Option<Vec<u8>>>;

unsafe fn on_manager(
    choice: u8,
    input: &mut Unstructured<'_>,
    world: &mut World,
    with_err: bool,
    number: u32,
    [a, b, c]: [&Given; 3],
) -> Learnt {
    let texts = [a.str(), b.str(), c.str()];
    let count = number as usize % 4;
    let compaction = XcshCompaction {
        summary: a.str(),
        short_summary: b.str(),
        first_kept_entry_id: c.str(),
        details: b.str(),
        preserve_data: a.str(),
        tokens_before: number.into(),
        from_extension: number % 4,
    };
    let message = XcshCustomMessage {
        custom_type: a.str(),
        content: b.str(),
        details: c.str(),
        attribution: XcshStr { data: null(), len: 0 },
        display: number % 2,
    };
    let lines = [XcshEntryLine { number, line: a.str() }, XcshEntryLine { number: number / 2, line: b.str() }];
    let other = world.states.get(input)?.map(|state| state as *const XcshState);
    let manager = world.managers.get(input)?;
    // SAFETY: as in `one`.
    unsafe {
        let string = |run: &dyn Fn(*mut *mut XcshString, *mut *mut xcsh_abi::error::XcshError) -> u32| {
            give_string(with_err, run)
        };
        Ok(match choice {
            0..=2 => string(&|out, err| xcsh_manager_append_message(manager, a.data, a.len, out, err)),
            3 => string(&|out, err| xcsh_manager_append(manager, a.data, a.len, b.data, b.len, out, err)),
            4 => string(&|out, err| xcsh_manager_append_thinking_level_change(manager, a.data, a.len, out, err)),
            5 => string(&|out, err| xcsh_manager_append_model_change(manager, a.data, a.len, b.data, b.len, out, err)),
            6 => string(&|out, err| xcsh_manager_append_mode_change(manager, a.data, a.len, b.data, b.len, out, err)),
            7 => string(&|out, err| xcsh_manager_append_compaction(manager, Some(&compaction), out, err)),
            8 => string(&|out, err| xcsh_manager_append_custom_message_entry(manager, Some(&message), out, err)),
            9 => string(&|out, err| xcsh_manager_append_custom_entry(manager, a.data, a.len, b.data, b.len, out, err)),
            10 => string(&|out, err| xcsh_manager_append_mcp_tool_selection(manager, texts.as_ptr(), count, out, err)),
            11 => string(&|out, err| xcsh_manager_append_ttsr_injection(manager, texts.as_ptr(), count, out, err)),
            12 => string(&|out, err| xcsh_manager_append_label_change(manager, a.data, a.len, b.data, b.len, out, err)),
            13 => string(&|out, err| {
                let schema = (c.data, c.len);
                xcsh_manager_append_session_init(
                    manager,
                    a.data,
                    a.len,
                    b.data,
                    b.len,
                    texts.as_ptr(),
                    count,
                    schema.0,
                    schema.1,
                    out,
                    err,
                )
            }),
            14 => string(&|out, err| {
                let flag = number % 4;
                xcsh_manager_branch_with_summary(manager, a.data, a.len, b.data, b.len, c.data, c.len, flag, out, err)
            }),
            15 => {
                call(with_err, |err| xcsh_manager_branch(manager, a.data, a.len, err));
                None
            }
            16 => {
                call(with_err, |err| xcsh_manager_reset_leaf(manager, err));
                None
            }
            17 => {
                call(with_err, |err| xcsh_manager_rewrite_entries(manager, lines.as_ptr(), count % 3, err));
                None
            }
            18 => {
                call(with_err, |err| xcsh_manager_replace_entry(manager, a.data, a.len, b.data, b.len, err));
                None
            }
            19 => {
                let name = (a.data, a.len);
                call(with_err, |err| {
                    xcsh_manager_set_session_name(manager, name.0, name.1, number % 3, null_mut(), err)
                });
                None
            }
            20 => string(&|out, err| xcsh_manager_new_session(manager, a.data, a.len, out, err)),
            21 => {
                call(with_err, |err| xcsh_manager_set_session_file(manager, a.data, a.len, err));
                None
            }
            22 => string(&|out, err| xcsh_manager_fork(manager, null_mut(), out, err)),
            23 => string(&|out, err| xcsh_manager_create_branched_session(manager, a.data, a.len, out, err)),
            24 => {
                call(with_err, |err| xcsh_manager_move_to(manager, a.data, a.len, err));
                None
            }
            25 => {
                call(with_err, |err| match number % 4 {
                    0 => xcsh_manager_close(manager, err),
                    1 => xcsh_manager_ensure_on_disk(manager, err),
                    2 => xcsh_manager_recover(manager, err),
                    _ => xcsh_manager_flush(manager, err),
                });
                None
            }
            26 => {
                let state = give(with_err, |out, err| xcsh_manager_capture_state(manager, out, err));
                world.states.put(state);
                None
            }
            27 => {
                call(with_err, |err| xcsh_manager_restore_state(manager, other.map(|state| &*state), err));
                None
            }
            28 => {
                let entries = give(with_err, |out, err| xcsh_manager_refresh(manager, out, err));
                world.entries.put(entries);
                string(&|out, err| xcsh_manager_save_artifact(manager, a.bytes(), a.len, b.data, b.len, out, err))
            }
            _ => {
                let session = give(with_err, |out, err| xcsh_manager_view(manager, out, err));
                world.sessions.put(session);
                string(&|out, err| xcsh_manager_session_file(manager, out, err))
            }
        })
    }
}

unsafe fn on_session(
    choice: u8,
    input: &mut Unstructured<'_>,
    world: &mut World,
    with_err: bool,
    number: u32,
    [a, b, _]: [&Given; 3],
) -> Learnt {
    let file = Given::file(input)?;
    let session = world.sessions.get(input)?;
    // SAFETY: as in `one`.
    unsafe {
        let string = |run: &dyn Fn(*mut *mut XcshString, *mut *mut xcsh_abi::error::XcshError) -> u32| {
            give_string(with_err, run)
        };
        Ok(match choice {
            30 | 31 => {
                let options = world.options.get(input)?;
                let parsed = give(with_err, |out, err| {
                    xcsh_session_parse(options, file.bytes(), file.len, b.data, b.len, out, err)
                });
                world.sessions.put(parsed);
                None
            }
            32 => {
                let options = world.options.get(input)?;
                let read = give(with_err, |out, err| xcsh_session_read(options, a.data, a.len, out, err));
                world.sessions.put(read);
                None
            }
            33 => {
                let entries = give(with_err, |out, err| xcsh_session_entries(session, out, err));
                world.entries.put(entries);
                None
            }
            34 => {
                let entries = give(with_err, |out, err| xcsh_session_branch(session, a.data, a.len, out, err));
                world.entries.put(entries);
                None
            }
            35 => {
                let entries = give(with_err, |out, err| xcsh_session_children(session, a.data, a.len, out, err));
                world.entries.put(entries);
                None
            }
            36 | 37 => next(input, world, with_err)?,
            38 | 39 => {
                let (leaf, resolution) = (number % 4, number / 4 % 4);
                let context =
                    give(with_err, |out, err| xcsh_session_context(session, leaf, a.data, a.len, resolution, out, err));
                world.contexts.put(context);
                None
            }
            40 => {
                let tree = give(with_err, |out, err| xcsh_session_tree(session, out, err));
                world.trees.put(tree);
                None
            }
            41 => string(&|out, err| xcsh_session_header_json(session, out, err)),
            42 => string(&|out, err| xcsh_session_title(session, out, err)),
            43 => string(&|out, err| xcsh_session_leaf_id(session, out, err)),
            44 => string(&|out, err| xcsh_session_line(session, number, out, err)),
            45 => string(&|out, err| xcsh_session_resolved_line(session, number, out, err)),
            46 => string(&|out, err| xcsh_session_label(session, a.data, a.len, out, err)),
            47 => string(&|out, err| xcsh_session_labels_json(session, out, err)),
            48 => string(&|out, err| xcsh_session_diagnostics_json(session, out, err)),
            _ => {
                let rules = give(with_err, |out, err| xcsh_session_injected_ttsr_rules(session, out, err));
                xcsh_strings_free(rules);
                string(&|out, err| xcsh_session_last_model_change_role(session, out, err))
            }
        })
    }
}

/// Looks at every byte that an iteration lends, and learns an id.
unsafe fn next(input: &mut Unstructured<'_>, world: &mut World, with_err: bool) -> Learnt {
    let entries = world.entries.get(input)?;
    let nothing = XcshStr { data: null(), len: 0 };
    let mut view = XcshEntryView { number: 0, id: nothing, parent_id: nothing, entry_type: nothing, line: nothing };
    // SAFETY: as in `one`; what is lent is valid until the next call with the iteration.
    unsafe {
        let seen = |text: XcshStr| match text.data.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(text.data.cast::<u8>(), text.len).to_vec(),
        };
        if call(with_err, |err| xcsh_entries_next(entries, &mut view, err)) != XCSH_OK {
            return Ok(None);
        }
        for lent in [view.line, view.entry_type, view.parent_id] {
            assert!(std::str::from_utf8(&seen(lent)).is_ok());
        }
        Ok(Some(seen(view.id)))
    }
}

unsafe fn on_options(
    choice: u8,
    input: &mut Unstructured<'_>,
    world: &mut World,
    with_err: bool,
    number: u32,
    [a, b, c]: [&Given; 3],
) -> Learnt {
    let options = world.options.get(input)?;
    // SAFETY: as in `one`.
    unsafe {
        Ok(match choice {
            50 => {
                call(with_err, |err| match number % 6 {
                    0 => xcsh_options_set_profile(options, number / 6, err),
                    1 => xcsh_options_set_layout(options, number / 6, err),
                    2 => xcsh_options_set_model_resolution(options, number / 6, err),
                    3 => xcsh_options_set_on_invalid(options, number / 6, err),
                    4 => xcsh_options_set_read_only(options, number as i32 / 128, err),
                    _ => xcsh_options_set_migrate_at_once(options, number as i32 / 128, err),
                });
                None
            }
            51 => {
                let made = give(with_err, |out, err| xcsh_manager_create(options, a.data, a.len, out, err));
                world.managers.put(made);
                None
            }
            52 => {
                let made = give(with_err, |out, err| xcsh_manager_open(options, a.data, a.len, out, err));
                world.managers.put(made);
                None
            }
            53 => {
                let made = give(with_err, |out, err| xcsh_manager_in_memory(options, a.data, a.len, out, err));
                world.managers.put(made);
                None
            }
            54 => {
                let made =
                    give(with_err, |out, err| xcsh_manager_fork_from(options, a.data, a.len, b.data, b.len, out, err));
                world.managers.put(made);
                None
            }
            55 => {
                give_string(with_err, |out, err| {
                    xcsh_list_sessions(options, a.data, a.len, b.data, b.len, number as i32 % 2, out, err)
                });
                give_string(with_err, |out, err| xcsh_list_all_sessions(options, number as i32 % 2, out, err));
                let made = give(with_err, |out, err| xcsh_manager_continue_recent(options, a.data, a.len, out, err));
                world.managers.put(made);
                None
            }
            56 => {
                give_string(with_err, |out, err| {
                    xcsh_resolve_session(options, a.data, a.len, b.data, b.len, c.data, c.len, out, err)
                });
                give_string(with_err, |out, err| xcsh_most_recent_session(options, a.data, a.len, out, err))
            }
            _ => {
                let limit = number as usize % 5;
                give_string(with_err, |out, err| xcsh_recent_sessions(options, a.data, a.len, limit, out, err));
                call(with_err, |err| xcsh_delete_session_with_artifacts(options, b.data, b.len, err));
                give_string(with_err, |out, err| xcsh_options_session_dir(options, a.data, a.len, out, err))
            }
        })
    }
}

unsafe fn on_the_rest(
    choice: u8,
    input: &mut Unstructured<'_>,
    world: &mut World,
    with_err: bool,
    number: u32,
    [a, b, c]: [&Given; 3],
) -> Learnt {
    let file = Given::file(input)?;
    let texts = [a.str(), b.str(), c.str()];
    let count = number as usize % 4;
    // SAFETY: as in `one`.
    unsafe {
        Ok(match choice {
            58 => {
                let options = world.options.get(input)?;
                world.blobs.put(give(with_err, |out, err| xcsh_blobs_new(options, out, err)));
                give_string(with_err, |out, err| {
                    xcsh_gc_blobs(options, number as i32 % 2, 0, texts.as_ptr(), count, out, err)
                });
                None
            }
            59 => {
                let blobs = world.blobs.get(input)?;
                give_string(with_err, |out, err| xcsh_blobs_get(blobs, b.data, b.len, out, err));
                give_string(with_err, |out, err| xcsh_blobs_put(blobs, a.bytes(), a.len, out, err))
            }
            60 => {
                xcsh_strings_free(give(with_err, |out, err| xcsh_parse_entries(file.bytes(), file.len, out, err)));
                None
            }
            61 => {
                let migrated = |out: *mut _, err| xcsh_migrate_entries(texts.as_ptr(), count, out, err);
                xcsh_strings_free(give(with_err, migrated));
                None
            }
            62 => {
                let (leaf, resolution) = (number % 4, number / 4 % 4);
                give_string(with_err, |out, err| {
                    xcsh_build_context(texts.as_ptr(), count, leaf, c.data, c.len, resolution, out, err)
                });
                None
            }
            63 => {
                let context = world.contexts.get(input)?;
                let mut lent = XcshStr { data: null(), len: 0 };
                let index = number as usize % 4;
                call(with_err, |err| xcsh_context_message(context, index, &mut lent, err));
                let mut entry = 0;
                call(with_err, |err| xcsh_context_message_entry(context, index, &mut entry, err));
                give_string(with_err, |out, err| xcsh_context_json(context, out, err));
                None
            }
            _ => {
                let tree = world.trees.get(input)?;
                let (mut numbers, mut len) = (null(), 0);
                call(with_err, |err| xcsh_tree_roots(tree, &mut numbers, &mut len, err));
                assert_eq!(numbers.is_null(), len == 0);
                call(with_err, |err| xcsh_tree_children(tree, number, &mut numbers, &mut len, err));
                assert_eq!(numbers.is_null(), len == 0);
                None
            }
        })
    }
}
