/* What the C tests share: counting, strings, JSON. */
#ifndef SUPPORT_H
#define SUPPORT_H

#include <jansson.h>
#include <xcsh_session.h>

/* Comes first, before there are other threads. */
void begin_tests(void);

/* Begins a test. Failures until the next one are its failures. */
void begin_test(const char *group, const char *name);

/* Says that the current test failed, with a message as for printf. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void fail(const char *format, ...);

/* Prints `N passed, N failed` and returns what main returns. */
int end_tests(void);

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fail("%s:%d: %s", __FILE__, __LINE__, #condition); \
        } \
    } while (0)

/* Fails the current test if a call did not succeed. Frees and clears the error. */
bool succeeded(XcshStatus status, XcshError **err, const char *call);

/* A call that must succeed; its last argument is `&err` of the function it stands in. */
#define OK(call) succeeded((call), &err, #call)

/* A string as the pointer and length that functions take. */
#define TEXT(text) (text), strlen(text)
#define JSON_TEXT(string) json_string_value(string), json_string_length(string)

/* The text of a string that is freed; "" for NULL. The caller frees it. */
char *take_text(XcshString *string);

/* The JSON value of a text; fails the test where it is none. Whole numbers are read as reals, so that 1 equals 1.0. */
json_t *parse_loosely(const char *text, size_t len);

/* The same of a string that is freed. */
json_t *take_json(XcshString *string);

/* Compares and frees `found`; fails the test where they differ. */
void same(const char *what, json_t *found, const json_t *expected);

json_t *string_of(XcshStr text);

/* A JSON file with whole numbers as they are, or ends the program. */
json_t *read_json_file(const char *dir, const char *name, size_t flags);

/* Options with everything below a directory. */
XcshOptions *options_at(const char *dir, bool in_memory);

/* A new directory, removed with all others by end_tests(). The name is valid until this thread's next call. */
const char *new_dir(void);

bool write_file(const char *path, const char *content, size_t len);

#endif
