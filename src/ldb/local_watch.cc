#include "ldb/local_watch.h"

#include <algorithm>
#include <optional>

namespace rlctl::ldb {

LocalWatch::Activation LocalWatch::owner_of(const ProbeReading::Variable& variable) const {
  return {script_->locals[variable.local].function, variable.activation};
}

/// A variable that a probe of its function does not tell has gone, or is hidden by another of its
/// name; the next round of a loop has a new one.
void LocalWatch::forget_gone(const ProbeReading& reading) {
  const auto function = script_->probes[reading.probe].function;
  std::int64_t activation = 0;
  for (const auto& variable : reading.variables) {
    if (owner_of(variable).first == function) activation = variable.activation;
  }
  const auto frame = frames_.find({function, activation});
  if (frame == frames_.end()) return;
  std::erase_if(frame->second, [&](const auto& known) {
    const auto& name = script_->locals[known.first].name;
    return std::none_of(reading.variables.begin(), reading.variables.end(), [&](const auto& told) {
      return told.local == known.first || script_->locals[told.local].name == name;
    });
  });
}

std::vector<LocalChange> LocalWatch::changes(const ProbeReading& reading) {
  forget_gone(reading);
  std::vector<LocalChange> result;
  for (const auto& variable : reading.variables) {
    auto& frame = frames_[owner_of(variable)];
    const auto [known, is_new] = frame.try_emplace(variable.local, variable.value);
    if (!is_new && known->second == variable.value) continue;
    known->second = variable.value;
    result.push_back({script_->locals[variable.local], variable.value});
  }
  return result;
}

namespace {

/// "<value> NAME = VALUE"; none where it is a variable of Lua's own: "(for index)", `arg`.
std::optional<LocalChange> parse_local(std::string_view item, int line) {
  constexpr std::string_view kValue = "<value> ", kEquals = " = ";
  if (!item.starts_with(kValue)) return std::nullopt;
  item.remove_prefix(kValue.size());
  const auto equals = item.find(kEquals);
  if (equals == item.npos) return std::nullopt;
  const auto name = item.substr(0, equals), value = item.substr(equals + kEquals.size());
  if (name.starts_with('(') || (name == "arg" && value == "nil")) return std::nullopt;
  return LocalChange{.local = {.name = std::string(name), .declared_at = line},
                     .value = parse_printed(value)};
}

}  // namespace

std::vector<LocalChange> PrintedLocals::changes(const std::vector<std::string>& items,
                                                std::size_t depth, int line) {
  frames_.resize(std::max(depth, std::size_t{1}));
  auto& known = frames_.back();
  Frame now;
  for (const auto& item : items) {
    if (auto local = parse_local(item, line)) now.push_back(*std::move(local));
  }
  std::vector<LocalChange> result;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_known = i < known.size() && known[i].local.name == now[i].local.name;
    if (is_known) now[i].local = known[i].local;
    if (!is_known || !(known[i].value == now[i].value)) result.push_back(now[i]);
  }
  known = std::move(now);
  return result;
}

}  // namespace rlctl::ldb
