#define _GNU_SOURCE
#include "support.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int passed, failed, running, failing;
static char current[256];
static char top[64];

void begin_tests(void) {
    strcpy(top, "/tmp/xcsh-session-c-XXXXXX");
    if (!mkdtemp(top)) {
        perror("mkdtemp");
        exit(2);
    }
}

static void close_test(void) {
    if (running) {
        passed += !failing;
        failed += failing;
    }
    running = 0;
}

void begin_test(const char *group, const char *name) {
    close_test();
    snprintf(current, sizeof current, "%s: %s", group, name);
    running = 1;
    failing = 0;
}

void fail(const char *format, ...) {
    va_list arguments;
    fprintf(stderr, "FAILED %s: ", current);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    failing = 1;
}

static int remove_one(const char *path, const struct stat *stat, int kind, struct FTW *walk) {
    (void)stat, (void)kind, (void)walk;
    return remove(path);
}

int end_tests(void) {
    close_test();
    nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    printf("result: %d passed, %d failed\n", passed, failed);
    return failed != 0 || passed == 0;
}

bool succeeded(XcshStatus status, XcshError **err, const char *call) {
    if (status != XCSH_OK) {
        fail("%s: status %u: %s", call, (unsigned)status, *err ? xcsh_error_message(*err).data : "no error object");
    } else if (*err) {
        fail("%s: an error object on success", call);
    }
    xcsh_error_free(*err);
    *err = NULL;
    return status == XCSH_OK;
}

char *take_text(XcshString *string) {
    size_t len = xcsh_string_len(string);
    char *text = malloc(len + 1);
    if (len > 0) {
        memcpy(text, xcsh_string_data(string), len);
    }
    text[len] = '\0';
    xcsh_string_free(string);
    return text;
}

json_t *parse_loosely(const char *text, size_t len) {
    json_error_t error;
    json_t *value = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    if (!value) {
        fail("no JSON (%s): %.*s", error.text, (int)(len < 200 ? len : 200), text);
    }
    return value;
}

json_t *take_json(XcshString *string) {
    json_t *value = parse_loosely(xcsh_string_data(string), xcsh_string_len(string));
    xcsh_string_free(string);
    return value;
}

void same(const char *what, json_t *found, const json_t *expected) {
    if (!json_equal(found, expected)) {
        char *a = found ? json_dumps(found, JSON_ENCODE_ANY) : NULL;
        char *b = expected ? json_dumps(expected, JSON_ENCODE_ANY) : NULL;
        fail("%s: found %.2000s, expected %.2000s", what, a ? a : "nothing", b ? b : "nothing");
        free(a);
        free(b);
    }
    json_decref(found);
}

json_t *string_of(XcshStr text) {
    return text.data ? json_stringn(text.data, text.len) : json_null();
}

json_t *read_json_file(const char *dir, const char *name, size_t flags) {
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    json_t *value = json_load_file(path, flags | JSON_ALLOW_NUL, &error);
    if (!value) {
        fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
        exit(2);
    }
    return value;
}

XcshOptions *options_at(const char *dir, bool in_memory) {
    XcshError *err = NULL;
    XcshOptions *options = NULL;
    /* An environment of its own: nothing that the machine has set leads to a real session. */
    XcshEnvVar home = {{TEXT("HOME")}, {TEXT(dir)}};
    OK(xcsh_options_from_env(&home, 1, &options, &err));
    OK(xcsh_options_set_agent_dir(options, TEXT(dir), &err));
    OK(xcsh_options_set_terminal(options, NULL, 0, &err));
    if (in_memory) {
        OK(xcsh_options_use_memory(options, &err));
    }
    return options;
}

const char *new_dir(void) {
    static _Thread_local char dir[96];
    static atomic_uint count;
    snprintf(dir, sizeof dir, "%s/%u", top, atomic_fetch_add(&count, 1));
    if (mkdir(dir, 0700) != 0) {
        perror(dir);
        exit(2);
    }
    return dir;
}

bool write_file(const char *path, const char *content, size_t len) {
    FILE *file = fopen(path, "wb");
    bool written = file && fwrite(content, 1, len, file) == len;
    return file && fclose(file) == 0 && written;
}
