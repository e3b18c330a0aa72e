#include "cli/check/tally.h"

#include "base/text.h"

namespace rlctl::cli {

std::string Tally::shadow_text() const {
  auto text = std::to_string(denied_) + " of " + counted(allowed_ + denied_, "request") +
              " would have been denied (--shadow)";
  if (errors_ > 0) text += "; no decision for " + counted(errors_, "line");
  return text;
}

}  // namespace rlctl::cli
