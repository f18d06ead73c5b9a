//! The tree of entries, as numbers.

use super::{XcshSession, source};
use crate::border;
use crate::error::XcshError;
use crate::input::handle;
use crate::output::{Out, out};
use crate::status::XcshStatus;
use session::Tree;

/// The tree of a session's entries at one moment: every entry is in it exactly once. Entries are named by number. Free it
/// with xcsh_tree_free().
pub struct XcshTree(Tree);

/// Makes the tree. Free `tree` with xcsh_tree_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_session_tree(
    session: Option<&XcshSession>,
    tree: *mut *mut XcshTree,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let tree = out(tree, "tree")?;
        tree.give(XcshTree(source(session)?.look(|session| session.tree())));
        Ok(())
    })
}

fn lend(lent: &[u32], numbers: &Out<*const u32>, count: &Out<usize>) {
    if !lent.is_empty() {
        numbers.set(lent.as_ptr());
    }
    count.set(lent.len());
}

/// The roots, in the order of the file: entries without a parent, those whose parent is not there, and of each cycle the
/// entry that comes first. `numbers` is set to `count` numbers, borrowed until the tree is freed; NULL where there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_tree_roots(
    tree: Option<&XcshTree>,
    numbers: *mut *const u32,
    count: *mut usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (numbers, count) = (out(numbers, "numbers")?, out(count, "count")?);
        lend(handle(tree, "tree")?.0.roots(), &numbers, &count);
        Ok(())
    })
}

/// The children of an entry, oldest first. `numbers` is set to `count` numbers, borrowed until the tree is freed; NULL where
/// there are none, also for a number that no entry has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xcsh_tree_children(
    tree: Option<&XcshTree>,
    number: u32,
    numbers: *mut *const u32,
    count: *mut usize,
    err: *mut *mut XcshError,
) -> XcshStatus {
    border!(err, {
        let (numbers, count) = (out(numbers, "numbers")?, out(count, "count")?);
        lend(handle(tree, "tree")?.0.children(number), &numbers, &count);
        Ok(())
    })
}

/// Frees a tree. NULL does nothing.
#[unsafe(no_mangle)]
pub extern "C" fn xcsh_tree_free(tree: Option<Box<XcshTree>>) {
    border::free(tree);
}
