#pragma once

// A worker is the child process in which a command runs the scripts of strangers; cli/app/worker.h
// starts it. Its parent bounds its memory and its time, and ends it with SIGKILL if a function that
// a script calls does not return. Then the worker runs no destructor: its parent reports which
// request of which script ran, and removes its files.
//
// For that, the two share a page of memory, which the worker writes without locks: one thread of it
// at a time runs Lua. In a process that is not a worker, such as a test, no one reads the page.

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::worker {

/// The memory that a worker may take besides that with which it starts.
inline constexpr std::size_t kMostMemory = std::size_t{600} << 20;
/// The time of the processor that one request may take. Sanitizers make programs slow.
#ifdef RLCTL_SANITIZED
inline constexpr std::chrono::seconds kMostTime{100};
#else
inline constexpr std::chrono::seconds kMostTime{5};
#endif

// ---- The page ----

/// A few words, of which the page has the beginning if they are long.
class Words {
 public:
  void set(std::span<const std::string_view> words) noexcept;
  std::vector<std::string> get() const;

 private:
  std::array<char, 1024> bytes_{};  ///< each word with its size in front
  std::atomic<std::size_t> size_ = 0;
};

enum class BreakKey : int {
  kNone,     ///< SIGINT ends the worker
  kReady,    ///< the first SIGINT stops a script at its next line
  kPressed,  ///< the next one ends the worker
  kOver,     ///< it has come
};

struct Page {
  // Written by the worker.
  /// Runs of Lua that have not ended; one may contain another, such as a debugger's expression.
  std::atomic<int> runs = 0;
  /// Grows when a run begins or ends, and in a debugger at each line: the time of the processor
  /// that the worker may take begins again.
  std::atomic<std::uint64_t> step = 0;
  std::atomic<bool> is_stoppable = false;  ///< the run looks at `stopped_step`
  /// The line of the script, which a worker notes before its parent ends it; 0: not known.
  std::atomic<int> line = 0;
  std::atomic<std::int64_t> request = 0;  ///< its number, from 1; 0: it is not known
  Words script, keys, arguments;          ///< `script` is its name
  std::atomic<BreakKey> break_key = BreakKey::kNone;
  std::atomic<bool> is_out_of_memory = false;
  struct Leftover {
    std::atomic<bool> is_taken = false, is_there = false;
    std::array<char, 4096> path{};
  };
  std::array<Leftover, 64> leftovers = {};

  // Written by its parent.
  std::atomic<std::uint64_t> stopped_step = 0;  ///< this step must end
  std::atomic<bool> is_over = false;            ///< the time of all requests is used up
};

/// Returns the page of this process.
Page& page() noexcept;
/// From now on, this process and its children share a page. Throws std::bad_alloc.
Page& share_page();

// ---- Notes of the worker ----

/// While it exists, Lua runs.
class Run {
 public:
  /// `state` is the state of Lua. `is_stoppable`: the run ends soon after must_stop() is true, and
  /// the worker goes on.
  explicit Run(void* state, bool is_stoppable = false) noexcept;
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  void* outer_;
  bool was_stoppable_;
};
/// The state of the innermost Run; null if there is none. Safe in a signal handler.
void* running() noexcept;

/// Begins the next step.
void begin_step() noexcept;
/// Whether the run has taken too long.
bool must_stop() noexcept;

/// The worker has used up the time of all its requests. Not an error of a script.
class TimeIsUp : public std::exception {
 public:
  const char* what() const noexcept override { return "the time for all requests is used up"; }
};
/// Names the request to which the next runs belong; the number counts from 1. Throws TimeIsUp.
void begin_request(std::string_view script, std::int64_t number,
                   std::span<const std::string_view> keys,
                   std::span<const std::string_view> arguments);

/// While it exists, the parent of a worker that was ended removes this file, or this folder with
/// its contents.
class Leftover {
 public:
  Leftover() = default;
  /// An absolute path. One that is too long, or one too many, is not removed.
  explicit Leftover(const std::filesystem::path& path) noexcept;
  ~Leftover();
  Leftover(Leftover&& other) noexcept;
  Leftover& operator=(Leftover&& other) noexcept;

 private:
  Page::Leftover* place_ = nullptr;
};
/// For the parent of a worker that has ended.
void remove_leftovers() noexcept;

// ---- Memory ----

/// Limits the memory of this process, which ends once it needs more. It handles SIGXCPU, at which
/// it notes its line.
void limit_memory() noexcept;
/// Removes the limit, for a program that this process is about to become. Safe after fork().
void unlimit_memory() noexcept;

}  // namespace rlctl::worker
