#define _GNU_SOURCE
/* What the conformance cases do not reach, each function once with a result that can be told: finding sessions, history,
   blobs, artifacts, states, environment, log. */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define USER "{\"role\":\"user\",\"content\":\"where is the moon\",\"timestamp\":1}"
#define ASSISTANT "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"up\"}],\"provider\":\"p\",\"model\":\"m\"}"

static XcshManager *session_of(const XcshOptions *options, const char *cwd) {
    XcshError *err = NULL;
    XcshManager *manager = NULL;
    OK(xcsh_manager_create(options, TEXT(cwd), &manager, &err));
    OK(xcsh_manager_append_message(manager, TEXT(USER), NULL, &err));
    OK(xcsh_manager_append_message(manager, TEXT(ASSISTANT), NULL, &err));
    return manager;
}

static json_t *only_session(XcshString *string, size_t expected) {
    json_t *all = take_json(string);
    json_t *sessions = json_object_get(all, "sessions");
    CHECK(json_array_size(sessions) == expected);
    CHECK(json_is_array(json_object_get(all, "unreadable")));
    json_t *first = json_incref(json_array_get(sessions, 0));
    json_decref(all);
    return first;
}

static bool is(const json_t *object, const char *key, const char *expected) {
    const char *found = json_string_value(json_object_get(object, key));
    return found && strcmp(found, expected) == 0;
}

static void finding(void) {
    XcshError *err = NULL;
    XcshString *string = NULL, *dir = NULL;
    XcshManager *again = NULL;
    begin_test("surface", "finding sessions");
    XcshOptions *options = options_at(new_dir(), false);
    XcshManager *manager = session_of(options, "/srv/pi");
    xcsh_manager_free(session_of(options, "/srv/other"));
    OK(xcsh_manager_session_file(manager, &string, &err));
    char *file = take_text(string);
    OK(xcsh_manager_session_id(manager, &string, &err));
    char *id = take_text(string);
    OK(xcsh_options_session_dir(options, TEXT("/srv/pi"), &dir, &err));
    CHECK(strncmp(file, xcsh_string_data(dir), xcsh_string_len(dir)) == 0);

    OK(xcsh_recent_sessions(options, xcsh_string_data(dir), xcsh_string_len(dir), 5, &string, &err));
    json_t *found = only_session(string, 1);
    CHECK(is(found, "path", file) && is(found, "id", id) && is(found, "name", "where is the moon"));
    CHECK(is(found, "timeAgo", "just now"));
    json_decref(found);
    OK(xcsh_most_recent_session(options, xcsh_string_data(dir), xcsh_string_len(dir), &string, &err));
    char *newest = take_text(string);
    CHECK(strcmp(newest, file) == 0);
    OK(xcsh_list_sessions(options, TEXT("/srv/pi"), NULL, 0, 1, &string, &err));
    found = only_session(string, 1);
    CHECK(is(found, "cwd", "/srv/pi") && is(found, "allMessagesText", "where is the moon up"));
    CHECK(json_number_value(json_object_get(found, "messageCount")) == 2);
    json_decref(found);
    OK(xcsh_list_all_sessions(options, 0, &string, &err));
    json_decref(only_session(string, 2));
    OK(xcsh_resolve_session(options, TEXT(id), TEXT("/elsewhere"), NULL, 0, &string, &err));
    found = take_json(string);
    CHECK(is(json_object_get(found, "session"), "path", file) && json_is_true(json_object_get(found, "global")));
    json_decref(found);
    OK(xcsh_resolve_session(options, TEXT("zzz"), TEXT("/srv/pi"), NULL, 0, &string, &err));
    CHECK(!string);
    CHECK(xcsh_resolve_session(options, NULL, 0, TEXT("/srv/pi"), NULL, 0, &string, NULL) == XCSH_INVALID_ARGUMENT);
    OK(xcsh_manager_continue_recent(options, TEXT("/srv/pi"), &again, &err));
    OK(xcsh_manager_session_id(again, &string, &err));
    char *again_id = take_text(string);
    CHECK(strcmp(again_id, id) == 0);

    /* Two managers of one file. */
    XcshEntries *added = NULL;
    XcshEntryView view;
    OK(xcsh_manager_append_message(again, TEXT(USER), NULL, &err));
    OK(xcsh_manager_refresh(manager, &added, &err));
    CHECK(xcsh_entries_next(added, &view, NULL) == XCSH_OK && view.number == 2);
    CHECK(xcsh_entries_next(added, &view, NULL) == XCSH_END);
    xcsh_entries_free(added);
    xcsh_manager_free(again);
    xcsh_manager_free(manager);
    OK(xcsh_delete_session_with_artifacts(options, TEXT(file), &err));
    CHECK(xcsh_delete_session_with_artifacts(options, TEXT(file), NULL) == XCSH_NOT_FOUND);
    xcsh_string_free(dir);
    xcsh_options_free(options);
    free(file), free(id), free(newest), free(again_id);
}

static void history(void) {
    XcshError *err = NULL;
    XcshOptions *options = options_at(new_dir(), false);
    XcshString *path = NULL, *string = NULL;
    XcshHistory *history = NULL;
    begin_test("surface", "prompt history");
    OK(xcsh_options_dir(options, XCSH_DIR_HISTORY_DB, &path, &err));
    OK(xcsh_history_open(xcsh_string_data(path), xcsh_string_len(path), &history, &err));
    OK(xcsh_history_add(history, TEXT("  fix the moon "), TEXT("/srv/pi"), &err));
    OK(xcsh_history_add(history, TEXT("fix C++ and foo-bar"), NULL, 0, &err));
    OK(xcsh_history_flush(history, &err));
    OK(xcsh_history_recent(history, 10, &string, &err));
    json_t *found = take_json(string);
    CHECK(json_array_size(found) == 2 && is(json_array_get(found, 1), "prompt", "fix the moon"));
    CHECK(is(json_array_get(found, 1), "cwd", "/srv/pi") && json_is_null(json_object_get(json_array_get(found, 0), "cwd")));
    json_decref(found);
    OK(xcsh_history_search(history, TEXT("foo-bar C++"), 10, &string, &err));
    found = take_json(string);
    CHECK(json_array_size(found) == 1);
    json_decref(found);
    OK(xcsh_history_close(history, &err));
    xcsh_history_free(history);
    xcsh_string_free(path);
    xcsh_options_free(options);
}

static void blobs(void) {
    XcshError *err = NULL;
    XcshString *string = NULL, *path = NULL;
    XcshBlobs *blobs = NULL;
    bool there = false;
    static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    begin_test("surface", "blobs and their collection");
    XcshOptions *options = options_at(new_dir(), false);
    /* Without any session nothing may be collected: the directory may just not be mounted. */
    xcsh_manager_free(session_of(options, "/srv/pi"));
    OK(xcsh_blobs_new(options, &blobs, &err));
    OK(xcsh_blobs_put(blobs, (const uint8_t *)"abc", 3, &string, &err));
    char *hash = take_text(string);
    CHECK(strcmp(hash, abc) == 0);
    OK(xcsh_blobs_get(blobs, TEXT(abc), &string, &err));
    CHECK(xcsh_string_len(string) == 3 && memcmp(xcsh_string_data(string), "abc", 4) == 0);
    xcsh_string_free(string);
    OK(xcsh_blobs_verify(blobs, TEXT(abc), &there, &err));
    CHECK(there);
    CHECK(xcsh_blobs_get(blobs, TEXT("../../x"), &string, NULL) == XCSH_INVALID_ARGUMENT);
    OK(xcsh_gc_blobs(options, 0, 0, NULL, 0, &string, &err));
    json_t *report = take_json(string);
    CHECK(json_array_size(json_object_get(report, "unreferenced")) == 1);
    CHECK(is(json_array_get(json_object_get(report, "unreferenced"), 0), "hash", abc));
    CHECK(json_number_value(json_object_get(report, "deleted")) == 0);
    json_decref(report);
    OK(xcsh_blobs_path(blobs, TEXT(abc), &path, &err));
    CHECK(write_file(xcsh_string_data(path), "abd", 3));
    CHECK(xcsh_blobs_get(blobs, TEXT(abc), &string, &err) == XCSH_BLOB && !string);
    xcsh_error_free(err);
    OK(xcsh_gc_blobs(options, 1, 0, NULL, 0, &string, &err));
    report = take_json(string);
    CHECK(json_number_value(json_object_get(report, "deleted")) == 1);
    json_decref(report);
    OK(xcsh_blobs_get(blobs, TEXT(abc), &string, &err));
    CHECK(!string);
    xcsh_string_free(path);
    free(hash);
    xcsh_blobs_free(blobs);
    xcsh_options_free(options);
}

static void artifacts_and_states(void) {
    XcshError *err = NULL;
    XcshString *id = NULL, *path = NULL, *old_path = NULL;
    XcshState *state = NULL;
    XcshSession *view = NULL;
    begin_test("surface", "artifacts, states, titles");
    XcshOptions *options = options_at(new_dir(), false);
    XcshManager *manager = session_of(options, "/srv/pi");
    OK(xcsh_manager_save_artifact(manager, (const uint8_t *)"out", 3, TEXT("bash"), &id, &err));
    OK(xcsh_manager_artifact_path(manager, xcsh_string_data(id), xcsh_string_len(id), &path, &err));
    CHECK(path && strstr(xcsh_string_data(path), ".bash.log"));
    xcsh_string_free(path);
    xcsh_string_free(id);
    OK(xcsh_manager_capture_state(manager, &state, &err));
    OK(xcsh_manager_session_file(manager, &old_path, &err));
    OK(xcsh_manager_new_session(manager, NULL, 0, &path, &err));
    CHECK(strcmp(xcsh_string_data(path), xcsh_string_data(old_path)) != 0);
    xcsh_string_free(path);
    OK(xcsh_manager_restore_state(manager, state, &err));
    OK(xcsh_manager_session_file(manager, &path, &err));
    CHECK(strcmp(xcsh_string_data(path), xcsh_string_data(old_path)) == 0);
    xcsh_string_free(path);
    xcsh_string_free(old_path);
    xcsh_state_free(state);

    bool taken = false;
    uint32_t source = 77;
    OK(xcsh_manager_set_session_name(manager, TEXT("a\tb"), XCSH_TITLE_USER, &taken, &err));
    CHECK(taken);
    OK(xcsh_manager_set_session_name(manager, TEXT("auto"), XCSH_TITLE_AUTO, &taken, &err));
    CHECK(!taken);
    OK(xcsh_manager_title_source(manager, &source, &err));
    CHECK(source == XCSH_TITLE_USER);
    OK(xcsh_manager_view(manager, &view, &err));
    OK(xcsh_session_title(view, &path, &err));
    CHECK(strcmp(xcsh_string_data(path), "a b") == 0);
    xcsh_string_free(path);
    xcsh_session_free(view);
    xcsh_manager_free(manager);
    xcsh_options_free(options);
}

static void environment(void) {
    XcshError *err = NULL;
    XcshOptions *options = NULL;
    XcshString *path = NULL;
    begin_test("surface", "the host's environment");
    XcshEnvVar vars[] = {{{TEXT("HOME")}, {TEXT("/home/ana")}},
                         {{TEXT("PATH")}, {TEXT("/bin")}},
                         {{TEXT("PI_CONFIG_DIR")}, {TEXT(".pi")}}};
    OK(xcsh_options_from_env(vars, 3, &options, &err));
    OK(xcsh_options_dir(options, XCSH_DIR_AGENT, &path, &err));
    CHECK(strcmp(xcsh_string_data(path), "/home/ana/.pi/agent") == 0);
    xcsh_string_free(path);
    OK(xcsh_options_set_profile(options, XCSH_PROFILE_AGENT, &err));
    OK(xcsh_options_session_dir(options, TEXT("/home/ana/src/x"), &path, &err));
    CHECK(strcmp(xcsh_string_data(path), "/home/ana/.pi/agent/sessions/-src-x") == 0);
    xcsh_string_free(path);
    CHECK(xcsh_options_set_profile(options, 9, NULL) == XCSH_INVALID_ARGUMENT);
    xcsh_options_free(options);
}

typedef struct Heard {
    int count;
    char message[512];
} Heard;

static void hear(void *user, uint32_t level, XcshStr target, XcshStr message) {
    Heard *heard = user;
    CHECK(level == XCSH_LOG_ERROR && target.len > 0);
    snprintf(heard->message, sizeof heard->message, "%.*s", (int)message.len, message.data);
    heard->count++;
    /* What comes of the callback's own calls is dropped, and setting another one from here is refused. */
    CHECK(xcsh_set_log(NULL, NULL, XCSH_LOG_OFF, NULL) == XCSH_INVALID_ARGUMENT);
}

static void logging(void) {
    XcshError *err = NULL;
    XcshManager *manager = NULL;
    Heard heard = {0};
    char dir[128];
    begin_test("surface", "log");
    snprintf(dir, sizeof dir, "%s/agent", new_dir());
    XcshOptions *options = options_at(dir, false);
    CHECK(write_file(dir, "in the way", 10));
    OK(xcsh_set_log(hear, &heard, XCSH_LOG_ERROR, &err));
    OK(xcsh_manager_create(options, TEXT("/srv/pi"), &manager, &err));
    CHECK(xcsh_manager_append_message(manager, TEXT(ASSISTANT), NULL, NULL) != XCSH_OK);
    CHECK(xcsh_manager_append_message(manager, TEXT(ASSISTANT), NULL, NULL) != XCSH_OK);
    CHECK(heard.count == 1 && strstr(heard.message, dir));
    OK(xcsh_set_log(NULL, NULL, XCSH_LOG_OFF, &err));
    xcsh_manager_free(manager);
    CHECK(heard.count == 1);
    xcsh_options_free(options);
}

static void snapshot(void) {
    XcshError *err = NULL;
    XcshString *string = NULL;
    XcshSession *session = NULL;
    struct stat before, after;
    begin_test("surface", "a snapshot leaves no trace");
    const char *dir = new_dir();
    char path[128];
    snprintf(path, sizeof path, "%s/v1.jsonl", dir);
    static const char old[] = "{\"type\":\"session\",\"id\":\"a\"}\n{\"type\":\"message\",\"message\":" USER "}\n{\"ty";
    CHECK(write_file(path, old, sizeof old - 1));
    XcshOptions *options = options_at(dir, false);
    CHECK(stat(path, &before) == 0);
    OK(xcsh_session_read(options, TEXT(path), &session, &err));
    OK(xcsh_session_diagnostics_json(session, &string, &err));
    json_t *report = take_json(string);
    CHECK(json_array_size(json_object_get(report, "malformedLines")) == 1);
    json_decref(report);
    CHECK(stat(path, &after) == 0);
    CHECK(before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
    CHECK(before.st_size == after.st_size && before.st_ino == after.st_ino);
    xcsh_session_free(session);
    xcsh_options_free(options);
}

int main(void) {
    begin_tests();
    finding();
    history();
    blobs();
    artifacts_and_states();
    environment();
    logging();
    snapshot();
    return end_tests();
}
