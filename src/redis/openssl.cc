#include "redis/openssl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "redis/error.h"

namespace rlctl::redis {

namespace {

OpenSsl (*linked_openssl)() = nullptr;

// The library whose headers this was compiled with: another major version has another interface.
constexpr int kVersion = OPENSSL_SHLIB_VERSION;

[[noreturn]] void cannot_load() {
  const char* why = ::dlerror();
  throw Error(Failure::kUnreachable,
              fmt::format("TLS needs OpenSSL: {}", why == nullptr ? "it cannot be loaded" : why),
              kTlsCode,
              fmt::format("install libssl{} (Debian, Ubuntu) or openssl-libs (Fedora)", kVersion));
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  // libssl depends on libcrypto, so that its handle also finds the names of that.
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) cannot_load();
}

OpenSsl loaded_openssl() {
  const auto name = fmt::format("libssl.so.{}", kVersion);
  // Never closed: OpenSSL keeps data of its own for each thread.
  void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) cannot_load();
  OpenSsl loaded;
#define RLCTL_FIND(name) find(library, #name, loaded.name);
  RLCTL_OPENSSL_FUNCTIONS(RLCTL_FIND)
#undef RLCTL_FIND
  return loaded;
}

OpenSsl initialized_openssl() {
  const auto functions = linked_openssl == nullptr ? loaded_openssl() : linked_openssl();
  // Without a handler for the end of the process, where threads may still use it.
  if (functions.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) {
    throw Error(Failure::kUnreachable, "OpenSSL cannot be initialized", kTlsCode,
                "see its configuration, openssl.cnf");
  }
  return functions;
}

}  // namespace

const OpenSsl& openssl() {
  static const OpenSsl kFunctions = initialized_openssl();
  return kFunctions;
}

void set_linked_openssl(OpenSsl (*linked)()) noexcept {
  linked_openssl = linked;
}

}  // namespace rlctl::redis
