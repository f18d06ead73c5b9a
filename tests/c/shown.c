#include "shown.h"

#include <stdio.h>
#include <string.h>

json_t *shown_id(const Shown *shown, XcshStr id) {
    XcshError *err = NULL;
    uint32_t number = 0;
    if (!id.data || !shown->fresh) {
        return string_of(id);
    }
    OK(xcsh_session_number_of(shown->session, id.data, id.len, &number, &err));
    return json_sprintf("#%u", (unsigned)number);
}

static void read_entries(Shown *shown) {
    XcshError *err = NULL;
    XcshEntries *entries = NULL;
    XcshEntryView view;
    XcshStatus status;
    uint32_t len = 0;
    OK(xcsh_session_entries(shown->session, &entries, &err));
    while ((status = xcsh_entries_next(entries, &view, &err)) == XCSH_OK) {
        CHECK(view.number == json_array_size(shown->ids));
        json_array_append_new(shown->ids, string_of(view.id));
        json_array_append_new(shown->shown, shown_id(shown, view.id));
        json_array_append_new(shown->lines, string_of(view.line));
        json_t *entry = json_object();
        json_object_set_new(entry, "type", string_of(view.entry_type));
        json_object_set_new(entry, "id", shown_id(shown, view.id));
        json_object_set_new(entry, "parentId", shown_id(shown, view.parent_id));
        json_array_append_new(shown->entries, entry);
    }
    CHECK(status == XCSH_END && !err);
    xcsh_error_free(err);
    xcsh_entries_free(entries);
    err = NULL;
    OK(xcsh_session_len(shown->session, &len, &err));
    CHECK(len == json_array_size(shown->ids));
}

bool shown_open(Shown *shown, const json_t *test, bool fresh) {
    XcshError *err = NULL;
    XcshStrings *records = NULL;
    const json_t *file = json_object_get(test, "file");
    const char *dir = new_dir();
    char path[128];
    XcshOptions *options = options_at(dir, false);
    snprintf(path, sizeof path, "%s/session.jsonl", dir);
    CHECK(write_file(path, JSON_TEXT(file)));

    bool loads = json_is_true(json_object_get(test, "loads"));
    OK(xcsh_load_entries(options, TEXT(path), &records, &err));
    CHECK((xcsh_strings_len(records) > 0) == loads);
    xcsh_strings_free(records);

    *shown = (Shown){.fresh = fresh};
    XcshStatus status = xcsh_session_read(options, TEXT(path), &shown->session, &err);
    CHECK((status == XCSH_OK) == loads);
    CHECK(loads || status == XCSH_NOT_A_SESSION);
    CHECK(xcsh_error_status(err) == status);
    xcsh_error_free(err);
    /* What came from options does not need them. */
    xcsh_options_free(options);
    if (status == XCSH_OK) {
        shown->ids = json_array();
        shown->shown = json_array();
        shown->lines = json_array();
        shown->entries = json_array();
        read_entries(shown);
    }
    return status == XCSH_OK;
}

void shown_close(Shown *shown) {
    json_decref(shown->ids);
    json_decref(shown->shown);
    json_decref(shown->lines);
    json_decref(shown->entries);
    xcsh_session_free(shown->session);
}

json_t *shown_leaf(const Shown *shown) {
    XcshError *err = NULL;
    XcshString *id = NULL;
    OK(xcsh_session_leaf_id(shown->session, &id, &err));
    json_t *leaf = shown_id(shown, (XcshStr){xcsh_string_data(id), xcsh_string_len(id)});
    xcsh_string_free(id);
    return leaf;
}

json_t *shown_branch(const Shown *shown) {
    XcshError *err = NULL;
    XcshEntries *entries = NULL;
    XcshEntryView view;
    json_t *branch = json_array();
    OK(xcsh_session_branch(shown->session, NULL, 0, &entries, &err));
    while (xcsh_entries_next(entries, &view, &err) == XCSH_OK) {
        json_array_append_new(branch, shown_id(shown, view.id));
    }
    CHECK(!err);
    xcsh_error_free(err);
    xcsh_entries_free(entries);
    return branch;
}

/* The cases are shallow, so the stack is enough here. */
static json_t *nodes(const Shown *shown, const XcshTree *tree, const uint32_t *numbers, size_t count) {
    XcshError *err = NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        const uint32_t *children = NULL;
        size_t children_count = 0;
        OK(xcsh_tree_children(tree, numbers[i], &children, &children_count, &err));
        json_t *node = json_array();
        json_array_append(node, json_array_get(shown->shown, numbers[i]));
        json_array_append_new(node, nodes(shown, tree, children, children_count));
        json_array_append_new(list, node);
    }
    return list;
}

json_t *shown_tree(const Shown *shown) {
    XcshError *err = NULL;
    XcshTree *tree = NULL;
    const uint32_t *roots = NULL;
    size_t count = 0;
    OK(xcsh_session_tree(shown->session, &tree, &err));
    OK(xcsh_tree_roots(tree, &roots, &count, &err));
    json_t *list = nodes(shown, tree, roots, count);
    xcsh_tree_free(tree);
    return list;
}

json_t *shown_usage(const Shown *shown) {
    XcshError *err = NULL;
    XcshUsage usage = {0};
    OK(xcsh_session_usage(shown->session, &usage, &err));
    json_t *sums = json_object();
    json_object_set_new(sums, "input", json_real(usage.input));
    json_object_set_new(sums, "output", json_real(usage.output));
    json_object_set_new(sums, "cacheRead", json_real(usage.cache_read));
    json_object_set_new(sums, "cacheWrite", json_real(usage.cache_write));
    json_object_set_new(sums, "premiumRequests", json_real(usage.premium_requests));
    json_object_set_new(sums, "cost", json_real(usage.cost));
    return sums;
}
