/* Handles of every kind, and right and wrong arguments. */
#include "misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct World {
    XcshOptions *options;
    XcshManager *manager;
    XcshSession *session;
    XcshEntries *entries;
    XcshContext *context;
    XcshTree *tree;
    XcshState *state;
    XcshBlobs *blobs;
    XcshHistory *history;
    XcshString *string;
    XcshStrings *strings;
    XcshError *error;
    char *file, *id, *hash;
    char big[70000];
    XcshStr texts[3];
    XcshEntryLine lines[3];
    XcshEnvVar vars[3];
    XcshCompaction compaction;
    XcshCustomMessage message;
};

#define MESSAGE "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"h\xc3\xa9\"}],\"provider\":\"p\",\"model\":\"m\"}"
#define ENTRY "{\"type\":\"custom\",\"id\":\"abcdabcd\",\"parentId\":null,\"customType\":\"t\"}"

World *new_world(void) {
    XcshError *err = NULL;
    XcshString *string = NULL;
    World *world = calloc(1, sizeof *world);
    memset(world->big, 'x', sizeof world->big);
    world->options = options_at("/agent", true);
    OK(xcsh_manager_create(world->options, TEXT("/srv/pi"), &world->manager, &err));
    OK(xcsh_manager_append_message(world->manager, TEXT(MESSAGE), &string, &err));
    world->id = take_text(string);
    OK(xcsh_manager_session_file(world->manager, &string, &err));
    world->file = take_text(string);
    OK(xcsh_blobs_new(world->options, &world->blobs, &err));
    OK(xcsh_blobs_put(world->blobs, (const uint8_t *)"blob", 4, &string, &err));
    world->hash = take_text(string);
    return world;
}

void free_world(World *world) {
    xcsh_options_free(world->options);
    xcsh_manager_free(world->manager);
    xcsh_blobs_free(world->blobs);
    xcsh_session_free(world->session);
    xcsh_entries_free(world->entries);
    xcsh_context_free(world->context);
    xcsh_tree_free(world->tree);
    xcsh_state_free(world->state);
    xcsh_history_free(world->history);
    xcsh_string_free(world->string);
    xcsh_strings_free(world->strings);
    xcsh_error_free(world->error);
    free(world->file);
    free(world->id);
    free(world->hash);
    free(world);
}

static XcshStatus make_view(World *world, XcshSession **session, XcshError **err) {
    return xcsh_manager_view(world->manager, session, err);
}

static XcshStatus make_entries(World *world, XcshEntries **entries, XcshError **err) {
    return xcsh_session_entries(the_session(world), entries, err);
}

static XcshStatus make_context(World *world, XcshContext **context, XcshError **err) {
    return xcsh_session_context(the_session(world), XCSH_LEAF_LAST, NULL, 0, XCSH_MODEL_DEFAULT, context, err);
}

static XcshStatus make_tree(World *world, XcshTree **tree, XcshError **err) {
    return xcsh_session_tree(the_session(world), tree, err);
}

static XcshStatus make_state(World *world, XcshState **state, XcshError **err) {
    return xcsh_manager_capture_state(world->manager, state, err);
}

static const char *history_path(void) {
    static _Thread_local char path[128];
    snprintf(path, sizeof path, "%s/history.db", new_dir());
    return path;
}

static XcshStatus make_history(World *world, XcshHistory **history, XcshError **err) {
    const char *path = history_path();
    (void)world;
    return xcsh_history_open(TEXT(path), history, err);
}

static XcshStatus make_string(World *world, XcshString **string, XcshError **err) {
    return xcsh_manager_session_id(world->manager, string, err);
}

static XcshStatus make_strings(World *world, XcshStrings **strings, XcshError **err) {
    return xcsh_load_entries(world->options, TEXT(world->file), strings, err);
}

static XcshStatus make_error(World *world, XcshError **error, XcshError **err) {
    (void)err;
    xcsh_manager_branch(world->manager, TEXT("no such entry"), error);
    return XCSH_OK;
}

static XcshStatus make_options(World *world, XcshOptions **options, XcshError **err) {
    (void)world, (void)err;
    *options = options_at("/agent", true);
    return XCSH_OK;
}

static XcshStatus make_manager(World *world, XcshManager **manager, XcshError **err) {
    return xcsh_manager_create(world->options, TEXT("/srv/pi"), manager, err);
}

static XcshStatus make_blobs(World *world, XcshBlobs **blobs, XcshError **err) {
    return xcsh_blobs_new(world->options, blobs, err);
}

#define HANDLE(Kind, kind, make) \
    const Kind *the_##kind(World *world) { \
        XcshError *err = NULL; \
        if (!world->kind) { \
            OK(make(world, &world->kind, &err)); \
        } \
        return world->kind; \
    } \
    Kind *take_##kind(World *world) { \
        the_##kind(world); \
        Kind *taken = world->kind; \
        world->kind = NULL; \
        return taken; \
    }

HANDLE(XcshOptions, options, make_options)
HANDLE(XcshManager, manager, make_manager)
HANDLE(XcshBlobs, blobs, make_blobs)
HANDLE(XcshSession, session, make_view)
HANDLE(XcshEntries, entries, make_entries)
HANDLE(XcshContext, context, make_context)
HANDLE(XcshTree, tree, make_tree)
HANDLE(XcshState, state, make_state)
HANDLE(XcshHistory, history, make_history)
HANDLE(XcshString, string, make_string)
HANDLE(XcshStrings, strings, make_strings)
HANDLE(XcshError, error, make_error)

/* What stands for a name where it means something. */
static const char *right_text(World *world, const char *call, const char *name) {
    static const struct {
        const char *name, *text;
    } known[] = {
        {"cwd", "/srv/pi"}, {"message", MESSAGE}, {"fields", "{\"a\":1}"}, {"data", "{\"a\":[1]}"},
        {"details", "null"}, {"output_schema", "{}"}, {"line", ENTRY}, {"tty", "/dev/pts/3"},
        {"dir", "/agent/sessions/--srv-pi--"}, {"argument", "20"}, {"entry_type", "custom"},
    };
    if (strcmp(call, "xcsh_history_open") == 0) {
        return history_path();
    }
    if (strcmp(name, "entry_id") == 0 || strcmp(name, "target") == 0) {
        return world->id;
    }
    if (strcmp(name, "path") == 0 || strcmp(name, "source") == 0) {
        return world->file;
    }
    if (strcmp(name, "hash") == 0) {
        return world->hash;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            return known[i].text;
        }
    }
    return "text";
}

static Given given(const void *data, size_t len, XcshStatus expected) {
    return (Given){data, len, expected};
}

Given give_text(World *world, const char *call, const char *name, unsigned way) {
    const char *right = right_text(world, call, name);
    switch (way) {
    case 1: return given(NULL, 5, XCSH_NULL_POINTER);
    case 2: return given(WILD, 0, XCSH_OK);
    case 3: return given(NULL, 0, XCSH_OK);
    case 4: return given("caf\xc3", 4, XCSH_INVALID_UTF8);
    case 5: return given("a\0b", 3, XCSH_OK);
    case 6: return given(world->big, sizeof world->big, XCSH_OK);
    case 7: return given(right, SIZE_MAX, XCSH_INVALID_ARGUMENT);
    default: return given(right, strlen(right), XCSH_OK);
    }
}

Given give_bytes(World *world, const char *call, const char *name, unsigned way) {
    static const char session[] = "{\"type\":\"session\",\"version\":3,\"id\":\"a\"}\n" ENTRY "\n";
    (void)world, (void)call, (void)name;
    switch (way) {
    case 1: return given(NULL, 5, XCSH_NULL_POINTER);
    case 2: return given(WILD, 0, XCSH_OK);
    case 3: return given(NULL, 0, XCSH_OK);
    case 4: return given(session, SIZE_MAX, XCSH_INVALID_ARGUMENT);
    default: return given(session, sizeof session - 1, XCSH_OK);
    }
}

/* A text that stands for the ways 3 and 4 of arrays and structs. */
static XcshStr wrong_text(unsigned way) {
    return way == 3 ? (XcshStr){NULL, 5} : (XcshStr){"caf\xc3", 4};
}

static XcshStatus wrong_status(unsigned way) {
    return way == 3 ? XCSH_NULL_POINTER : XCSH_INVALID_UTF8;
}

static Given give_items(const void *items, unsigned way) {
    switch (way) {
    case 1: return given(NULL, 3, XCSH_NULL_POINTER);
    case 2: return given(WILD, 0, XCSH_OK);
    case 3:
    case 4: return given(items, 3, wrong_status(way));
    case 5: return given(items, SIZE_MAX / 4, XCSH_INVALID_ARGUMENT);
    default: return given(items, 1, XCSH_OK);
    }
}

Given give_texts(World *world, const char *call, const char *name, unsigned way) {
    (void)call;
    bool records = strcmp(name, "records") == 0 || strcmp(name, "entries") == 0;
    XcshStr right = {TEXT(ENTRY)};
    XcshStr path = {TEXT("/agent/sessions")};
    world->texts[0] = world->texts[1] = records ? right : path;
    world->texts[2] = way == 3 || way == 4 ? wrong_text(way) : right;
    return give_items(world->texts, way);
}

Given give_lines(World *world, const char *call, const char *name, unsigned way) {
    (void)call, (void)name;
    XcshEntryLine right = {0, {TEXT(ENTRY)}};
    world->lines[0] = world->lines[1] = world->lines[2] = right;
    if (way == 3 || way == 4) {
        world->lines[2].line = wrong_text(way);
    }
    return give_items(world->lines, way);
}

Given give_vars(World *world, const char *call, const char *name, unsigned way) {
    (void)call, (void)name;
    XcshEnvVar right = {{TEXT("HOME")}, {TEXT("/home/ana")}};
    world->vars[0] = world->vars[1] = world->vars[2] = right;
    if (way == 3 || way == 4) {
        world->vars[2].value = wrong_text(way);
    }
    return give_items(world->vars, way);
}

Given give_compaction(World *world, unsigned way) {
    world->compaction = (XcshCompaction){0};
    if (way != 2) {
        world->compaction.summary = (XcshStr){TEXT("summary")};
        world->compaction.details = way >= 3 ? wrong_text(way) : (XcshStr){TEXT("{}")};
    }
    return way == 1 ? given(NULL, 0, XCSH_NULL_POINTER)
                    : given(&world->compaction, 0, way >= 3 ? wrong_status(way) : XCSH_OK);
}

Given give_custommessage(World *world, unsigned way) {
    world->message = (XcshCustomMessage){0};
    if (way != 2) {
        world->message.custom_type = (XcshStr){TEXT("type")};
        world->message.content = (XcshStr){TEXT("\"text\"")};
        world->message.attribution = way >= 3 ? wrong_text(way) : (XcshStr){NULL, 0};
    }
    return way == 1 ? given(NULL, 0, XCSH_NULL_POINTER)
                    : given(&world->message, 0, way >= 3 ? wrong_status(way) : XCSH_OK);
}

uint64_t give_number(const char *call, const char *name, unsigned way) {
    (void)call;
    switch (way) {
    case 1: return 1;
    case 2: return UINT64_MAX;
    case 3: return 7;
    default: return strcmp(name, "leaf") == 0 ? XCSH_LEAF_ID : strcmp(name, "source") == 0 ? XCSH_TITLE_USER : 0;
    }
}

void on_log(void *user, uint32_t level, XcshStr target, XcshStr message) {
    (void)user;
    CHECK(level >= XCSH_LOG_ERROR && level <= XCSH_LOG_TRACE && target.len > 0 && message.data);
    /* Not from within itself. */
    CHECK(xcsh_set_log(NULL, NULL, XCSH_LOG_OFF, NULL) == XCSH_INVALID_ARGUMENT);
}
