/* Runs all conformance cases through xcsh_session.h: conformance DIR */
#include "conformance.h"
#include "support.h"

#include <stdio.h>

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: conformance DIR\n");
        return 2;
    }
    begin_tests();
    load_cases(argv[1]);
    robust_cases(argv[1]);
    write_cases(argv[1], 0);
    write_cases(argv[1], 1);
    return end_tests();
}
