#include "cli/check/on_error.h"

#include <iterator>

#include "base/text.h"

namespace rlctl::cli {

OnError::OnError(const std::string& text) {
  constexpr std::string_view kAnswers[] = {"fail", "allow", "deny"};
  if (text == "fail") return;
  if (text != "allow" && text != "deny") {
    throw UsageError("--on-error: unknown answer " + in_quotes(text) + "; use " + one_of(kAnswers));
  }
  answer_ = text == "allow";
}

bool OnError::covers(const Problem& problem) const noexcept {
  return answer_.has_value() && problem.status >= ExitStatus::kUnreachable &&
         problem.code != "interrupted";
}

std::string OnError::warning(const Problem& problem, std::string_view command) const {
  Problem warning = problem;
  warning.of_command = true;
  warning.message = "warning: " + problem.message + "; taken as " +
                    (allows() ? "allowed" : "denied") + " (--on-error)";
  return render(warning, command, false);
}

}  // namespace rlctl::cli
