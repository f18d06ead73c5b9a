/* Calls every function of the header in every wrong way, and from eight threads at once. */
#include "misuse.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool one_is_wrong;

void check_status(const char *call, XcshStatus status) {
    if (!xcsh_status_name(status) || status == XCSH_PANIC) {
        fail("%s gives status %u", call, (unsigned)status);
    }
}

static void must_be(const char *call, XcshStatus status, XcshStatus expected) {
    if (one_is_wrong && expected != XCSH_OK && status != expected) {
        fail("%s gives status %u, not %u", call, (unsigned)status, (unsigned)expected);
    }
}

void check_handle(const char *call, XcshStatus status, unsigned way) {
    must_be(call, status, way ? XCSH_NULL_POINTER : XCSH_OK);
}

void check_given(const char *call, XcshStatus status, Given given) {
    must_be(call, status, given.expected);
}

void check_place(const char *call, XcshStatus status, unsigned way) {
    if (one_is_wrong && way && status != XCSH_NULL_POINTER && status != XCSH_OK) {
        fail("%s without a place for a result gives status %u", call, (unsigned)status);
    }
}

void check_result(const char *call, XcshStatus status, unsigned way, const void *result) {
    check_place(call, status, way);
    if (!way && (result == GARBAGE || (status > XCSH_END && result))) {
        fail("%s leaves something in the place for a result (status %u)", call, (unsigned)status);
    }
}

void check_lent(const char *call, XcshStatus status, unsigned way, const uint32_t *numbers, size_t count) {
    check_place(call, status, way);
    if (status == XCSH_OK && (numbers == GARBAGE || (count > 0) != (numbers != NULL))) {
        fail("%s lends no numbers", call);
    }
}

void check_error(const char *call, XcshStatus status, XcshError **err) {
    if (!err) {
        return;
    }
    if (*err == GARBAGE || (*err != NULL) != (status > XCSH_END)) {
        fail("%s: status %u and the error object do not agree", call, (unsigned)status);
        return;
    }
    if (*err) {
        XcshStr message = xcsh_error_message(*err), code = xcsh_error_code(*err);
        CHECK(xcsh_error_status(*err) == status);
        CHECK(message.len > 0 && message.len == strlen(message.data));
        CHECK(strcmp(code.data, xcsh_status_name(status)) == 0);
    }
    xcsh_error_free(*err);
}

static void run(const Call *call, const unsigned *way) {
    World *world = new_world();
    call->run(world, way);
    /* Whatever the call did, the library still works. */
    XcshError *err = NULL;
    XcshManager *manager = NULL;
    OK(xcsh_set_log(NULL, NULL, XCSH_LOG_OFF, &err));
    OK(xcsh_manager_in_memory(the_options(world), TEXT("/"), &manager, &err));
    xcsh_manager_free(manager);
    free_world(world);
}

static void misuse(const Call *call) {
    unsigned way[MAX_ARGUMENTS] = {0};
    begin_test("misuse", call->name);
    one_is_wrong = true;
    run(call, way);
    for (size_t i = 0; i < call->arguments; i++) {
        for (way[i] = 1; way[i] < call->ways[i]; way[i]++) {
            run(call, way);
        }
        way[i] = 0;
    }
    one_is_wrong = false;
    for (unsigned all = 1; all < TEXT_WAYS; all++) {
        for (size_t i = 0; i < call->arguments; i++) {
            way[i] = all < call->ways[i] ? all : 1;
        }
        run(call, way);
    }
    for (size_t i = 0; i < call->arguments; i++) {
        for (size_t j = 0; j < i; j++) {
            memset(way, 0, sizeof way);
            way[i] = way[j] = 1;
            run(call, way);
        }
    }
}

static bool frees(const Call *call) {
    size_t len = strlen(call->name);
    return len > 5 && strcmp(call->name + len - 5, "_free") == 0;
}

typedef struct Worker {
    World *world;
    unsigned seed;
    size_t rounds;
} Worker;

static void *work(void *given) {
    static const unsigned right[MAX_ARGUMENTS] = {0};
    Worker *worker = given;
    for (size_t i = 0; i < worker->rounds; i++) {
        worker->seed = worker->seed * 1103515245u + 12345u;
        const Call *call = &calls[(worker->seed >> 8) % calls_count];
        if (!frees(call)) {
            call->run(worker->world, right);
        }
    }
    return NULL;
}

static void eight_threads(size_t rounds) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    Worker workers[THREADS];
    World *world = new_world();
    begin_test("threads", "eight on each handle");
    the_context(world), the_entries(world), the_tree(world), the_state(world), the_history(world);
    the_string(world), the_strings(world), the_error(world);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (Worker){world, i + 1, rounds};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    xcsh_set_log(NULL, NULL, XCSH_LOG_OFF, NULL);
    free_world(world);
}

int main(int argc, char **argv) {
    size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
    begin_tests();
    for (size_t i = 0; i < calls_count; i++) {
        misuse(&calls[i]);
    }
    eight_threads(rounds);
    by_hand();
    return end_tests();
}
