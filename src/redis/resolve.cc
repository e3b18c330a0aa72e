#include "redis/resolve.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace rlctl::redis {

namespace {

// The result of a Lookup: errno and its list belong to the calling thread.
struct Answer {
  int error = 0;
  int system_error = 0;
  Addresses addresses;
};

Answer ask(Lookup lookup, const std::string& host, const std::string& service, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = lookup(host.c_str(), service.c_str(), &wanted, &list);
  if (error != 0) return {.error = error, .system_error = errno, .addresses = nullptr};
  return {.error = 0, .system_error = 0, .addresses = Addresses(list)};
}

Resolved failed(std::string why) {
  return {.addresses = nullptr, .why = std::move(why)};
}

Resolved explained(Answer answer) {
  if (answer.error == 0) return {.addresses = std::move(answer.addresses), .why = {}};
  if (answer.error == EAI_SYSTEM) return failed(errno_text(answer.system_error));
  return failed(without_initial_capital(::gai_strerror(answer.error)));
}

// Blocks signals for a new thread, which inherits the mask, so that other threads get them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Runs `task` in a separate thread, which closes `done` once the result is ready. The thread owns
// everything it uses, so no caller has to wait for it.
void start(std::packaged_task<Answer()> task, FileDescriptor done) {
  const BlockedSignals blocked;
  std::thread([task = std::move(task), done = std::move(done)]() mutable {
    task();
    done.reset();
  }).detach();
}

}  // namespace

std::optional<Resolved> resolve(const std::string& host, int port, Deadline deadline,
                                const Interrupt* interrupt, Lookup lookup) {
  const auto service = std::to_string(port);
  if (auto numeric = ask(::getaddrinfo, host, service, AI_NUMERICHOST);
      numeric.error != EAI_NONAME) {
    return explained(std::move(numeric));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno_text(errno));
  const FileDescriptor ready(ends[0]);
  FileDescriptor done(ends[1]);
  std::packaged_task<Answer()> task([=] { return ask(lookup, host, service, 0); });
  auto answer = task.get_future();
  try {
    start(std::move(task), std::move(done));
  } catch (const std::system_error& error) {
    return failed("cannot start a thread: " + errno_text(error.code().value()));
  }
  if (wait_for(ready.get(), POLLIN, interrupt, deadline) == Wake::kDeadline) return std::nullopt;
  return explained(answer.get());
}

}  // namespace rlctl::redis
