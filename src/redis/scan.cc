#include "redis/scan.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/text.h"

namespace rlctl::redis {
namespace {

/// A cursor counts with its bits reversed, so that a table may grow or shrink during a scan: the
/// lowest bit is the most significant. As a binary fraction it is the progress of the scan,
/// whatever the size of the table.
double share_of(std::uint64_t bits) {
  double share = 0;
  for (double weight = 0.5; bits != 0; bits >>= 1U, weight /= 2) {
    if ((bits & 1U) != 0) share += weight;
  }
  return share;
}

/// Returns false, and has removed nothing, if the keys are in different slots.
bool unlink_together(Connection& connection, std::span<const std::string> keys) {
  std::vector<std::string_view> arguments{"UNLINK"};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  const auto reply = connection.call(arguments);
  if (!reply.is_error()) return true;
  if (error_code(reply.text()) != "CROSSSLOT") throw to_error(reply);
  return false;
}

void unlink_one_by_one(Connection& connection, std::span<const std::string> keys) {
  for (const auto& key : keys) connection.append({"UNLINK", key});
  connection.take_all();
}

}  // namespace

void Scan::append() {
  if (servers_.empty()) servers_ = connection_.servers();
  const std::array<std::string_view, 6> command{"SCAN",   cursor_, "MATCH",
                                                pattern_, "COUNT", count_};
  connection_.append_to(servers_[server_], command);
}

/// The progress of the servers together. In a Cluster, that within a server is not known: newer
/// ones count by slot.
double Scan::scanned() const {
  auto servers = static_cast<double>(server_);
  if (!connection_.has_slots()) servers += share_of(to_number<std::uint64_t>(cursor_).value_or(0));
  return servers / static_cast<double>(servers_.size() + lost_.size());
}

/// The servers that were scanned to the end remain the first.
void Scan::find_servers_again() {
  const auto now = connection_.servers();
  servers_.resize(server_);
  const auto has = [](const auto& names, const auto& name) {
    return std::ranges::find(names, name) != names.end();
  };
  for (const auto& server : now) {
    if (!has(servers_, server) && !has(lost_, server)) servers_.push_back(server);
  }
  done_ = server_ == servers_.size() && !failed_;
  cursor_ = "0";
  pages_ = 0;
  found_ = found_in_share_;
}

std::vector<std::string> Scan::next() {
  found_before_ = found_;
  if (failed_ && server_ == servers_.size()) throw incomplete(*failed_);
  for (bool is_repeated = false;; is_repeated = true) {
    try {
      append();
      return take();
    } catch (const Error& error) {
      const bool is_lost =
          error.failure() == Failure::kUnreachable || error.failure() == Failure::kNotSent;
      if (!connection_.has_slots() || !is_lost) throw incomplete(error);
      if (is_repeated) failed_ = error;
    }
    if (is_repeated) break;
    find_servers_again();
    if (server_ == servers_.size()) return {};
  }
  lost_.push_back(servers_[server_]);
  servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(server_));
  cursor_ = "0";
  pages_ = 0;
  return {};
}

Error Scan::incomplete(const Error& error) const {
  switch (error.failure()) {
    case Failure::kUnreachable:
    case Failure::kTimeout:
    case Failure::kNotNow:
    case Failure::kNotSent:
      break;
    default:
      return error;
  }
  if (found_before_ == 0) return error;
  auto found = counted(static_cast<std::int64_t>(found_before_), "key");
  if (share_ > 0) {
    const auto all = std::llround(static_cast<double>(found_in_share_) / share_);
    found = fmt::format("{} of about {} keys", found_before_,
                        std::max(static_cast<std::uint64_t>(all), found_before_));
  }
  return Error(error.failure(), fmt::format("{}; incomplete: {}", error.what(), found),
               error.code(), error.hint())
      .from(error.server(), error.command());
}

std::vector<std::string> Scan::take() {
  const auto reply = connection_.read();
  if (reply.is_error()) throw to_error(reply);
  const auto next = reply[0].text();
  if (next == "0") {
    ++server_;
    pages_ = 0;
  } else if (next == cursor_ || ++pages_ == kMaxPages) {
    throw error_about(reply, {Failure::kProtocol, "the server's SCAN never ends"});
  }
  cursor_ = next;
  done_ = server_ == servers_.size() && !failed_;
  const auto found = reply[1];
  found_ += found.size();
  if (scanned() > share_) {
    share_ = scanned();
    found_in_share_ = found_;
  }
  std::vector<std::string> keys;
  keys.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) keys.emplace_back(found[i].text());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string escape_glob(std::string_view text) {
  std::string pattern;
  pattern.reserve(text.size());
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

void unlink_keys(Connection& connection, std::span<const std::string> keys) {
  constexpr std::size_t kAtOnce = 500;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kAtOnce));
    if (connection.has_slots() || !unlink_together(connection, some)) {
      unlink_one_by_one(connection, some);
    }
    keys = keys.subspan(some.size());
  }
}

}  // namespace rlctl::redis
