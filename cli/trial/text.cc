#include "cli/trial/text.h"

#include "base/text.h"
#include "cli/report/text.h"

// Documents for a terminal.

namespace rlctl::cli::trial {
namespace {

/// The text with an x in place of the sign of multiplication after a number.
std::string with_plain_times(std::string text) {
  constexpr std::string_view kTimes = "×";
  for (auto at = text.find(kTimes); at != text.npos; at = text.find(kTimes, at + 1)) {
    if (at > 0 && is_digit(text[at - 1])) text.replace(at, kTimes.size(), "x");
  }
  return text;
}

/// Appends the parts of a document, one below the other.
class DocumentWriter : public report::TextWriter {
 public:
  /// The arguments must outlive this.
  DocumentWriter(std::string& out, const Plot& plot, const Look& look)
      : TextWriter(out, look), out_(out), plot_(plot), look_(look) {}

  using TextWriter::operator();
  void operator()(const PlotPlace&) { append_plot(out_, plot_, look_); }

 private:
  std::string& out_;
  const Plot& plot_;
  const Look& look_;
};

}  // namespace

std::string write_text(const Document& document, const Look& look) {
  std::string out;
  DocumentWriter write(out, document.plot, look);
  for (const auto& [fact, pictured] : document.facts) write(fact);
  for (const auto& section : document.sections) {
    out += '\n';
    for (const auto& part : section) std::visit(write, part);
  }
  out += '\n';
  for (const auto& line : command_lines(document.command, look.columns)) out += line + '\n';
  return look.utf8 ? out : without_micro_sign(with_plain_times(std::move(out)), look.utf8);
}

}  // namespace rlctl::cli::trial
