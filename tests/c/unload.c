/* Loads the library, writes a session, unloads it while a thread of it may still run: unload LIBRARY DIR */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xcsh_session.h>

#define MESSAGE "{\"role\":\"assistant\",\"content\":[]}"

int main(int argc, char **argv) {
    void *library = argc == 3 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!library) {
        fprintf(stderr, "unload: %s\n", argc == 3 ? dlerror() : "usage: unload LIBRARY DIR");
        return 2;
    }
    XcshOptions *options = NULL;
    XcshManager *manager = NULL;
    XcshStatus status = XCSH_OK;
    /* Through void **, as POSIX shows it: C has no cast from data to functions. */
    XcshStatus (*new_options)(XcshOptions **, XcshError **);
    XcshStatus (*set_agent_dir)(const XcshOptions *, const char *, size_t, XcshError **);
    XcshStatus (*create)(const XcshOptions *, const char *, size_t, XcshManager **, XcshError **);
    XcshStatus (*append)(const XcshManager *, const char *, size_t, XcshString **, XcshError **);
    void (*free_options)(XcshOptions *);
    void (*free_manager)(XcshManager *);
    *(void **)&new_options = dlsym(library, "xcsh_options_new");
    *(void **)&set_agent_dir = dlsym(library, "xcsh_options_set_agent_dir");
    *(void **)&create = dlsym(library, "xcsh_manager_create");
    *(void **)&append = dlsym(library, "xcsh_manager_append_message");
    *(void **)&free_options = dlsym(library, "xcsh_options_free");
    *(void **)&free_manager = dlsym(library, "xcsh_manager_free");
    status |= new_options(&options, NULL);
    status |= set_agent_dir(options, argv[2], strlen(argv[2]), NULL);
    status |= create(options, "/srv/pi", 7, &manager, NULL);
    for (int i = 0; i < 20; i++) {
        status |= append(manager, MESSAGE, strlen(MESSAGE), NULL, NULL);
    }
    free_manager(manager);
    free_options(options);
    dlclose(library);
    nanosleep(&(struct timespec){0, 50000000}, NULL);
    return status != XCSH_OK;
}
