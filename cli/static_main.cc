// The main function of a binary that shares no library with the system, and so may run beside
// another version of the C library. That must not load the other's modules, which would crash.

#include <nss.h>

#include "cli/app/app.h"
#include "redis/tls.h"

namespace {

rlctl::redis::OpenSsl linked_openssl() {
  return {
#define RLCTL_FUNCTION(name) .name = &::name,
      RLCTL_OPENSSL_FUNCTIONS(RLCTL_FUNCTION)
#undef RLCTL_FUNCTION
  };
}

}  // namespace

// Takes the place of the C library's. OpenSSL calls it for the engines and providers that the
// system's openssl.cnf names.
extern "C" void* dlopen(const char* /*file*/, int /*mode*/) noexcept {
  return nullptr;
}

int main(int argc, char** argv) {
  // What /etc/nsswitch.conf names besides these is a module; these two are part of the C library.
  ::__nss_configure_lookup("hosts", "files dns");
  rlctl::redis::set_linked_openssl(linked_openssl);
  return rlctl::cli::run_command_line(argc, argv);
}
