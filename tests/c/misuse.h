/* What the generated calls (ffi/examples/misuse.rs) lean on. */
#ifndef MISUSE_H
#define MISUSE_H

#include "support.h"

/* A place that a function must blank before it can fail. */
#define GARBAGE ((void *)(uintptr_t)0x5555)
/* A pointer that must not be followed. */
#define WILD ((void *)(uintptr_t)1)

/* How many ways there are to give an argument of a kind; way 0 is right, way 1 of a pointer is NULL. */
enum {
    HANDLE_WAYS = 2,
    PLACE_WAYS = 2,
    TEXT_WAYS = 8,
    BYTES_WAYS = 5,
    TEXTS_WAYS = 6,
    LINES_WAYS = 6,
    VARS_WAYS = 6,
    STRUCT_WAYS = 5,
    NUMBER_WAYS = 4,
    MAX_ARGUMENTS = 12
};

/* Handles of every kind, made when they are asked for. */
typedef struct World World;

const XcshOptions *the_options(World *world);
const XcshManager *the_manager(World *world);
const XcshSession *the_session(World *world);
const XcshEntries *the_entries(World *world);
const XcshContext *the_context(World *world);
const XcshTree *the_tree(World *world);
const XcshState *the_state(World *world);
const XcshBlobs *the_blobs(World *world);
const XcshHistory *the_history(World *world);
const XcshString *the_string(World *world);
const XcshStrings *the_strings(World *world);
const XcshError *the_error(World *world);

/* The same, for a function that frees it. */
XcshOptions *take_options(World *world);
XcshManager *take_manager(World *world);
XcshSession *take_session(World *world);
XcshEntries *take_entries(World *world);
XcshContext *take_context(World *world);
XcshTree *take_tree(World *world);
XcshState *take_state(World *world);
XcshBlobs *take_blobs(World *world);
XcshHistory *take_history(World *world);
XcshString *take_string(World *world);
XcshStrings *take_strings(World *world);
XcshError *take_error(World *world);

/* A pointer with a length, and the status that it must lead to (XCSH_OK: any). */
typedef struct Given {
    const void *data;
    size_t len;
    XcshStatus expected;
} Given;

Given give_text(World *world, const char *call, const char *name, unsigned way);
Given give_bytes(World *world, const char *call, const char *name, unsigned way);
Given give_texts(World *world, const char *call, const char *name, unsigned way);
Given give_lines(World *world, const char *call, const char *name, unsigned way);
Given give_vars(World *world, const char *call, const char *name, unsigned way);
Given give_compaction(World *world, unsigned way);
Given give_custommessage(World *world, unsigned way);
uint64_t give_number(const char *call, const char *name, unsigned way);
void on_log(void *user, uint32_t level, XcshStr target, XcshStr message);

void check_status(const char *call, XcshStatus status);
void check_handle(const char *call, XcshStatus status, unsigned way);
void check_given(const char *call, XcshStatus status, Given given);
void check_place(const char *call, XcshStatus status, unsigned way);
void check_result(const char *call, XcshStatus status, unsigned way, const void *result);
void check_lent(const char *call, XcshStatus status, unsigned way, const uint32_t *numbers, size_t count);
/* Frees the error. */
void check_error(const char *call, XcshStatus status, XcshError **err);

typedef struct Call {
    const char *name;
    void (*run)(World *world, const unsigned *way);
    size_t arguments;
    unsigned ways[MAX_ARGUMENTS];
} Call;

extern const Call calls[];
extern const size_t calls_count;

World *new_world(void);
void free_world(World *world);

/* While it is set, one argument at a time is wrong, and the status must say so. */
extern bool one_is_wrong;

/* What misuse_by_hand.c tries beside. */
void by_hand(void);

#endif
