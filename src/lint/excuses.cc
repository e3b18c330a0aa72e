#include "lint/excuses.h"

#include <fmt/format.h>

#include <sstream>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::lint {
std::vector<Excuse> read_excuses(std::string_view source, std::string_view script) {
  std::vector<Excuse> excuses;
  const auto lexed = lua::lex(source);
  if (!lexed) return excuses;  // it does not compile
  for (const auto& comment : lexed->comments) {
    std::istringstream words{std::string(comment.text)};
    std::string mark, verb, name, because, reason;
    words >> mark >> verb >> name >> because >> std::ws;
    std::getline(words, reason);
    if (mark != "rlctl:" || verb != "allow") continue;
    const auto place = fmt::format("{}:{}", script, comment.line);
    const auto* kind = find_by_name(finding_kinds(), name);
    if (kind == nullptr) {
      throw InputError(fmt::format("{}: unknown finding {}{}", place, quoted_and_masked(name),
                                   did_you_mean(name, names_of(finding_kinds()))),
                       "'rlctl lint --help' lists the findings");
    }
    if (because != "because" || reason.empty()) {
      throw InputError(fmt::format("{}: the excuse for {} has no reason", place, kind->name),
                       fmt::format("-- rlctl: allow {} because ...", kind->name));
    }
    excuses.push_back({.line = comment.line,
                       .first = comment.next == 0 ? 0 : comment.line + 1,
                       .last = lexed->tokens[comment.next].line,
                       .kind = *kind,
                       .reason = reason.substr(0, reason.find_last_not_of(" \t") + 1)});
  }
  return excuses;
}

void apply_excuses(const std::vector<Excuse>& excuses, std::vector<Finding>& findings,
                   const std::function<bool(const FindingKind&)>& is_looked_for) {
  for (const auto& excuse : excuses) {
    bool is_used = !is_looked_for(excuse.kind);
    for (auto& finding : findings) {
      const bool is_near = finding.line >= excuse.first && finding.line <= excuse.last;
      if (finding.name != excuse.kind.name || !is_near) continue;
      finding.excuse = excuse.reason;
      is_used = true;
    }
    if (is_used) continue;
    findings.push_back(
        {.name = "unused-excuse",
         .line = excuse.line,
         .what = fmt::format("allow {}", excuse.kind.name),
         .detail = fmt::format("Nothing of this kind was found in line {}{}.", excuse.last,
                               excuse.first == 0 ? ", or without a line" : ""),
         .fix = "remove the comment, or put it right before the line of the call"});
  }
}

}  // namespace rlctl::lint
