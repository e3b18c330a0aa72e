#include "cli/term/line_source.h"

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/wait.h"
#include "cli/term/output.h"

namespace rlctl::cli {
namespace {

class FileLines final : public LineSource {
 public:
  FileLines(const std::string& file, std::string prompt, const Interrupt& interrupt)
      : reader_(file), prompt_(std::move(prompt)), interrupt_(interrupt) {}

  std::optional<std::string> next() override {
    while (true) {
      if (const auto line = reader_.next()) {
        if (!line->too_long) return std::string(line->text);
        throw UsageError("line " + std::to_string(line->number) + " of the commands is too long");
      }
      if (reader_.ended()) return std::nullopt;
      if (!prompt_.empty()) {
        Output out(STDOUT_FILENO, interrupt_);
        out.write(prompt_);
        out.flush();
      }
      wait_for(reader_.fd(), POLLIN, &interrupt_, kNoDeadline);
      reader_.fill();
    }
  }

 private:
  LineReader reader_;
  std::string prompt_;
  const Interrupt& interrupt_;
};

}  // namespace

std::unique_ptr<LineSource> lines_of(const std::string& file, std::string prompt,
                                     const Interrupt& interrupt) {
  return std::make_unique<FileLines>(file, std::move(prompt), interrupt);
}

}  // namespace rlctl::cli
