#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "cli/term/output.h"

namespace rlctl::cli {

/// Where one form of the report goes: a file, standard output, or nowhere.
class Destination {
 public:
  /// "-" is standard output. Opens the file, so that one that cannot be written is known before
  /// anything runs.
  Destination(std::string_view option, const std::optional<std::string>& path, Output& out)
      : out_(out), to_stdout_(path == "-") {
    if (path && !to_stdout_) file_.emplace(option, *path);
  }

  [[nodiscard]] bool is_wanted() const noexcept { return to_stdout_ || file_; }
  [[nodiscard]] bool to_stdout() const noexcept { return to_stdout_; }
  void write(std::string_view text) {
    if (file_) file_->write(text);
    if (!to_stdout_) return;
    out_.write(text);
    out_.flush();
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  Output& out_;
  bool to_stdout_ = false;
  std::optional<OutputFile> file_;
};

}  // namespace rlctl::cli
