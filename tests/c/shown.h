/* A session as the cases show it. */
#ifndef SHOWN_H
#define SHOWN_H

#include "support.h"

typedef struct Shown {
    XcshSession *session;
    /* Ids were made up when the file was migrated: they are shown as `#<number of the entry>`. */
    bool fresh;
    /* Of each entry: id (or null), what is shown of it, and its line. */
    json_t *ids, *shown, *lines;
    /* {type, id, parentId} of each entry. */
    json_t *entries;
} Shown;

/* Writes `file` to a path and reads it. False where it does not open, which is `loads:false`. */
bool shown_open(Shown *shown, const json_t *test, bool fresh);
void shown_close(Shown *shown);

json_t *shown_id(const Shown *shown, XcshStr id);
json_t *shown_leaf(const Shown *shown);
json_t *shown_branch(const Shown *shown);
json_t *shown_tree(const Shown *shown);
json_t *shown_usage(const Shown *shown);

#endif
