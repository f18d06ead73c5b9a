/* What the generated calls do not reach: order, lifetimes, closed handles. */
#include "misuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE "{\"role\":\"assistant\",\"content\":[]}"

typedef struct Chain {
    XcshOptions *options;
    XcshManager *manager;
    XcshSession *view;
    XcshEntries *entries;
    XcshContext *context;
    XcshTree *tree;
} Chain;

static Chain chain(void) {
    XcshError *err = NULL;
    Chain all = {0};
    all.options = options_at("/agent", true);
    OK(xcsh_manager_create(all.options, TEXT("/srv/pi"), &all.manager, &err));
    for (int i = 0; i < 600; i++) {
        OK(xcsh_manager_append_message(all.manager, TEXT(MESSAGE), NULL, &err));
    }
    OK(xcsh_manager_view(all.manager, &all.view, &err));
    OK(xcsh_session_entries(all.view, &all.entries, &err));
    OK(xcsh_session_context(all.view, XCSH_LEAF_LAST, NULL, 0, XCSH_MODEL_DEFAULT, &all.context, &err));
    OK(xcsh_session_tree(all.view, &all.tree, &err));
    return all;
}

static size_t count(XcshEntries *entries, XcshStatus *last) {
    XcshEntryView view;
    size_t counted = 0;
    while ((*last = xcsh_entries_next(entries, &view, NULL)) == XCSH_OK) {
        CHECK(view.number == counted && view.line.len > 50 && view.line.data[0] == '{');
        CHECK(strncmp(view.entry_type.data, "message", view.entry_type.len) == 0);
        counted++;
    }
    CHECK(!view.line.data && !view.id.data);
    return counted;
}

static void parents_first(void) {
    XcshError *err = NULL;
    XcshStatus last;
    XcshStr message;
    uint32_t len = 0;
    Chain all = chain();
    begin_test("lifetimes", "what came from a handle outlives it");
    xcsh_options_free(all.options);
    xcsh_manager_free(all.manager);
    OK(xcsh_session_len(all.view, &len, &err));
    CHECK(len == 600);
    xcsh_session_free(all.view);
    CHECK(count(all.entries, &last) == 600 && last == XCSH_END);
    CHECK(xcsh_entries_next(all.entries, &(XcshEntryView){0}, NULL) == XCSH_END);
    xcsh_entries_free(all.entries);
    OK(xcsh_context_message(all.context, 599, &message, &err));
    CHECK(message.len == strlen(MESSAGE) && memcmp(message.data, MESSAGE, message.len) == 0);
    xcsh_context_free(all.context);
    xcsh_tree_free(all.tree);
}

static void children_first(void) {
    Chain all = chain();
    begin_test("lifetimes", "freed in the reverse order");
    xcsh_tree_free(all.tree);
    xcsh_context_free(all.context);
    xcsh_entries_free(all.entries);
    xcsh_session_free(all.view);
    xcsh_manager_free(all.manager);
    xcsh_options_free(all.options);
}

static void another_session(void) {
    XcshError *err = NULL;
    XcshStatus last;
    XcshEntryView view;
    Chain all = chain();
    begin_test("lifetimes", "an iteration ends with the session it is over");
    OK(xcsh_entries_next(all.entries, &view, &err));
    OK(xcsh_manager_new_session(all.manager, NULL, 0, NULL, &err));
    CHECK(count(all.entries, &last) == 0 && last == XCSH_RENUMBERED);
    xcsh_tree_free(all.tree);
    xcsh_context_free(all.context);
    xcsh_entries_free(all.entries);
    xcsh_session_free(all.view);
    xcsh_manager_free(all.manager);
    xcsh_options_free(all.options);
}

static void closed(void) {
    XcshError *err = NULL;
    uint32_t len = 0;
    Chain all = chain();
    begin_test("closed", "writes are refused, reading goes on");
    OK(xcsh_manager_close(all.manager, &err));
    OK(xcsh_manager_close(all.manager, &err));
    CHECK(xcsh_manager_append_message(all.manager, TEXT(MESSAGE), NULL, &err) == XCSH_CLOSED);
    CHECK(xcsh_error_entry_id(err).data == NULL);
    xcsh_error_free(err);
    CHECK(xcsh_manager_set_session_name(all.manager, TEXT("x"), XCSH_TITLE_USER, NULL, NULL) == XCSH_CLOSED);
    CHECK(xcsh_manager_flush(all.manager, NULL) == XCSH_CLOSED);
    CHECK(xcsh_manager_rewrite_entries(all.manager, NULL, 0, NULL) == XCSH_CLOSED);
    OK(xcsh_session_len(all.view, &len, &err));
    CHECK(len == 600);
    xcsh_tree_free(all.tree);
    xcsh_context_free(all.context);
    xcsh_entries_free(all.entries);
    xcsh_session_free(all.view);
    xcsh_manager_free(all.manager);
    xcsh_options_free(all.options);

    XcshHistory *history = NULL;
    char path[128];
    snprintf(path, sizeof path, "%s/h.db", new_dir());
    OK(xcsh_history_open(TEXT(path), &history, &err));
    OK(xcsh_history_add(history, TEXT("a prompt"), NULL, 0, &err));
    OK(xcsh_history_close(history, &err));
    CHECK(xcsh_history_add(history, TEXT("more"), NULL, 0, NULL) == XCSH_CLOSED);
    xcsh_history_free(history);
}

static void unwritable(void) {
    XcshError *err = NULL;
    XcshError *recorded = NULL;
    XcshManager *manager = NULL;
    XcshString *file = NULL;
    char dir[128];
    begin_test("errors", "an append that cannot be written says where its entry is");
    snprintf(dir, sizeof dir, "%s/agent", new_dir());
    XcshOptions *options = options_at(dir, false);
    /* A file where the directory should be. */
    CHECK(write_file(dir, "x", 1));
    OK(xcsh_manager_create(options, TEXT("/srv/pi"), &manager, &err));
    XcshStatus status = xcsh_manager_append_message(manager, TEXT(MESSAGE), NULL, &err);
    CHECK(status >= 300 && status < 500);
    CHECK(xcsh_error_entry_id(err).len == 8);
    CHECK(xcsh_error_path(err).data && strncmp(xcsh_error_path(err).data, dir, strlen(dir)) == 0);
    CHECK(xcsh_error_os(err) != 0);
    xcsh_error_free(err);
    OK(xcsh_manager_persist_error(manager, &recorded, &err));
    CHECK(xcsh_error_status(recorded) == status);
    xcsh_error_free(recorded);
    CHECK(remove(dir) == 0);
    OK(xcsh_manager_recover(manager, &err));
    OK(xcsh_manager_persist_error(manager, &recorded, &err));
    CHECK(!recorded);
    OK(xcsh_manager_session_file(manager, &file, &err));
    XcshStrings *records = NULL;
    OK(xcsh_load_entries(options, xcsh_string_data(file), xcsh_string_len(file), &records, &err));
    CHECK(xcsh_strings_len(records) == 2);
    xcsh_strings_free(records);
    xcsh_string_free(file);
    xcsh_manager_free(manager);
    xcsh_options_free(options);
}

static void not_a_session(void) {
    XcshError *err = NULL;
    XcshSession *session = NULL;
    char path[128];
    begin_test("errors", "path and line");
    const char *dir = new_dir();
    snprintf(path, sizeof path, "%s/s.jsonl", dir);
    CHECK(write_file(path, "\nno\n", 4));
    XcshOptions *options = options_at(dir, false);
    CHECK(xcsh_session_read(options, TEXT(path), &session, &err) == XCSH_NOT_A_SESSION);
    CHECK(strcmp(xcsh_error_code(err).data, "NotASession") == 0);
    CHECK(strcmp(xcsh_error_path(err).data, path) == 0);
    CHECK(xcsh_error_line(err) == 2);
    xcsh_error_free(err);
    xcsh_options_free(options);
}

void by_hand(void) {
    parents_first();
    children_first();
    another_session();
    closed();
    unwritable();
    not_a_session();
}
