/* load.json: header, entries, tree and contexts of a file. */
#include "conformance.h"
#include "shown.h"

#include <stdlib.h>
#include <string.h>

static json_t *context_json(const XcshContext *context) {
    XcshError *err = NULL;
    XcshString *json = NULL;
    OK(xcsh_context_json(context, &json, &err));
    return take_json(json);
}

static XcshContext *context_of(const Shown *shown, const json_t *leaf, uint32_t resolution) {
    XcshError *err = NULL;
    XcshContext *context = NULL;
    if (!leaf || json_is_null(leaf)) {
        uint32_t kind = leaf ? XCSH_LEAF_NONE : XCSH_LEAF_LAST;
        OK(xcsh_session_context(shown->session, kind, NULL, 0, resolution, &context, &err));
        return context;
    }
    if (shown->fresh && json_string_value(leaf)[0] == '#') {
        leaf = json_array_get(shown->ids, strtoul(json_string_value(leaf) + 1, NULL, 10));
    }
    OK(xcsh_session_context(shown->session, XCSH_LEAF_ID, JSON_TEXT(leaf), resolution, &context, &err));
    return context;
}

static void check_context(const Shown *shown, const json_t *expected) {
    XcshError *err = NULL;
    const json_t *leaf = json_object_get(expected, "leaf");
    const json_t *raw = json_object_get(expected, "rawMessages");
    const json_t *whole = json_object_get(expected, "expect");
    XcshContext *context = context_of(shown, leaf, XCSH_MODEL_DEFAULT);
    if (raw) {
        json_t *messages = json_array();
        for (size_t i = 0; i < xcsh_context_len(context); i++) {
            XcshStr message;
            uint32_t number = UINT32_MAX;
            OK(xcsh_context_message(context, i, &message, &err));
            OK(xcsh_context_message_entry(context, i, &number, &err));
            CHECK(number < json_array_size(shown->ids));
            json_array_append_new(messages, string_of(message));
        }
        same("raw messages", messages, raw);
    }
    if (whole) {
        XcshContext *latest = context_of(shown, leaf, XCSH_MODEL_LATEST);
        json_t *latest_json = context_json(latest);
        const json_t *models = json_object_get(expected, "modelsLatest");
        same("context", context_json(context), whole);
        same("latest models", json_incref(json_object_get(latest_json, "models")),
             models ? models : json_object_get(whole, "models"));
        json_decref(latest_json);
        xcsh_context_free(latest);
    }
    xcsh_context_free(context);
}

static void check_first_kept(const Shown *shown, const json_t *pair) {
    size_t index = (size_t)json_number_value(json_array_get(pair, 0));
    const json_t *line = json_array_get(shown->lines, index);
    json_t *entry = parse_loosely(JSON_TEXT(line));
    const json_t *first = json_object_get(entry, "firstKeptEntryId");
    XcshStr id = {json_string_value(first), json_string_length(first)};
    same("firstKept", shown_id(shown, id), json_array_get(pair, 1));
    json_decref(entry);
}

void load_cases(const char *cases_dir) {
    json_t *cases = read_json_file(cases_dir, "load.json", JSON_DECODE_INT_AS_REAL);
    json_t *test, *item;
    size_t i, j;
    json_array_foreach(cases, i, test) {
        XcshError *err = NULL;
        XcshString *json = NULL;
        Shown shown;
        bool migrated = false;
        begin_test("load", json_string_value(json_object_get(test, "name")));
        const json_t *first = json_array_get(json_object_get(test, "entries"), 0);
        const char *first_id = json_string_value(json_object_get(first, "id"));
        if (!shown_open(&shown, test, first_id && first_id[0] == '#')) {
            continue;
        }
        OK(xcsh_session_header_json(shown.session, &json, &err));
        same("header", take_json(json), json_object_get(test, "header"));
        OK(xcsh_session_is_migrated(shown.session, &migrated, &err));
        same("migrated", json_boolean(migrated), json_object_get(test, "migrated"));
        same("entries", json_incref(shown.entries), json_object_get(test, "entries"));
        json_array_foreach(json_object_get(test, "firstKept"), j, item) {
            check_first_kept(&shown, item);
        }
        same("leaf", shown_leaf(&shown), json_object_get(test, "leaf"));
        same("branch", shown_branch(&shown), json_object_get(test, "branch"));
        OK(xcsh_session_labels_json(shown.session, &json, &err));
        same("labels", take_json(json), json_object_get(test, "labels"));
        same("tree", shown_tree(&shown), json_object_get(test, "tree"));
        same("usage", shown_usage(&shown), json_object_get(test, "usage"));
        json_array_foreach(json_object_get(test, "contexts"), j, item) {
            check_context(&shown, item);
        }
        shown_close(&shown);
    }
    json_decref(cases);
}
