/* Strings that write.json only describes. */
#ifndef EXPAND_H
#define EXPAND_H

#include "support.h"

/* `value` with the strings built that it describes and the results of earlier operations put in. */
json_t *expand(const json_t *value, const json_t *returned);

/* `value` with ids as the cases show them, and long strings as length and hash. */
json_t *show(const json_t *value, const json_t *ids, const XcshBlobs *hasher);

#endif
