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
  std::optional<std::string> format = {};  ///< of all files; none: recognised, each by itself
  FieldOptions fields = {};
  bool strict = false;  ///< a bad line is an error
};

/// What lines were. A record over several lines is several; blank ones, bad ones and others are no
/// requests.
struct LineCounts {
  std::int64_t lines = 0, requests = 0, blank = 0, bad = 0;
  std::int64_t other = 0;  ///< comments, headers, decisions of further algorithms

  bool operator==(const LineCounts&) const = default;
};

/// Texts are raw: the caller escapes them.
struct BadLine {
  std::string file;  ///< as in messages: "standard input" for "-"
  std::int64_t line = 0;
  std::string why;   ///< "it has no address"
  std::string text;  ///< at most its first 200 bytes, and "..." where there are more
};

struct RecordedFile {
  std::string name;                   ///< as it was given
  const LogFormat* format = nullptr;  ///< none of an empty file
  LineCounts counts = {};
};

/// How many bytes of the files have been read, and of how many; 0 if that is not known.
using OnProgress = std::function<void(std::int64_t, std::int64_t)>;

class KeyTable;
class Spool;

/// Requests that came once, read from logs. What does not fit into memory is in a temporary file;
/// the names of the keys are in memory.
class Recording {
 public:
  /// Reads all of the files, each once. Throws UsageError for an unknown format or field;
  /// InputError for a file that cannot be read, in no format known, with a bad line where they are
  /// strict, and where there is no request in any of them; Interrupted on Ctrl-C, within 100 ms.
  /// `on_progress` is called some times a second.
  Recording(const ReplayOptions& options, const Interrupt& interrupt,
            const OnProgress& on_progress = {});

  /// In the order of their times; of one time, in that of the files and lines. As often as wanted,
  /// each from the beginning, also several at a time; it may outlive this.
  [[nodiscard]] std::unique_ptr<traffic::Traffic> traffic() const;

  [[nodiscard]] const LineCounts& counts() const noexcept { return counts_; }  ///< of all files
  [[nodiscard]] const std::vector<RecordedFile>& files() const noexcept { return files_; }
  [[nodiscard]] const std::optional<BadLine>& first_bad() const noexcept { return first_bad_; }
  [[nodiscard]] std::size_t keys() const noexcept;
  [[nodiscard]] std::int64_t max_cost() const noexcept { return max_cost_; }  ///< of one request
  [[nodiscard]] microseconds first() const noexcept;                          ///< since 1970
  [[nodiscard]] microseconds last() const noexcept;

 private:
  friend class RecordingReader;

  std::shared_ptr<KeyTable> keys_;
  std::shared_ptr<Spool> spool_;
  LineCounts counts_;
  std::int64_t max_cost_ = 1;
  std::vector<RecordedFile> files_;
  std::optional<BadLine> first_bad_;
};

}  // namespace rlctl::replay
