/* The conformance cases (tests/conformance) through the C surface. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

void load_cases(const char *cases_dir);
void robust_cases(const char *cases_dir);
void write_cases(const char *cases_dir, int in_memory);

#endif
