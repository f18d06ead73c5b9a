/* The operations of write.json. */
#ifndef OPERATIONS_H
#define OPERATIONS_H

#include "support.h"

/* Runs an operation, named as a method of the Node surface, and gives what it returned. */
json_t *run_operation(const XcshManager *manager, const char *op, const json_t *args);

#endif
