/* robust.json: damaged and strange files. */
#define _GNU_SOURCE
#include "conformance.h"
#include "shown.h"

#include <string.h>

/* The text of a context message: its content if a string, else its first text block. */
static json_t *text_of(const json_t *message) {
    json_t *content = json_object_get(message, "content");
    json_t *block;
    size_t i;
    if (!json_is_array(content)) {
        return content ? json_incref(content) : json_null();
    }
    json_array_foreach(content, i, block) {
        const char *type = json_string_value(json_object_get(block, "type"));
        if (type && strcmp(type, "text") == 0) {
            json_t *text = json_object_get(block, "text");
            return text ? json_incref(text) : json_null();
        }
    }
    return json_null();
}

static void check_messages(const Shown *shown, const json_t *test) {
    XcshError *err = NULL;
    XcshContext *context = NULL;
    XcshString *leaf = NULL;
    XcshStr message;
    json_t *texts = json_array();
    const json_t *held = json_object_get(test, "contains");
    bool found = false;
    OK(xcsh_session_leaf_id(shown->session, &leaf, &err));
    OK(xcsh_session_context(shown->session, XCSH_LEAF_ID, xcsh_string_data(leaf), xcsh_string_len(leaf),
                            XCSH_MODEL_DEFAULT, &context, &err));
    for (size_t i = 0; i < xcsh_context_len(context); i++) {
        OK(xcsh_context_message(context, i, &message, &err));
        if (held && memmem(message.data, message.len, JSON_TEXT(held))) {
            found = true;
        }
        if (json_object_get(test, "texts")) {
            json_t *value = parse_loosely(message.data, message.len);
            json_array_append_new(texts, text_of(value));
            json_decref(value);
        }
    }
    CHECK(!held || found);
    if (json_object_get(test, "texts")) {
        same("texts", json_incref(texts), json_object_get(test, "texts"));
    }
    json_decref(texts);
    xcsh_context_free(context);
    xcsh_string_free(leaf);
}

static void check_diagnostics(const Shown *shown, json_t *expected) {
    XcshError *err = NULL;
    XcshString *json = NULL;
    json_t *value, *line;
    const char *key;
    size_t i;
    OK(xcsh_session_diagnostics_json(shown->session, &json, &err));
    json_t *report = take_json(json);
    json_object_foreach(expected, key, value) {
        const json_t *list = json_object_get(report, key);
        json_t *lines = json_array();
        json_array_foreach(list, i, line) {
            json_array_append(lines, json_object_get(line, "line"));
        }
        if (strcmp(key, "malformedLines") == 0) {
            same(key, json_incref(lines), value);
        } else {
            same(key, json_real((double)json_array_size(list)), value);
        }
        json_decref(lines);
    }
    json_decref(report);
}

static void expect(const json_t *test, const char *key, json_t *found) {
    const json_t *expected = json_object_get(test, key);
    if (expected) {
        same(key, found, expected);
    } else {
        json_decref(found);
    }
}

void robust_cases(const char *cases_dir) {
    json_t *cases = read_json_file(cases_dir, "robust.json", JSON_DECODE_INT_AS_REAL);
    json_t *test;
    size_t i;
    json_array_foreach(cases, i, test) {
        XcshError *err = NULL;
        XcshString *title = NULL;
        Shown shown;
        begin_test("robust", json_string_value(json_object_get(test, "name")));
        if (!shown_open(&shown, test, false)) {
            fail("does not open");
            continue;
        }
        OK(xcsh_session_title(shown.session, &title, &err));
        expect(test, "ids", json_incref(shown.ids));
        expect(test, "leaf", shown_leaf(&shown));
        expect(test, "branch", shown_branch(&shown));
        expect(test, "tree", shown_tree(&shown));
        expect(test, "usage", shown_usage(&shown));
        expect(test, "title", string_of((XcshStr){xcsh_string_data(title), xcsh_string_len(title)}));
        check_messages(&shown, test);
        check_diagnostics(&shown, json_object_get(test, "diagnostics"));
        xcsh_string_free(title);
        shown_close(&shown);
    }
    json_decref(cases);
}
