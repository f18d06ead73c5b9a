/*
 * xcsh_session.h - the session store of a coding agent.
 *
 * Made by cbindgen from the sources of the library; do not edit.
 *
 * CALLS. A function that can fail returns an XcshStatus, XCSH_OK (0) on success. Its arguments come
 * in this order: the handle it works on, what it takes, places for what it gives, and
 * `XcshError **err`. `err` may be NULL; else it is always set: to NULL on success, or to an error
 * that says more, which you free with xcsh_error_free().
 *
 * RESULTS. Places for results must not be NULL, except where "may be NULL" is said. They are set to
 * NULL, 0 or false before anything else, so after a failure there is nothing in them to free.
 *
 * OWNERSHIP. What a function puts into an `XcshSomething **` is yours; free it with the function of
 * that name that ends in _free. Freeing NULL does nothing. Handles can be freed in any order:
 * what came from a handle stays usable when the handle is freed. What is borrowed (XcshStr,
 * XcshEntryView, lists of numbers) is valid as long as its function says.
 *
 * STRINGS. Text is UTF-8, passed as pointer and length in bytes, without a NUL at its end; NUL bytes
 * in it are allowed. Where the length is 0 the pointer is not followed. An optional text is absent
 * as NULL with length 0; another pointer with length 0 is the empty text. NULL with another length
 * gives XCSH_NULL_POINTER, invalid UTF-8 XCSH_INVALID_UTF8. Nothing that you pass is kept or
 * changed, and it can be freed when the function returns. JSON goes in and out as text. Paths are
 * text too: one that is not UTF-8 cannot be passed, and gives XCSH_INVALID_UTF8 where it would be
 * a result.
 *
 * THREADS. Every handle can be used by several threads at once, without a lock of yours. Only
 * freeing must come after all other uses.
 *
 * PANICS. No panic or exception leaves the library; XCSH_PANIC stands for it.
 */


#ifndef XCSH_SESSION_H
#define XCSH_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * The ABI that this header describes; compare it with xcsh_abi_version(). The upper 16 bits are the major number, which is
 * also the number in the soname: it changes when something that existed is removed or means something else. The
 * lower 16 bits are the minor number: it counts up when functions, constants or status numbers are added.
 */
#define XCSH_ABI_VERSION 1

/**
 * As the format's document says.
 */
#define XCSH_PROFILE_DOCUMENT 0

/**
 * As today's agent does: XCSH_LAYOUT_HOME_RELATIVE, XCSH_MODEL_LATEST, and a migrated file written at the next write.
 */
#define XCSH_PROFILE_AGENT 1

/**
 * Sessions of /srv/pi go to --srv-pi--.
 */
#define XCSH_LAYOUT_DOCUMENT 0

/**
 * Directory names follow from the path below the home directory, or below the one for temporary files.
 */
#define XCSH_LAYOUT_HOME_RELATIVE 1

/**
 * As the options that the session was read with say.
 */
#define XCSH_MODEL_DEFAULT 0

/**
 * The default model of a context is that of the last model_change; only where there is none, that of the last assistant
 * message.
 */
#define XCSH_MODEL_CHANGE 1

/**
 * The default model of a context is that of the newest of model_change and assistant message.
 */
#define XCSH_MODEL_LATEST 2

/**
 * A file that is no session is moved aside whole and a new session takes its place.
 */
#define XCSH_ON_INVALID_MOVE_ASIDE 0

/**
 * A file that is no session is left alone; opening it fails with XCSH_NOT_A_SESSION.
 */
#define XCSH_ON_INVALID_REFUSE 1

/**
 * The agent directory.
 */
#define XCSH_DIR_AGENT 0

/**
 * Holds one directory per working directory.
 */
#define XCSH_DIR_SESSIONS 1

/**
 * Holds the blobs.
 */
#define XCSH_DIR_BLOBS 2

/**
 * Holds one breadcrumb per terminal.
 */
#define XCSH_DIR_TERMINAL_SESSIONS 3

/**
 * The database of the prompt history, a file.
 */
#define XCSH_DIR_HISTORY_DB 4

/**
 * A flag that is absent from the entry.
 */
#define XCSH_ABSENT 0

/**
 * A flag that is false in the entry.
 */
#define XCSH_FALSE 1

/**
 * A flag that is true in the entry.
 */
#define XCSH_TRUE 2

/**
 * The session has no title, or its header does not say who chose it.
 */
#define XCSH_TITLE_UNKNOWN 0

/**
 * The title was made up by the agent; it never replaces a user's.
 */
#define XCSH_TITLE_AUTO 1

/**
 * The title was chosen by the user.
 */
#define XCSH_TITLE_USER 2

/**
 * The context of the last entry.
 */
#define XCSH_LEAF_LAST 0

/**
 * An empty context.
 */
#define XCSH_LEAF_NONE 1

/**
 * The context of the entry with an id; of the last entry where no entry has it.
 */
#define XCSH_LEAF_ID 2

/**
 * No messages.
 */
#define XCSH_LOG_OFF 0

/**
 * Something was not done that was asked for.
 */
#define XCSH_LOG_ERROR 1

/**
 * Something is not as it should be; the library goes on.
 */
#define XCSH_LOG_WARN 2

/**
 * What an administrator may want to know.
 */
#define XCSH_LOG_INFO 3

/**
 * What a developer may want to know.
 */
#define XCSH_LOG_DEBUG 4

/**
 * Everything.
 */
#define XCSH_LOG_TRACE 5

/**
 * The blob store: bytes under the name of their SHA-256 hash. Free it with xcsh_blobs_free(). Usable from several threads,
 * and from several processes.
 */
typedef struct XcshBlobs XcshBlobs;

/**
 * A context: messages and settings. It does not change any more. Free it with xcsh_context_free().
 */
typedef struct XcshContext XcshContext;

/**
 * An iteration over entries. Free it with xcsh_entries_free(); it can outlive the session and the manager it came from.
 */
typedef struct XcshEntries XcshEntries;

/**
 * What went wrong. Every function that takes `XcshError **err` sets it: to NULL on success, else to an error that
 * you own; free it with xcsh_error_free(). `err` itself may be NULL: then there is only the status.
 */
typedef struct XcshError XcshError;

/**
 * The prompt history, an SQLite database. Free it with xcsh_history_free(). Usable from several threads; several processes
 * can have the same database open. Not to be used across fork(): open a new one in the child. A program that opens the
 * same file with an SQLite of its own breaks the locks of both.
 */
typedef struct XcshHistory XcshHistory;

/**
 * A session that is being written. Free it with xcsh_manager_free(). Every function but that one can be called from
 * several threads at once.
 *
 * Entries are kept in memory until the first assistant message; then the file is made, and each append is in the
 * kernel when it returns: killing the process loses nothing. xcsh_manager_flush() makes it survive a power loss. An
 * append that cannot be written keeps its entry in memory and returns the error, which names the entry; the next
 * operation tries again. Several managers, in one or several processes, can write the same file.
 */
typedef struct XcshManager XcshManager;

/**
 * Where sessions, blobs and breadcrumbs lie, and how managers behave. Free it with xcsh_options_free(). What is made
 * with options copies them: changing or freeing them later does not matter to it.
 */
typedef struct XcshOptions XcshOptions;

/**
 * A session to read: a snapshot of a file (xcsh_session_read(), xcsh_session_parse()), which never changes, or the view of
 * a manager (xcsh_manager_view()), which always shows what the manager has at the moment of the call. Free it with
 * xcsh_session_free(). Every function but that one can be called from several threads at once.
 */
typedef struct XcshSession XcshSession;

/**
 * Where a manager was: which session, and where its leaf. Free it with xcsh_state_free().
 */
typedef struct XcshState XcshState;

/**
 * An owned string; free it with xcsh_string_free(). Text is UTF-8, the contents of blobs are any bytes. There can be
 * NUL bytes in it, and there is always one behind it, which the length does not count.
 */
typedef struct XcshString XcshString;

/**
 * An owned list of strings; free it with xcsh_strings_free().
 */
typedef struct XcshStrings XcshStrings;

/**
 * The tree of a session's entries at one moment: every entry is in it exactly once. Entries are named by number. Free it
 * with xcsh_tree_free().
 */
typedef struct XcshTree XcshTree;

/**
 * How a call went: 0 for success, else the number of what went wrong. Numbers keep their meaning forever; new ones may
 * be added, so treat a number that you do not know by its family:
 *
 *   0 ..  99   success, no error object
 * 100 .. 199   the call itself is wrong; the same call fails again
 * 200 .. 299   the session does not allow it
 * 300 .. 399   what was named is missing, or is not what it should be
 * 400 .. 499   the operating system or another process stood in the way; the same call can succeed later
 * 900 .. 999   a fault of the library
 */
typedef uint32_t XcshStatus;

/**
 * A borrowed string: `len` bytes at `data`. A string that the library gives is UTF-8 (where nothing else is said),
 * can have NUL bytes in it, and lives as long as the function that gave it says; `data` is NULL where there is no
 * string, which is not the same as an empty one. In a string that you give, `data` is not followed where `len` is 0;
 * with `len` 0 a NULL means "absent" where the field is optional, and any other pointer means the empty string.
 */
typedef struct XcshStr {
    /**
     * The first byte.
     */
    const char *data;
    /**
     * How many bytes there are.
     */
    size_t len;
} XcshStr;

/**
 * An environment variable.
 */
typedef struct XcshEnvVar {
    /**
     * Its name.
     */
    struct XcshStr name;
    /**
     * Its value.
     */
    struct XcshStr value;
} XcshEnvVar;

/**
 * The fields of a compaction. Set it to zeros, then set what there is. It never gets more members; use
 * xcsh_manager_append() for fields that it does not have.
 */
typedef struct XcshCompaction {
    /**
     * What stands for the entries that are left out.
     */
    struct XcshStr summary;
    /**
     * Optional.
     */
    struct XcshStr short_summary;
    /**
     * The id of the first entry that stays in the context; optional.
     */
    struct XcshStr first_kept_entry_id;
    /**
     * JSON; optional.
     */
    struct XcshStr details;
    /**
     * JSON; optional.
     */
    struct XcshStr preserve_data;
    /**
     * How many tokens the context had before.
     */
    uint64_t tokens_before;
    /**
     * XCSH_ABSENT, XCSH_FALSE or XCSH_TRUE.
     */
    uint32_t from_extension;
} XcshCompaction;

/**
 * The fields of a message of an extension. Set it to zeros, then set what there is. It never gets more members; use
 * xcsh_manager_append() for fields that it does not have.
 */
typedef struct XcshCustomMessage {
    /**
     * The extension's name for this kind of message.
     */
    struct XcshStr custom_type;
    /**
     * JSON: a string or an array of blocks.
     */
    struct XcshStr content;
    /**
     * JSON; optional.
     */
    struct XcshStr details;
    /**
     * Optional; "agent" where it is absent.
     */
    struct XcshStr attribution;
    /**
     * Whether a user sees the message: 0 or not 0.
     */
    uint32_t display;
} XcshCustomMessage;

/**
 * A line for an entry.
 */
typedef struct XcshEntryLine {
    /**
     * The entry's number: its place in the session, from 0.
     */
    uint32_t number;
    /**
     * The JSON of the whole entry.
     */
    struct XcshStr line;
} XcshEntryLine;

/**
 * Sums over the messages of a session: tokens are counts, cost is in the currency that the providers reported. What a
 * message does not say counts 0.
 */
typedef struct XcshUsage {
    /**
     * Tokens sent and not cached.
     */
    double input;
    /**
     * Tokens received.
     */
    double output;
    /**
     * Tokens read from the provider's cache.
     */
    double cache_read;
    /**
     * Tokens written to the provider's cache.
     */
    double cache_write;
    /**
     * Premium requests, a fraction where a request counts in part.
     */
    double premium_requests;
    /**
     * Total cost.
     */
    double cost;
} XcshUsage;

/**
 * A look at an entry, lent by the iteration that gave it: see xcsh_entries_next().
 */
typedef struct XcshEntryView {
    /**
     * The entry's place in the session, from 0.
     */
    uint32_t number;
    /**
     * `data` is NULL where the entry has no id.
     */
    struct XcshStr id;
    /**
     * `data` is NULL where the entry is a root.
     */
    struct XcshStr parent_id;
    /**
     * The type, such as "message".
     */
    struct XcshStr entry_type;
    /**
     * The JSON of the whole entry, exactly as it is, without its line end.
     */
    struct XcshStr line;
} XcshEntryView;

/**
 * Gets a message: `level` is one of XCSH_LOG_.., `target` names the part of the library, both texts are borrowed until
 * the function returns. It is called by whichever thread has something to say, also by several at once, also by threads
 * of the library. It must not throw or jump out, and messages that come of what it calls itself are dropped.
 */
typedef void (*XcshLogFn)(void *user,
                          uint32_t level,
                          struct XcshStr target,
                          struct XcshStr message);

/**
 * Success.
 */
#define XCSH_OK 0

/**
 * Success: an iteration has no more items.
 */
#define XCSH_END 1

/**
 * A pointer that must not be NULL is NULL.
 */
#define XCSH_NULL_POINTER 100

/**
 * A text is not valid UTF-8.
 */
#define XCSH_INVALID_UTF8 101

/**
 * An argument makes no sense; the message says which and why.
 */
#define XCSH_INVALID_ARGUMENT 102

/**
 * A text that must be JSON is not, or is not the kind of value that is needed.
 */
#define XCSH_INVALID_JSON 103

/**
 * The handle was closed.
 */
#define XCSH_CLOSED 200

/**
 * The session is open read-only.
 */
#define XCSH_READ_ONLY 201

/**
 * The session was written by a newer agent: it can be read, not changed.
 */
#define XCSH_UNSUPPORTED_VERSION 202

/**
 * Entries have other numbers since this iteration began; begin a new one.
 */
#define XCSH_RENUMBERED 203

/**
 * There is no such file.
 */
#define XCSH_NOT_FOUND 300

/**
 * No entry has this id.
 */
#define XCSH_ENTRY_NOT_FOUND 301

/**
 * The file has bytes, but its first record is no session header.
 */
#define XCSH_NOT_A_SESSION 302

/**
 * Another session was put in this one's place; nothing was overwritten.
 */
#define XCSH_REPLACED 303

/**
 * Another program cut the bytes of an entry out of the file.
 */
#define XCSH_VANISHED 304

/**
 * A blob is missing or damaged.
 */
#define XCSH_BLOB 305

/**
 * The operating system refused a file operation; see xcsh_error_os().
 */
#define XCSH_IO 400

/**
 * Another writer held the lock of the session file for longer than the bound.
 */
#define XCSH_LOCKED 401

/**
 * The prompt history database refused.
 */
#define XCSH_HISTORY 402

/**
 * The library panicked. This is a bug; the message has the text of the panic. Memory is still sound, but free the
 * handles that were part of the call.
 */
#define XCSH_PANIC 900

/**
 * An error that has no number of its own yet; xcsh_error_code() names it.
 */
#define XCSH_OTHER 901

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The version of the library, such as "0.1.0", as a NUL-terminated string that lives as long as the program.
 */
const char *xcsh_version(void);

/**
 * The XCSH_ABI_VERSION that the library was built with. A program runs with a library of the same major number (the
 * upper 16 bits) and of its own or a later minor number (the lower 16 bits).
 */
uint32_t xcsh_abi_version(void);

/**
 * The name of a status, such as "NotFound", as a NUL-terminated string that lives as long as the program; NULL for a
 * number that is no status. For an error it is the text of xcsh_error_code().
 */
const char *xcsh_status_name(uint32_t status);

/**
 * The bytes of a string, valid until it is freed; NULL for NULL.
 */
const char *xcsh_string_data(const struct XcshString *string);

/**
 * The length of a string in bytes, without the NUL behind it; 0 for NULL.
 */
size_t xcsh_string_len(const struct XcshString *string);

/**
 * Frees a string. NULL does nothing.
 */
void xcsh_string_free(struct XcshString *string);

/**
 * How many strings there are in a list; 0 for NULL.
 */
size_t xcsh_strings_len(const struct XcshStrings *strings);

/**
 * The string at `index`, counted from 0, borrowed until the list is freed. It has no NUL behind it. Errors:
 * XCSH_INVALID_ARGUMENT where there is no such string.
 */
XcshStatus xcsh_strings_get(const struct XcshStrings *strings,
                            size_t index,
                            struct XcshStr *string,
                            struct XcshError **err);

/**
 * Frees a list of strings. NULL does nothing.
 */
void xcsh_strings_free(struct XcshStrings *strings);

/**
 * The status that the function returned; XCSH_OK for NULL.
 */
XcshStatus xcsh_error_status(const struct XcshError *error);

/**
 * The stable name of the kind of error, such as "NotFound"; the same in every language that the library serves. This
 * and the other texts of an error have a NUL behind them and none in them, so they are C strings too; they are borrowed
 * until the error is freed. `data` is NULL for NULL.
 */
struct XcshStr xcsh_error_code(const struct XcshError *error);

/**
 * What happened, to which file, and, where there is something to do about it, what to do. One line of English.
 */
struct XcshStr xcsh_error_message(const struct XcshError *error);

/**
 * The file or directory that the error is about; `data` is NULL where there is none. What is not UTF-8 in it is
 * replaced by U+FFFD.
 */
struct XcshStr xcsh_error_path(const struct XcshError *error);

/**
 * The line of the file that the error is about, counted from 1; 0 where there is none.
 */
uint64_t xcsh_error_line(const struct XcshError *error);

/**
 * Of an append: the id of the entry, which is in memory although it could not be written yet. Do not append it again:
 * the next operation tries to write it. `data` is NULL where nothing was appended.
 */
struct XcshStr xcsh_error_entry_id(const struct XcshError *error);

/**
 * The error number of the operating system (errno) at the bottom of the error; 0 where there is none.
 */
int32_t xcsh_error_os(const struct XcshError *error);

/**
 * Frees an error. NULL does nothing.
 */
void xcsh_error_free(struct XcshError *error);

/**
 * Options with the defaults of XCSH_PROFILE_DOCUMENT, directories and terminal as the environment of this process says.
 * Where the host has an environment of its own (an interpreter, a server that acts for others), use
 * xcsh_options_from_env().
 */
XcshStatus xcsh_options_new(struct XcshOptions **options,
                            struct XcshError **err);

/**
 * Like xcsh_options_new(), with the `count` variables at `vars` instead of the environment of this process. Of a name
 * that comes twice the last value counts; variables that the library has no use for are ignored, so the whole
 * environment can be passed. Errors: XCSH_INVALID_UTF8.
 */
XcshStatus xcsh_options_from_env(const struct XcshEnvVar *vars,
                                 size_t count,
                                 struct XcshOptions **options,
                                 struct XcshError **err);

/**
 * Frees options. NULL does nothing.
 */
void xcsh_options_free(struct XcshOptions *options);

/**
 * Sets all that a profile decides: layout, model resolution, when a migrated file is written. `profile` is one of
 * XCSH_PROFILE_..
 */
XcshStatus xcsh_options_set_profile(const struct XcshOptions *options,
                                    uint32_t profile,
                                    struct XcshError **err);

/**
 * Puts sessions, blobs, breadcrumbs and history below this agent directory, whatever the environment says about it. A
 * relative path is taken from the working directory of the process at this moment.
 */
XcshStatus xcsh_options_set_agent_dir(const struct XcshOptions *options,
                                      const char *dir,
                                      size_t dir_len,
                                      struct XcshError **err);

/**
 * Sets the directory where new sessions go and old ones are looked for. NULL with length 0: one that is made of the
 * working directory, which is the default.
 */
XcshStatus xcsh_options_set_session_dir(const struct XcshOptions *options,
                                        const char *dir,
                                        size_t dir_len,
                                        struct XcshError **err);

/**
 * Sets how the directory of a new session is named: one of XCSH_LAYOUT_..
 */
XcshStatus xcsh_options_set_layout(const struct XcshOptions *options,
                                   uint32_t layout,
                                   struct XcshError **err);

/**
 * Sets who decides the default model of a context: XCSH_MODEL_CHANGE or XCSH_MODEL_LATEST. XCSH_MODEL_DEFAULT leaves it
 * as it is.
 */
XcshStatus xcsh_options_set_model_resolution(const struct XcshOptions *options,
                                             uint32_t resolution,
                                             struct XcshError **err);

/**
 * Sets whether a file of an older version is written in the current one when it is opened (not 0, the default), or only
 * with the next write (0).
 */
XcshStatus xcsh_options_set_migrate_at_once(const struct XcshOptions *options,
                                            int32_t at_once,
                                            struct XcshError **err);

/**
 * Sets what becomes of a file that is no session when it is opened: one of XCSH_ON_INVALID_..
 */
XcshStatus xcsh_options_set_on_invalid(const struct XcshOptions *options,
                                       uint32_t on_invalid,
                                       struct XcshError **err);

/**
 * Sets whether managers only read (not 0): nothing is ever written, writes fail with XCSH_READ_ONLY.
 */
XcshStatus xcsh_options_set_read_only(const struct XcshOptions *options,
                                      int32_t read_only,
                                      struct XcshError **err);

/**
 * Sets how many milliseconds a write waits for another writer of the same file before it fails with XCSH_LOCKED. The
 * default is 5000.
 */
XcshStatus xcsh_options_set_lock_wait(const struct XcshOptions *options,
                                      uint64_t milliseconds,
                                      struct XcshError **err);

/**
 * Sets the terminal whose last session is noted and found again by xcsh_manager_continue_recent(), by the device of its
 * tty ("/dev/pts/3"). NULL with length 0, or a text that names no tty device: no terminal.
 */
XcshStatus xcsh_options_set_terminal(const struct XcshOptions *options,
                                     const char *tty,
                                     size_t tty_len,
                                     struct XcshError **err);

/**
 * Puts a storage in memory in the place of the file system, for tests. Everything that is made with these options
 * shares it; it goes away with the last of them.
 */
XcshStatus xcsh_options_use_memory(const struct XcshOptions *options,
                                   struct XcshError **err);

/**
 * Where something of the agent lies: `which` is one of XCSH_DIR_.. It need not exist. Free `path` with
 * xcsh_string_free().
 */
XcshStatus xcsh_options_dir(const struct XcshOptions *options,
                            uint32_t which,
                            struct XcshString **path,
                            struct XcshError **err);

/**
 * The directory where new sessions of a working directory go. It need not exist. Free `dir` with xcsh_string_free().
 */
XcshStatus xcsh_options_session_dir(const struct XcshOptions *options,
                                    const char *cwd,
                                    size_t cwd_len,
                                    struct XcshString **dir,
                                    struct XcshError **err);

/**
 * Makes a new session of a working directory. Its file is made with the first assistant message.
 */
XcshStatus xcsh_manager_create(const struct XcshOptions *options,
                               const char *cwd,
                               size_t cwd_len,
                               struct XcshManager **manager,
                               struct XcshError **err);

/**
 * Makes a session that is never written.
 */
XcshStatus xcsh_manager_in_memory(const struct XcshOptions *options,
                                  const char *cwd,
                                  size_t cwd_len,
                                  struct XcshManager **manager,
                                  struct XcshError **err);

/**
 * Opens a session file. A missing or empty file becomes a new session at this path. A file that is no session is moved
 * aside first (xcsh_manager_moved_aside() tells where to) or refused, as the options say. A session of an older
 * version is migrated; one of a newer version can be read, not changed. Errors: XCSH_NOT_A_SESSION, XCSH_IO.
 */
XcshStatus xcsh_manager_open(const struct XcshOptions *options,
                             const char *path,
                             size_t path_len,
                             struct XcshManager **manager,
                             struct XcshError **err);

/**
 * Opens the session that this terminal had last in the working directory, else the newest of the working directory, else
 * makes a new one. Errors: those of xcsh_manager_open().
 */
XcshStatus xcsh_manager_continue_recent(const struct XcshOptions *options,
                                        const char *cwd,
                                        size_t cwd_len,
                                        struct XcshManager **manager,
                                        struct XcshError **err);

/**
 * Makes a new session of a working directory with the entries of another session's file, which stays as it is. Errors:
 * XCSH_NOT_FOUND, XCSH_NOT_A_SESSION.
 */
XcshStatus xcsh_manager_fork_from(const struct XcshOptions *options,
                                  const char *source,
                                  size_t source_len,
                                  const char *cwd,
                                  size_t cwd_len,
                                  struct XcshManager **manager,
                                  struct XcshError **err);

/**
 * Frees a manager. NULL does nothing. What could not be written so far is tried once more, without waiting for a lock;
 * call xcsh_manager_close() before to flush and to hear of errors. Views and iterations of the manager stay usable, and
 * the session goes away with the last of them.
 */
void xcsh_manager_free(struct XcshManager *manager);

/**
 * Appends a message; `message` is its JSON, an object, which is kept byte for byte. For this and all other appends: `id`
 * may be NULL; else it is set to the id of the new entry, free it with xcsh_string_free(). Errors of all of them:
 * XCSH_INVALID_JSON, XCSH_CLOSED, XCSH_READ_ONLY, XCSH_UNSUPPORTED_VERSION (nothing was appended), and XCSH_IO,
 * XCSH_LOCKED, XCSH_REPLACED with an xcsh_error_entry_id(): the entry is in memory and could not be written yet.
 */
XcshStatus xcsh_manager_append_message(const struct XcshManager *manager,
                                       const char *message,
                                       size_t message_len,
                                       struct XcshString **id,
                                       struct XcshError **err);

/**
 * Appends an entry of any type. `fields` is a JSON object whose members become the entry's, in their order; `type`, `id`,
 * `parentId` and `timestamp` are not taken from it.
 */
XcshStatus xcsh_manager_append(const struct XcshManager *manager,
                               const char *entry_type,
                               size_t entry_type_len,
                               const char *fields,
                               size_t fields_len,
                               struct XcshString **id,
                               struct XcshError **err);

/**
 * Appends a change of the thinking level. NULL with length 0 unsets it.
 */
XcshStatus xcsh_manager_append_thinking_level_change(const struct XcshManager *manager,
                                                     const char *level,
                                                     size_t level_len,
                                                     struct XcshString **id,
                                                     struct XcshError **err);

/**
 * Appends a change of model ("provider/modelId") for a role; NULL with length 0: for the default role.
 */
XcshStatus xcsh_manager_append_model_change(const struct XcshManager *manager,
                                            const char *model,
                                            size_t model_len,
                                            const char *role,
                                            size_t role_len,
                                            struct XcshString **id,
                                            struct XcshError **err);

/**
 * Appends a change of mode. `data` is JSON; NULL with length 0: none.
 */
XcshStatus xcsh_manager_append_mode_change(const struct XcshManager *manager,
                                           const char *mode,
                                           size_t mode_len,
                                           const char *data,
                                           size_t data_len,
                                           struct XcshString **id,
                                           struct XcshError **err);

/**
 * Appends a change of the service tier. NULL with length 0 unsets it.
 */
XcshStatus xcsh_manager_append_service_tier_change(const struct XcshManager *manager,
                                                   const char *tier,
                                                   size_t tier_len,
                                                   struct XcshString **id,
                                                   struct XcshError **err);

/**
 * Appends a change of the active context.
 */
XcshStatus xcsh_manager_append_context_change(const struct XcshManager *manager,
                                              const char *name,
                                              size_t name_len,
                                              const char *tenant,
                                              size_t tenant_len,
                                              const char *name_space,
                                              size_t name_space_len,
                                              struct XcshString **id,
                                              struct XcshError **err);

/**
 * Appends what the session was started with: the `tools_count` names at `tools`. `output_schema` is JSON; NULL with length
 * 0: none.
 */
XcshStatus xcsh_manager_append_session_init(const struct XcshManager *manager,
                                            const char *system_prompt,
                                            size_t system_prompt_len,
                                            const char *task,
                                            size_t task_len,
                                            const struct XcshStr *tools,
                                            size_t tools_count,
                                            const char *output_schema,
                                            size_t output_schema_len,
                                            struct XcshString **id,
                                            struct XcshError **err);

/**
 * Appends a compaction.
 */
XcshStatus xcsh_manager_append_compaction(const struct XcshManager *manager,
                                          const struct XcshCompaction *compaction,
                                          struct XcshString **id,
                                          struct XcshError **err);

/**
 * Appends the state of an extension, which takes no part in the context. `data` is JSON; NULL with length 0: none.
 */
XcshStatus xcsh_manager_append_custom_entry(const struct XcshManager *manager,
                                            const char *custom_type,
                                            size_t custom_type_len,
                                            const char *data,
                                            size_t data_len,
                                            struct XcshString **id,
                                            struct XcshError **err);

/**
 * Appends a message of an extension, which takes part in the context.
 */
XcshStatus xcsh_manager_append_custom_message_entry(const struct XcshManager *manager,
                                                    const struct XcshCustomMessage *message,
                                                    struct XcshString **id,
                                                    struct XcshError **err);

/**
 * Appends the choice of MCP tools: the `count` names at `names`.
 */
XcshStatus xcsh_manager_append_mcp_tool_selection(const struct XcshManager *manager,
                                                  const struct XcshStr *names,
                                                  size_t count,
                                                  struct XcshString **id,
                                                  struct XcshError **err);

/**
 * Appends the rules that were injected: the `count` names at `rules`.
 */
XcshStatus xcsh_manager_append_ttsr_injection(const struct XcshManager *manager,
                                              const struct XcshStr *rules,
                                              size_t count,
                                              struct XcshString **id,
                                              struct XcshError **err);

/**
 * Labels the entry with the id `target`; a label that is absent (NULL with length 0) or empty clears. Error:
 * XCSH_ENTRY_NOT_FOUND.
 */
XcshStatus xcsh_manager_append_label_change(const struct XcshManager *manager,
                                            const char *target,
                                            size_t target_len,
                                            const char *label,
                                            size_t label_len,
                                            struct XcshString **id,
                                            struct XcshError **err);

/**
 * Moves the leaf to an entry: the next append follows it. Error: XCSH_ENTRY_NOT_FOUND.
 */
XcshStatus xcsh_manager_branch(const struct XcshManager *manager,
                               const char *entry_id,
                               size_t entry_id_len,
                               struct XcshError **err);

/**
 * Sets the leaf to none: the next append is a new root.
 */
XcshStatus xcsh_manager_reset_leaf(const struct XcshManager *manager,
                                   struct XcshError **err);

/**
 * Moves the leaf to an entry, or to none (NULL with length 0), and appends a summary of the path that is left. `details`
 * is JSON; NULL with length 0: none. `from_extension` is XCSH_ABSENT, XCSH_FALSE or XCSH_TRUE. `id` may be NULL, as for
 * appends. Errors: XCSH_ENTRY_NOT_FOUND, and those of xcsh_manager_append_message().
 */
XcshStatus xcsh_manager_branch_with_summary(const struct XcshManager *manager,
                                            const char *entry_id,
                                            size_t entry_id_len,
                                            const char *summary,
                                            size_t summary_len,
                                            const char *details,
                                            size_t details_len,
                                            uint32_t from_extension,
                                            struct XcshString **id,
                                            struct XcshError **err);

/**
 * Everything that was appended so far survives a power loss when this returns XCSH_OK. Appends of other threads go on
 * meanwhile. Nothing to do for a session whose file is not to be there yet. Errors: XCSH_CLOSED, XCSH_IO, XCSH_LOCKED,
 * XCSH_REPLACED.
 */
XcshStatus xcsh_manager_flush(const struct XcshManager *manager,
                              struct XcshError **err);

/**
 * Writes what is missing after an error, and flushes. xcsh_manager_persist_error() gives NULL after XCSH_OK.
 */
XcshStatus xcsh_manager_recover(const struct XcshManager *manager,
                                struct XcshError **err);

/**
 * Flushes and lets go of the file. Later writes fail with XCSH_CLOSED; reading goes on; closing again does nothing. After
 * an error the session stays open, so that closing can be tried again.
 */
XcshStatus xcsh_manager_close(const struct XcshManager *manager,
                              struct XcshError **err);

/**
 * Makes the session's file now, assistant message or not.
 */
XcshStatus xcsh_manager_ensure_on_disk(const struct XcshManager *manager,
                                       struct XcshError **err);

/**
 * Takes in what others appended to the file since; the leaf stays. `added` may be NULL; else it is set to an iteration over
 * the new entries (over all, where the file was replaced: see xcsh_manager_numbering()), to be freed with
 * xcsh_entries_free().
 */
XcshStatus xcsh_manager_refresh(const struct XcshManager *manager,
                                struct XcshEntries **added,
                                struct XcshError **err);

/**
 * A view of the manager's session, for every function that reads one: always of the session and the leaf as they are at
 * the moment of the call. Free it with xcsh_session_free(); it can outlive the manager.
 */
XcshStatus xcsh_manager_view(const struct XcshManager *manager,
                             struct XcshSession **session,
                             struct XcshError **err);

/**
 * The session id, 16 hex digits in sessions that this library made. Free `id` with xcsh_string_free(), as all strings
 * that the functions of a manager give.
 */
XcshStatus xcsh_manager_session_id(const struct XcshManager *manager,
                                   struct XcshString **id,
                                   struct XcshError **err);

/**
 * The session's file, which is not there before the first assistant message; NULL in memory.
 */
XcshStatus xcsh_manager_session_file(const struct XcshManager *manager,
                                     struct XcshString **path,
                                     struct XcshError **err);

/**
 * The directory of the session's file; empty in memory.
 */
XcshStatus xcsh_manager_session_dir(const struct XcshManager *manager,
                                    struct XcshString **path,
                                    struct XcshError **err);

/**
 * The working directory.
 */
XcshStatus xcsh_manager_cwd(const struct XcshManager *manager,
                            struct XcshString **path,
                            struct XcshError **err);

/**
 * Who chose the title: one of XCSH_TITLE_.. The title itself is xcsh_session_title() of the view.
 */
XcshStatus xcsh_manager_title_source(const struct XcshManager *manager,
                                     uint32_t *source,
                                     struct XcshError **err);

/**
 * Whether the session is written to a file.
 */
XcshStatus xcsh_manager_is_persisted(const struct XcshManager *manager,
                                     bool *persisted,
                                     struct XcshError **err);

/**
 * Where the bytes went of a file that was no session when it was opened; NULL where it was one.
 */
XcshStatus xcsh_manager_moved_aside(const struct XcshManager *manager,
                                    struct XcshString **path,
                                    struct XcshError **err);

/**
 * What keeps memory and file apart: NULL while all is well, else an error with status, code and message, to be freed with
 * xcsh_error_free(). See xcsh_manager_recover().
 */
XcshStatus xcsh_manager_persist_error(const struct XcshManager *manager,
                                      struct XcshError **recorded,
                                      struct XcshError **err);

/**
 * A count that goes up when entries get other numbers: when the manager goes to another session, or another program
 * replaces the file. Numbers of entries mean the same as long as it stays the same.
 */
XcshStatus xcsh_manager_numbering(const struct XcshManager *manager,
                                  uint64_t *numbering,
                                  struct XcshError **err);

/**
 * Sets the title. Control characters and runs of white space in it become one space, the ends are trimmed. `source` is
 * XCSH_TITLE_AUTO or XCSH_TITLE_USER. `taken` may be NULL; else it tells whether the title was taken: an empty one is not,
 * and one of XCSH_TITLE_AUTO never replaces a user's.
 */
XcshStatus xcsh_manager_set_session_name(const struct XcshManager *manager,
                                         const char *name,
                                         size_t name_len,
                                         uint32_t source,
                                         bool *taken,
                                         struct XcshError **err);

/**
 * Puts the `count` lines at `lines` in the places of the entries with their numbers. One that cannot be taken refuses all:
 * XCSH_ENTRY_NOT_FOUND, XCSH_INVALID_JSON. With `count` 0 the file is written anew as it is.
 */
XcshStatus xcsh_manager_rewrite_entries(const struct XcshManager *manager,
                                        const struct XcshEntryLine *lines,
                                        size_t count,
                                        struct XcshError **err);

/**
 * Puts another line, the JSON of a whole entry, in the place of the entry that an id finds. Errors: XCSH_ENTRY_NOT_FOUND,
 * XCSH_INVALID_JSON.
 */
XcshStatus xcsh_manager_replace_entry(const struct XcshManager *manager,
                                      const char *entry_id,
                                      size_t entry_id_len,
                                      const char *line,
                                      size_t line_len,
                                      struct XcshError **err);

/**
 * Begins a new session in the same working directory. `parent_session` is the id or path of the one it comes from; NULL
 * with length 0: none. `path` may be NULL; else it is set to the new file, or to NULL in memory.
 */
XcshStatus xcsh_manager_new_session(const struct XcshManager *manager,
                                    const char *parent_session,
                                    size_t parent_session_len,
                                    struct XcshString **path,
                                    struct XcshError **err);

/**
 * Goes to the session in another file, opening it as xcsh_manager_open() does.
 */
XcshStatus xcsh_manager_set_session_file(const struct XcshManager *manager,
                                         const char *path,
                                         size_t path_len,
                                         struct XcshError **err);

/**
 * Goes on in a copy of the session, which has the same entries, a new id and a new file. `old_path` and `new_path` may be
 * NULL; else they are set to the file that was left, which stays as it is, and to the new one. In memory nothing happens
 * and both are NULL.
 */
XcshStatus xcsh_manager_fork(const struct XcshManager *manager,
                             struct XcshString **old_path,
                             struct XcshString **new_path,
                             struct XcshError **err);

/**
 * Goes on in a new session that holds the path from the root to an entry only, with the labels of the entries on it.
 * `path` may be NULL; else it is set to the new file, or to NULL in memory. Error: XCSH_ENTRY_NOT_FOUND.
 */
XcshStatus xcsh_manager_create_branched_session(const struct XcshManager *manager,
                                                const char *entry_id,
                                                size_t entry_id_len,
                                                struct XcshString **path,
                                                struct XcshError **err);

/**
 * Moves the session to another working directory: its file and its artifacts go to the directory of that one. After an
 * error everything is where it was, as far as it can be brought back.
 */
XcshStatus xcsh_manager_move_to(const struct XcshManager *manager,
                                const char *cwd,
                                size_t cwd_len,
                                struct XcshError **err);

/**
 * Notes which session this is and where its leaf is. A session that is in no file yet is held whole.
 */
XcshStatus xcsh_manager_capture_state(const struct XcshManager *manager,
                                      struct XcshState **state,
                                      struct XcshError **err);

/**
 * Goes back to a session and its leaf; can be done more than once. What was appended to it since stays in it. After an
 * error the current session stays.
 */
XcshStatus xcsh_manager_restore_state(const struct XcshManager *manager,
                                      const struct XcshState *state,
                                      struct XcshError **err);

/**
 * Frees a state. NULL does nothing.
 */
void xcsh_state_free(struct XcshState *state);

/**
 * The directory of the session's artifacts, whether or not it is there; NULL in memory.
 */
XcshStatus xcsh_manager_artifacts_dir(const struct XcshManager *manager,
                                      struct XcshString **path,
                                      struct XcshError **err);

/**
 * An id and a path for a new artifact, in a directory that is there; each is given out once. `artifact_id` and `path` may
 * be NULL; both are set to NULL in memory.
 */
XcshStatus xcsh_manager_allocate_artifact_path(const struct XcshManager *manager,
                                               const char *tool_type,
                                               size_t tool_type_len,
                                               struct XcshString **artifact_id,
                                               struct XcshString **path,
                                               struct XcshError **err);

/**
 * Saves `content_len` bytes as an artifact. `artifact_id` may be NULL; else it is set to the id, or to NULL in memory,
 * where nothing is saved.
 */
XcshStatus xcsh_manager_save_artifact(const struct XcshManager *manager,
                                      const uint8_t *content,
                                      size_t content_len,
                                      const char *tool_type,
                                      size_t tool_type_len,
                                      struct XcshString **artifact_id,
                                      struct XcshError **err);

/**
 * The path of an artifact; NULL where there is none with this id.
 */
XcshStatus xcsh_manager_artifact_path(const struct XcshManager *manager,
                                      const char *artifact_id,
                                      size_t artifact_id_len,
                                      struct XcshString **path,
                                      struct XcshError **err);

/**
 * Stores bytes in the blob store of the manager, durably. `reference` is set to what names them in an entry:
 * "blob:sha256:" and 64 hex digits.
 */
XcshStatus xcsh_manager_put_blob(const struct XcshManager *manager,
                                 const uint8_t *content,
                                 size_t content_len,
                                 struct XcshString **reference,
                                 struct XcshError **err);

/**
 * Removes a session's file and its artifacts. Errors: XCSH_NOT_FOUND, XCSH_IO.
 */
XcshStatus xcsh_delete_session_with_artifacts(const struct XcshOptions *options,
                                              const char *path,
                                              size_t path_len,
                                              struct XcshError **err);

/**
 * Reads a session file as it is now. Nothing is changed by that: no migration is written, no lock taken. Of a file that is
 * being written, the complete lines are seen. Older versions read as if they had been migrated. Errors:
 * XCSH_NOT_FOUND, XCSH_NOT_A_SESSION, XCSH_IO.
 */
XcshStatus xcsh_session_read(const struct XcshOptions *options,
                             const char *path,
                             size_t path_len,
                             struct XcshSession **session,
                             struct XcshError **err);

/**
 * Reads a session from its `content_len` bytes, of which a copy is kept. `path` stands in errors. Error:
 * XCSH_NOT_A_SESSION.
 */
XcshStatus xcsh_session_parse(const struct XcshOptions *options,
                              const uint8_t *content,
                              size_t content_len,
                              const char *path,
                              size_t path_len,
                              struct XcshSession **session,
                              struct XcshError **err);

/**
 * Frees a session. NULL does nothing. Iterations and contexts that came from it stay usable.
 */
void xcsh_session_free(struct XcshSession *session);

/**
 * The path of the session's file; empty in memory. Free it with xcsh_string_free(), as all strings that the functions of a
 * session give.
 */
XcshStatus xcsh_session_path(const struct XcshSession *session,
                             struct XcshString **path,
                             struct XcshError **err);

/**
 * The JSON of the header, as the current version has it.
 */
XcshStatus xcsh_session_header_json(const struct XcshSession *session,
                                    struct XcshString **json,
                                    struct XcshError **err);

/**
 * The title; NULL where there is none.
 */
XcshStatus xcsh_session_title(const struct XcshSession *session,
                              struct XcshString **title,
                              struct XcshError **err);

/**
 * Whether the file is of an older version than what is shown.
 */
XcshStatus xcsh_session_is_migrated(const struct XcshSession *session,
                                    bool *migrated,
                                    struct XcshError **err);

/**
 * The number of entries. Entries are numbered from 0, in the order of the file.
 */
XcshStatus xcsh_session_len(const struct XcshSession *session,
                            uint32_t *len,
                            struct XcshError **err);

/**
 * The id of the leaf; NULL where there is none.
 */
XcshStatus xcsh_session_leaf_id(const struct XcshSession *session,
                                struct XcshString **id,
                                struct XcshError **err);

/**
 * The number of the entry that an id finds: of several with the same id, the last in the file. Error:
 * XCSH_ENTRY_NOT_FOUND.
 */
XcshStatus xcsh_session_number_of(const struct XcshSession *session,
                                  const char *entry_id,
                                  size_t entry_id_len,
                                  uint32_t *number,
                                  struct XcshError **err);

/**
 * The line of the entry with this number, exactly as it is; NULL where there is no such entry. To read many, see
 * xcsh_session_entries().
 */
XcshStatus xcsh_session_line(const struct XcshSession *session,
                             uint32_t number,
                             struct XcshString **line,
                             struct XcshError **err);

/**
 * The line of the entry with this number, images and image URLs that lie in the blob store put back into it; a blob that
 * is missing or damaged leaves its reference. NULL where there is no such entry.
 */
XcshStatus xcsh_session_resolved_line(const struct XcshSession *session,
                                      uint32_t number,
                                      struct XcshString **line,
                                      struct XcshError **err);

/**
 * The label of an entry; NULL where it has none.
 */
XcshStatus xcsh_session_label(const struct XcshSession *session,
                              const char *entry_id,
                              size_t entry_id_len,
                              struct XcshString **label,
                              struct XcshError **err);

/**
 * All labels: a JSON object from entry ids to labels.
 */
XcshStatus xcsh_session_labels_json(const struct XcshSession *session,
                                    struct XcshString **json,
                                    struct XcshError **err);

/**
 * Token and cost sums over all entries.
 */
XcshStatus xcsh_session_usage(const struct XcshSession *session,
                              struct XcshUsage *usage,
                              struct XcshError **err);

/**
 * What is not as it should be in the session: a JSON object with the lists malformedLines, recovered, orphans, cycles,
 * duplicateIds, withoutId, badBlobRefs, missingBlobs, damagedBlobs and danglingFirstKept. Line numbers count from 1. All
 * entries are read for this.
 */
XcshStatus xcsh_session_diagnostics_json(const struct XcshSession *session,
                                         struct XcshString **json,
                                         struct XcshError **err);

/**
 * The role of the last model_change from the leaf to its root, "default" where it names none; NULL where there is no
 * model_change.
 */
XcshStatus xcsh_session_last_model_change_role(const struct XcshSession *session,
                                               struct XcshString **role,
                                               struct XcshError **err);

/**
 * The rules that were injected from the root to the leaf, without repeats. Free `rules` with xcsh_strings_free().
 */
XcshStatus xcsh_session_injected_ttsr_rules(const struct XcshSession *session,
                                            struct XcshStrings **rules,
                                            struct XcshError **err);

/**
 * Begins an iteration over all entries in the order of the file; entries that are appended later are not in it. Free
 * `entries` with xcsh_entries_free().
 */
XcshStatus xcsh_session_entries(const struct XcshSession *session,
                                struct XcshEntries **entries,
                                struct XcshError **err);

/**
 * Begins an iteration over the entries from the root to an entry, or to the leaf (NULL with length 0). Error:
 * XCSH_ENTRY_NOT_FOUND.
 */
XcshStatus xcsh_session_branch(const struct XcshSession *session,
                               const char *entry_id,
                               size_t entry_id_len,
                               struct XcshEntries **entries,
                               struct XcshError **err);

/**
 * Begins an iteration over the entries whose parent is the entry with this id, in the order of the file.
 */
XcshStatus xcsh_session_children(const struct XcshSession *session,
                                 const char *entry_id,
                                 size_t entry_id_len,
                                 struct XcshEntries **entries,
                                 struct XcshError **err);

/**
 * Goes to the next entry and lends it to `view`, without copying it. What the view points to is valid until the next call
 * with the same iteration, by whichever thread, or until the iteration is freed. XCSH_END, and a view of nothing, after the
 * last entry. Errors: XCSH_RENUMBERED where the manager went to another session or another program replaced the file;
 * XCSH_VANISHED, XCSH_IO.
 */
XcshStatus xcsh_entries_next(const struct XcshEntries *entries,
                             struct XcshEntryView *view,
                             struct XcshError **err);

/**
 * Frees an iteration. NULL does nothing.
 */
void xcsh_entries_free(struct XcshEntries *entries);

/**
 * Builds the context for a leaf: `leaf` is one of XCSH_LEAF_.., `entry_id` is looked at for XCSH_LEAF_ID only. (The leaf of
 * the session is XCSH_LEAF_ID with xcsh_session_leaf_id(), and XCSH_LEAF_NONE where that gives NULL.) `resolution` is one
 * of XCSH_MODEL_.. Free `context` with xcsh_context_free().
 */
XcshStatus xcsh_session_context(const struct XcshSession *session,
                                uint32_t leaf,
                                const char *entry_id,
                                size_t entry_id_len,
                                uint32_t resolution,
                                struct XcshContext **context,
                                struct XcshError **err);

/**
 * The JSON of a whole context: an object with messages, thinkingLevel, serviceTier, models, activeContextName,
 * activeContextTenant, injectedTtsrRules, selectedMCPToolNames, hasPersistedMCPToolSelection, mode and modeData; what is
 * not set is left out. Free `json` with xcsh_string_free().
 */
XcshStatus xcsh_context_json(const struct XcshContext *context,
                             struct XcshString **json,
                             struct XcshError **err);

/**
 * The number of messages; 0 for NULL.
 */
size_t xcsh_context_len(const struct XcshContext *context);

/**
 * The JSON of a message, exactly as it was appended, borrowed until the context is freed. Messages are counted from 0.
 * Error: XCSH_INVALID_ARGUMENT where there is no such message.
 */
XcshStatus xcsh_context_message(const struct XcshContext *context,
                                size_t index,
                                struct XcshStr *json,
                                struct XcshError **err);

/**
 * The number of the entry that a message is made of. Error: XCSH_INVALID_ARGUMENT where there is no such message.
 */
XcshStatus xcsh_context_message_entry(const struct XcshContext *context,
                                      size_t index,
                                      uint32_t *number,
                                      struct XcshError **err);

/**
 * Frees a context. NULL does nothing.
 */
void xcsh_context_free(struct XcshContext *context);

/**
 * Makes the tree. Free `tree` with xcsh_tree_free().
 */
XcshStatus xcsh_session_tree(const struct XcshSession *session,
                             struct XcshTree **tree,
                             struct XcshError **err);

/**
 * The roots, in the order of the file: entries without a parent, those whose parent is not there, and of each cycle the
 * entry that comes first. `numbers` is set to `count` numbers, borrowed until the tree is freed; NULL where there are none.
 */
XcshStatus xcsh_tree_roots(const struct XcshTree *tree,
                           const uint32_t **numbers,
                           size_t *count,
                           struct XcshError **err);

/**
 * The children of an entry, oldest first. `numbers` is set to `count` numbers, borrowed until the tree is freed; NULL where
 * there are none, also for a number that no entry has.
 */
XcshStatus xcsh_tree_children(const struct XcshTree *tree,
                              uint32_t number,
                              const uint32_t **numbers,
                              size_t *count,
                              struct XcshError **err);

/**
 * Frees a tree. NULL does nothing.
 */
void xcsh_tree_free(struct XcshTree *tree);

/**
 * Header and entries of a session file, each exactly as it is in the file and not migrated. An empty list where the file
 * is missing or its first record is no session header. Free `records` with xcsh_strings_free(). Error: XCSH_IO.
 */
XcshStatus xcsh_load_entries(const struct XcshOptions *options,
                             const char *path,
                             size_t path_len,
                             struct XcshStrings **records,
                             struct XcshError **err);

/**
 * Header and entries of the bytes of a session file. An empty list where the first record is no session header. Free
 * `records` with xcsh_strings_free().
 */
XcshStatus xcsh_parse_entries(const uint8_t *content,
                              size_t content_len,
                              struct XcshStrings **records,
                              struct XcshError **err);

/**
 * The `count` records at `records`, header first, as the current version has them. `migrated` is set to NULL where they
 * are that already, or are no session; free it with xcsh_strings_free().
 */
XcshStatus xcsh_migrate_entries(const struct XcshStr *records,
                                size_t count,
                                struct XcshStrings **migrated,
                                struct XcshError **err);

/**
 * The JSON of the context that `count` entries, without a header, give for a leaf: see xcsh_session_context(), of which
 * this has the arguments, and xcsh_context_json(). XCSH_MODEL_DEFAULT means XCSH_MODEL_CHANGE. Free `json` with
 * xcsh_string_free().
 */
XcshStatus xcsh_build_context(const struct XcshStr *entries,
                              size_t count,
                              uint32_t leaf,
                              const char *entry_id,
                              size_t entry_id_len,
                              uint32_t resolution,
                              struct XcshString **json,
                              struct XcshError **err);

/**
 * The `limit` most recently changed sessions of a directory, newest first; only the beginnings of files are read. A JSON
 * object: `sessions` is a list of objects with path, id, name (at most 40 characters), timeAgo ("5m ago"), cwd, title,
 * firstPrompt, parentSession, createdMs, modifiedMs (milliseconds since 1970) and size (bytes), null where there is
 * nothing; `unreadable` lists what was left out: path, code and reason. In paths in JSON, what is not UTF-8 is replaced by
 * U+FFFD. Free `json` with xcsh_string_free(). Error: XCSH_IO where the directory cannot be listed.
 */
XcshStatus xcsh_recent_sessions(const struct XcshOptions *options,
                                const char *dir,
                                size_t dir_len,
                                size_t limit,
                                struct XcshString **json,
                                struct XcshError **err);

/**
 * The most recently changed session of a directory; NULL where there is none. Free `path` with xcsh_string_free(). Error:
 * XCSH_IO where the directory cannot be listed.
 */
XcshStatus xcsh_most_recent_session(const struct XcshOptions *options,
                                    const char *dir,
                                    size_t dir_len,
                                    struct XcshString **path,
                                    struct XcshError **err);

/**
 * The sessions of a working directory, newest first, from `dir`, or (NULL with length 0) from the directory that the
 * options name, or from all that can hold them. A JSON object: `sessions` is a list of objects with path, id, cwd, title,
 * parentSessionPath, createdMs, modifiedMs (milliseconds since 1970), messageCount, firstMessage, allMessagesText (null
 * where `with_texts` is 0) and size (bytes); `unreadable` as for xcsh_recent_sessions(). Files are read whole. Free `json`
 * with xcsh_string_free().
 */
XcshStatus xcsh_list_sessions(const struct XcshOptions *options,
                              const char *cwd,
                              size_t cwd_len,
                              const char *dir,
                              size_t dir_len,
                              int32_t with_texts,
                              struct XcshString **json,
                              struct XcshError **err);

/**
 * The sessions of all working directories, as xcsh_list_sessions() gives them. Error: XCSH_IO where the directory of all
 * sessions cannot be listed.
 */
XcshStatus xcsh_list_all_sessions(const struct XcshOptions *options,
                                  int32_t with_texts,
                                  struct XcshString **json,
                                  struct XcshError **err);

/**
 * The session that `argument` names, by the beginning of its id or of its file's name; sessions of the working directory
 * come first (in `dir`, or, NULL with length 0, wherever they can be), then all others; of several the newest. A JSON
 * object: `session` as in xcsh_recent_sessions(), `others` (the paths of others that match), `global` (whether it was found
 * outside of the working directory's sessions) and `unreadable`. NULL where there is none. Free `json` with
 * xcsh_string_free(). Error: XCSH_INVALID_ARGUMENT for an empty argument.
 */
XcshStatus xcsh_resolve_session(const struct XcshOptions *options,
                                const char *argument,
                                size_t argument_len,
                                const char *cwd,
                                size_t cwd_len,
                                const char *dir,
                                size_t dir_len,
                                struct XcshString **json,
                                struct XcshError **err);

/**
 * The blob store in the directory that the options name. Free `blobs` with xcsh_blobs_free().
 */
XcshStatus xcsh_blobs_new(const struct XcshOptions *options,
                          struct XcshBlobs **blobs,
                          struct XcshError **err);

/**
 * Stores bytes. When this returns XCSH_OK they survive a power loss. `hash` is set to the 64 hex digits that name them; free
 * it with xcsh_string_free().
 */
XcshStatus xcsh_blobs_put(const struct XcshBlobs *blobs,
                          const uint8_t *content,
                          size_t content_len,
                          struct XcshString **hash,
                          struct XcshError **err);

/**
 * The bytes of a blob; NULL where there is none. `hash` is 64 lower-case hex digits, also behind "blob:sha256:". Free
 * `content` with xcsh_string_free(). Error: XCSH_BLOB where the bytes have another hash; they are not given.
 */
XcshStatus xcsh_blobs_get(const struct XcshBlobs *blobs,
                          const char *hash,
                          size_t hash_len,
                          struct XcshString **content,
                          struct XcshError **err);

/**
 * Whether there is a blob whose bytes have the hash of its name; all of them are read. Error: XCSH_BLOB where they have
 * another hash.
 */
XcshStatus xcsh_blobs_verify(const struct XcshBlobs *blobs,
                             const char *hash,
                             size_t hash_len,
                             bool *there,
                             struct XcshError **err);

/**
 * Where the file of a blob is or would be. Free `path` with xcsh_string_free().
 */
XcshStatus xcsh_blobs_path(const struct XcshBlobs *blobs,
                           const char *hash,
                           size_t hash_len,
                           struct XcshString **path,
                           struct XcshError **err);

/**
 * Frees a blob store. NULL does nothing.
 */
void xcsh_blobs_free(struct XcshBlobs *blobs);

/**
 * Finds the blobs that no session mentions and, where `delete_them` is not 0, deletes those that were last put more than
 * `min_age` seconds ago (86400 is a good value; less than 46800 is safe only while no agent runs). The `also_count` paths at
 * `also` are files and directories with sessions outside of the agent's directories. `json` is set to an object with
 * unreferenced (a list of hash, size and modifiedMs), deleted, keptYoung, bytes (of those that were or would be deleted) and
 * failed (a list of path, code and reason); free it with xcsh_string_free(). Errors: XCSH_IO and others where something
 * that must be searched cannot be read; nothing was deleted then.
 */
XcshStatus xcsh_gc_blobs(const struct XcshOptions *options,
                         int32_t delete_them,
                         uint64_t min_age,
                         const struct XcshStr *also,
                         size_t also_count,
                         struct XcshString **json,
                         struct XcshError **err);

/**
 * Opens the history at a path (that of the options is xcsh_options_dir() of XCSH_DIR_HISTORY_DB); missing directories and
 * the file are made, and databases of older forms brought up to date. Free `history` with xcsh_history_free(). Errors:
 * XCSH_HISTORY where the file is something else (it is left as it is), is locked or cannot be opened; XCSH_IO.
 */
XcshStatus xcsh_history_open(const char *path,
                             size_t path_len,
                             struct XcshHistory **history,
                             struct XcshError **err);

/**
 * Adds a prompt. White space around it is removed; an empty one, and one that equals the last, are ignored. `cwd` is the
 * working directory it was typed in; NULL with length 0: none. Returns at once; a thread of the library writes. Errors:
 * XCSH_CLOSED; XCSH_HISTORY where too much waits to be written already.
 */
XcshStatus xcsh_history_add(const struct XcshHistory *history,
                            const char *prompt,
                            size_t prompt_len,
                            const char *cwd,
                            size_t cwd_len,
                            struct XcshError **err);

/**
 * The newest prompts, at most `limit` and at most 1000, newest first: a JSON array of objects with id, prompt, created_at
 * (seconds since 1970) and cwd (a string or null). Free `json` with xcsh_string_free().
 */
XcshStatus xcsh_history_recent(const struct XcshHistory *history,
                               size_t limit,
                               struct XcshString **json,
                               struct XcshError **err);

/**
 * The newest prompts that match every word of `query`, as xcsh_history_recent() gives them. No query is an error; one
 * without words matches nothing.
 */
XcshStatus xcsh_history_search(const struct XcshHistory *history,
                               const char *query,
                               size_t query_len,
                               size_t limit,
                               struct XcshString **json,
                               struct XcshError **err);

/**
 * Waits until everything that was added is in the database. Error: XCSH_HISTORY; what could not be written is kept and
 * tried again.
 */
XcshStatus xcsh_history_flush(const struct XcshHistory *history,
                              struct XcshError **err);

/**
 * Writes what waits and closes the database; everything after that fails with XCSH_CLOSED, but closing again does nothing.
 * After an error the history stays open.
 */
XcshStatus xcsh_history_close(const struct XcshHistory *history,
                              struct XcshError **err);

/**
 * Frees a history. NULL does nothing. What waits to be written is tried once more.
 */
void xcsh_history_free(struct XcshHistory *history);

/**
 * Sets the function that gets the library's messages up to a level (one of XCSH_LOG_..), in place of the one before, for the
 * whole process; NULL: none, which is how it begins. `user` is passed to it. When this returns, the one before is not
 * running and will not be called any more. Not to be called by the function itself: XCSH_INVALID_ARGUMENT.
 */
XcshStatus xcsh_set_log(XcshLogFn callback,
                        void *user,
                        uint32_t level,
                        struct XcshError **err);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* XCSH_SESSION_H */
