#include "base/worker.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>
#include <system_error>
#include <utility>

// The linker gives all calls of realloc() to this. If there is no memory, a library in C, such as
// cjson, ends the process; this function calls the handler before, as operator new does.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void* __real_realloc(void* block, std::size_t size);
extern "C" void* __wrap_realloc(void* block, std::size_t size) {
  void* const moved = __real_realloc(block, size);
  const auto handler = std::get_new_handler();
  if (moved == nullptr && size > 0 && handler != nullptr) handler();
  return moved;
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace rlctl::worker {
namespace {

// A process that is not a worker writes here.
constinit Page own_page;
std::atomic<Page*> shared_page{&own_page};

std::atomic<void*> running_state{nullptr};

/// The limit before limit_memory().
rlimit memory_before{};
bool is_memory_limited = false;

}  // namespace

// ---- The page ----

Page& page() noexcept {
  return *shared_page.load(std::memory_order_relaxed);
}

Page& share_page() {
  void* const memory =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  // The memory is zero, as all members are: writing that would take a tenth of a millisecond.
  shared_page = static_cast<Page*>(memory);
  return page();
}

void Words::set(std::span<const std::string_view> words) noexcept {
  constexpr std::size_t kLongest = 255;
  std::size_t size = 0;
  for (const auto word : words) {
    const auto length = std::min({word.size(), kLongest, bytes_.size() - size - 1});
    bytes_[size++] = static_cast<char>(length);
    std::memcpy(bytes_.data() + size, word.data(), length);
    size += length;
    if (size == bytes_.size()) break;
  }
  size_.store(size, std::memory_order_relaxed);
}

std::vector<std::string> Words::get() const {
  std::vector<std::string> words;
  const auto size = std::min(size_.load(), bytes_.size());
  for (std::size_t at = 0; at < size;) {
    const std::size_t length = static_cast<unsigned char>(bytes_[at++]);
    words.emplace_back(bytes_.data() + at, std::min(length, size - at));
    at += length;
  }
  return words;
}

// ---- Notes of the worker ----

namespace {

template <typename Number>
void add(std::atomic<Number>& to, Number number) noexcept {
  // One thread writes: no other can come between.
  to.store(to.load(std::memory_order_relaxed) + number, std::memory_order_relaxed);
}

}  // namespace

Run::Run(void* state, bool is_stoppable) noexcept
    : outer_(running_state.load(std::memory_order_relaxed)),
      was_stoppable_(page().is_stoppable.load(std::memory_order_relaxed)) {
  auto& its = page();
  running_state.store(state, std::memory_order_relaxed);
  its.is_stoppable.store(is_stoppable, std::memory_order_relaxed);
  add(its.step, std::uint64_t{1});
  add(its.runs, 1);
}

Run::~Run() {
  auto& its = page();
  add(its.runs, -1);
  add(its.step, std::uint64_t{1});
  its.is_stoppable.store(was_stoppable_, std::memory_order_relaxed);
  running_state.store(outer_, std::memory_order_relaxed);
}

void* running() noexcept {
  return running_state.load(std::memory_order_relaxed);
}

void begin_step() noexcept {
  add(page().step, std::uint64_t{1});
}

bool must_stop() noexcept {
  const auto& its = page();
  return its.is_stoppable.load(std::memory_order_relaxed) &&
         its.stopped_step.load(std::memory_order_relaxed) ==
             its.step.load(std::memory_order_relaxed);
}

void begin_request(std::string_view script, std::int64_t number,
                   std::span<const std::string_view> keys,
                   std::span<const std::string_view> arguments) {
  auto& its = page();
  if (its.is_over.load(std::memory_order_relaxed)) throw TimeIsUp();
  its.script.set({&script, 1});
  its.request.store(number, std::memory_order_relaxed);
  its.keys.set(keys);
  its.arguments.set(arguments);
}

// ---- Files that it leaves ----

Leftover::Leftover(const std::filesystem::path& path) noexcept {
  for (auto& place : page().leftovers) {
    if (path.native().size() >= place.path.size() || place.is_taken.exchange(true)) continue;
    std::memcpy(place.path.data(), path.c_str(), path.native().size() + 1);
    place.is_there = true;
    place_ = &place;
    return;
  }
}

Leftover::~Leftover() {
  if (place_ == nullptr) return;
  place_->is_there = false;
  place_->is_taken = false;
}

Leftover::Leftover(Leftover&& other) noexcept : place_(std::exchange(other.place_, nullptr)) {}

Leftover& Leftover::operator=(Leftover&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

void remove_leftovers() noexcept {
  for (const auto& place : page().leftovers) {
    std::error_code ignored;
    if (place.is_there) std::filesystem::remove_all(place.path.data(), ignored);
  }
}

// ---- Memory ----

void limit_memory() noexcept {
#ifndef RLCTL_SANITIZED  // sanitizers reserve terabytes
  std::size_t pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return;
  if (::getrlimit(RLIMIT_AS, &memory_before) != 0) return;
  const auto most = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + kMostMemory;
  if (memory_before.rlim_cur < most) return;
  const rlimit limited{.rlim_cur = most, .rlim_max = memory_before.rlim_max};
  is_memory_limited = ::setrlimit(RLIMIT_AS, &limited) == 0;
#endif
  // A function in C may need more, which can only end the process.
  std::set_new_handler([] {
    page().is_out_of_memory = true;
    static_cast<void>(std::raise(SIGXCPU));  // it notes the line
    ::_exit(1);
  });
}

void unlimit_memory() noexcept {
  if (is_memory_limited) ::setrlimit(RLIMIT_AS, &memory_before);
}

}  // namespace rlctl::worker
