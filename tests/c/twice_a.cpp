// The header in two units of a C++ program, and twice in each.
#include <xcsh_session.h>
#include <xcsh_session.h>

#include <cstdio>
#include <memory>
#include <string>

std::string version_of_the_other_unit();

template <auto Free> struct Freed {
    template <class T> void operator()(T *handle) const { Free(handle); }
};

int main() {
    XcshError *err = nullptr;
    XcshOptions *options = nullptr;
    XcshManager *manager = nullptr;
    XcshString *id = nullptr;
    const std::string cwd = "/srv/pi", message = R"({"role":"user","content":"hi"})";
    bool good = xcsh_options_new(&options, &err) == XCSH_OK;
    std::unique_ptr<XcshOptions, Freed<xcsh_options_free>> held_options(options);
    good = good && xcsh_manager_in_memory(options, cwd.data(), cwd.size(), &manager, &err) == XCSH_OK;
    std::unique_ptr<XcshManager, Freed<xcsh_manager_free>> held_manager(manager);
    good = good && xcsh_manager_append_message(manager, message.data(), message.size(), &id, &err) == XCSH_OK;
    std::unique_ptr<XcshString, Freed<xcsh_string_free>> held_id(id);
    good = good && xcsh_string_len(id) == 8 && version_of_the_other_unit() == xcsh_version();
    good = good && xcsh_abi_version() >> 16 == XCSH_ABI_VERSION >> 16;
    if (err) {
        std::fprintf(stderr, "%s\n", xcsh_error_message(err).data);
    }
    xcsh_error_free(err);
    return good ? 0 : 1;
}
