#include <xcsh_session.h>
#include <xcsh_session.h>

#include <string>

std::string version_of_the_other_unit() {
    return xcsh_version();
}
