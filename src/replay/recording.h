#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "replay/log_format.h"
#include "traffic/traffic.h"

namespace rlctl::replay {

struct ReplayOptions {
  std::vector<std::string> files = {};     ///< "-" is standard input, once
  std::optional<std::string> format = {};  ///< of all files; none: recognize each file's
  FieldOptions fields = {};
  std::optional<int> ipv6_prefix = {};  ///< of keys that are addresses; see client_network()
  bool strict = false;                  ///< a bad line is an error
};

/// The kinds of lines. Blank, bad and other lines are not requests.
struct LineCounts {
  std::int64_t lines = 0, requests = 0, blank = 0, bad = 0;
  std::int64_t other = 0;  ///< comments, headers, decisions of further algorithms

  bool operator==(const LineCounts&) const = default;
};

/// The texts are raw: the caller escapes them.
struct BadLine {
  std::string file;  ///< as in messages: "standard input" for "-"
  std::int64_t line = 0;
  std::string why;   ///< "it has no address"
  std::string text;  ///< at most 200 bytes, then "..." if there are more
};

struct RecordedFile {
  std::string name;         ///< as the user gave it
  std::string format = {};  ///< its name, or that of the user; empty if no line could be read
  std::string prefix = {};  ///< of each line, "cri"; empty if there is none
  std::string key = {};     ///< the name of the field that holds the key
  LineCounts counts = {};
};

/// The bytes read so far and the total, 0 if unknown.
using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

struct RecordedRequests;

/// Past requests, read from logs into memory: 16 bytes each, and about 100 bytes and the name for
/// each key.
class Recording {
 public:
  /// Reads all files, each once. Throws UsageError for an unknown format or field; InputError for a
  /// file that cannot be read or has no known format, for a bad line if `strict`, if no file
  /// contains a request, and before the requests take more than half of the available memory;
  /// Interrupted on Ctrl-C, within 100 ms. Calls `on_progress` a few times a second.
  Recording(const ReplayOptions& options, const Interrupt& interrupt,
            const OnProgress& on_progress = {});

  /// The requests by time; at equal times, in order of files and lines. May be called repeatedly;
  /// each result starts at the beginning, several may be in use at once, and they may outlive this.
  std::unique_ptr<traffic::Traffic> traffic() const;

  const LineCounts& counts() const noexcept { return counts_; }  ///< of all files
  const std::vector<RecordedFile>& files() const noexcept { return files_; }
  const std::optional<BadLine>& first_bad() const noexcept { return first_bad_; }
  /// The requests whose key is "-", which logs write for a value that is absent.
  std::int64_t without_key() const noexcept { return without_key_; }
  std::size_t keys() const noexcept;
  std::int64_t max_cost() const noexcept { return max_cost_; }  ///< of one request
  microseconds first() const noexcept;                          ///< since 1970
  microseconds last() const noexcept;
  /// The requests that a file has behind later ones, and the most by which one is earlier: the
  /// traffic has them where they belong.
  std::int64_t out_of_order() const noexcept { return out_of_order_; }
  microseconds out_of_order_by() const noexcept { return out_of_order_by_; }

 private:
  friend class RecordingReader;

  std::shared_ptr<RecordedRequests> requests_;
  LineCounts counts_;
  std::int64_t without_key_ = 0;
  std::int64_t max_cost_ = 1;
  std::int64_t out_of_order_ = 0;
  microseconds out_of_order_by_{0};
  std::vector<RecordedFile> files_;
  std::optional<BadLine> first_bad_;
};

}  // namespace rlctl::replay
