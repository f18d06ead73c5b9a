/* write.json: what operations write, line by line, on files and in memory. */
#include "conformance.h"
#include "expand.h"
#include "operations.h"

#include <stdlib.h>
#include <string.h>

static char *string_from(XcshStatus (*get)(const XcshManager *, XcshString **, XcshError **),
                         const XcshManager *manager) {
    XcshError *err = NULL;
    XcshString *string = NULL;
    OK(get(manager, &string, &err));
    return take_text(string);
}

static json_t *show_header(const json_t *header, const char *old_id, const char *old_file) {
    json_t *shown = json_object(), *value;
    const char *key;
    json_object_foreach((json_t *)header, key, value) {
        const char *text = json_string_value(value);
        if (strcmp(key, "id") == 0) {
            text = "<session>";
        } else if (strcmp(key, "cwd") == 0) {
            text = "<cwd>";
        } else if (strcmp(key, "timestamp") == 0) {
            text = "<ts>";
        } else if (strcmp(key, "parentSession") == 0) {
            text = strcmp(text, old_id) == 0 ? "<old id>" : strcmp(text, old_file) == 0 ? "<old file>" : text;
        } else {
            text = NULL;
        }
        json_object_set_new(shown, key, text ? json_string(text) : json_copy(value));
    }
    return shown;
}

static json_t *show_entry(json_t *entry, const json_t *ids, const XcshBlobs *hasher) {
    json_t *stamp = json_string("<ts>");
    json_t *shown = json_object(), *value;
    const char *key;
    json_object_foreach(entry, key, value) {
        json_object_set_new(shown, key,
                            strcmp(key, "timestamp") == 0 ? json_incref(stamp) : show(value, ids, hasher));
    }
    json_decref(stamp);
    return shown;
}

static json_t *parse_exactly(const char *text, size_t len) {
    json_error_t error;
    json_t *value = json_loadb(text, len, JSON_ALLOW_NUL, &error);
    if (!value) {
        fail("no JSON (%s)", error.text);
    }
    return value;
}

/* Compares a file with the lines of a case. JSON libraries spell differently, so both go through the same one; the order
   of keys counts. */
static void check_file(const char *what, const XcshOptions *options, const char *path, const json_t *expected,
                       const char *old_id, const char *old_file, const XcshBlobs *hasher) {
    XcshError *err = NULL;
    XcshStrings *records = NULL;
    json_t *ids = json_object();
    OK(xcsh_load_entries(options, TEXT(path), &records, &err));
    size_t count = xcsh_strings_len(records);
    if (count != json_array_size(expected)) {
        fail("%s: %zu lines, expected %zu", what, count, json_array_size(expected));
    }
    json_t *lines = json_array();
    for (size_t i = 0; i < count; i++) {
        XcshStr record;
        OK(xcsh_strings_get(records, i, &record, &err));
        json_t *line = parse_exactly(record.data, record.len);
        json_array_append_new(lines, line);
        if (i > 0) {
            const json_t *id = json_object_get(line, "id");
            json_object_set_new(ids, json_string_value(id), json_sprintf("#%zu", i - 1));
        }
    }
    for (size_t i = 0; i < count && i < json_array_size(expected); i++) {
        json_t *line = json_array_get(lines, i);
        const json_t *wanted = json_array_get(expected, i);
        json_t *shown = i == 0 ? show_header(line, old_id, old_file) : show_entry(line, ids, hasher);
        json_t *parsed = parse_exactly(JSON_TEXT(wanted));
        char *a = json_dumps(shown, JSON_COMPACT), *b = json_dumps(parsed, JSON_COMPACT);
        if (strcmp(a, b) != 0) {
            fail("%s: line %zu: found %s, expected %s", what, i, a, b);
        }
        free(a);
        free(b);
        json_decref(shown);
        json_decref(parsed);
    }
    json_decref(lines);
    json_decref(ids);
    xcsh_strings_free(records);
}

static void check_case(const json_t *test, const XcshOptions *options, const XcshBlobs *hasher) {
    XcshError *err = NULL;
    XcshManager *manager = NULL;
    json_t *op, *value, *returned = json_array(), *flags = json_array();
    size_t i;
    OK(xcsh_manager_create(options, TEXT("/srv/pi"), &manager, &err));
    char *old_file = string_from(xcsh_manager_session_file, manager);
    char *old_id = string_from(xcsh_manager_session_id, manager);
    json_array_foreach(json_object_get(test, "ops"), i, op) {
        json_t *args = expand(op, returned);
        json_array_remove(args, 0);
        json_array_append_new(returned, run_operation(manager, json_string_value(json_array_get(op, 0)), args));
        OK(xcsh_manager_flush(manager, &err));
        json_decref(args);
    }
    char *file = string_from(xcsh_manager_session_file, manager);
    check_file("file", options, file, json_object_get(test, "file"), old_id, old_file, hasher);
    if (json_object_get(test, "oldFile")) {
        CHECK(strcmp(file, old_file) != 0);
        check_file("old file", options, old_file, json_object_get(test, "oldFile"), old_id, old_file, hasher);
    }
    json_array_foreach(returned, i, value) {
        json_array_append_new(flags, json_is_boolean(value) ? json_incref(value) : json_null());
    }
    if (json_object_get(test, "returns")) {
        same("returns", json_incref(flags), json_object_get(test, "returns"));
    }
    OK(xcsh_manager_close(manager, &err));
    xcsh_manager_free(manager);
    json_decref(flags);
    json_decref(returned);
    free(file);
    free(old_id);
    free(old_file);
}

void write_cases(const char *cases_dir, int in_memory) {
    json_t *cases = read_json_file(cases_dir, "write.json", 0);
    json_t *test;
    size_t i;
    json_array_foreach(cases, i, test) {
        XcshError *err = NULL;
        XcshBlobs *hasher = NULL;
        begin_test(in_memory ? "write in memory" : "write", json_string_value(json_object_get(test, "name")));
        XcshOptions *scratch = options_at("/scratch", true);
        XcshOptions *options = options_at(in_memory ? "/agent" : new_dir(), in_memory);
        OK(xcsh_blobs_new(scratch, &hasher, &err));
        check_case(test, options, hasher);
        xcsh_blobs_free(hasher);
        xcsh_options_free(options);
        xcsh_options_free(scratch);
    }
    json_decref(cases);
}
