#include "state/inspection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "redis/server_info.h"
#include "state/interpretation.h"

namespace rlctl::state {

std::optional<std::int64_t> Inspection::capacity() const {
  if (!exists()) return remaining;
  if (!burst || !is_limiter()) return limit;
  const auto* algorithm = state.form->algorithm();
  const bool is_queue = algorithm != nullptr && algorithm->has_delay;
  return *burst + (is_queue ? 1 : 0);
}

std::optional<double> Inspection::ratio() const {
  if (!used) return std::nullopt;
  if (*used == 0) return 0;
  const auto most = capacity();
  if (!most || *most == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*most);
}

namespace {

/// How often a key is read if other clients keep writing to it.
constexpr int kAttempts = 5;

/// Reads one key, once.
class Reading {
 public:
  Reading(redis::Connection& connection, const InspectionRequest& request, Inspection& result,
          const Entries::OnProgress& on_progress)
      : connection_(connection),
        request_(request),
        result_(result),
        interpreter_(request, result),
        on_progress_(on_progress) {}

  /// Throws KeyChanged if the parts that were read are inconsistent.
  void read();

 private:
  void read_frame();
  [[nodiscard]] EntryCounts count(Entries& entries);
  void fill_log(Entries& entries);
  void list(Entries& entries);
  void draw_bars(Entries& entries, microseconds time);

  redis::Connection& connection_;
  const InspectionRequest& request_;
  Inspection& result_;
  Interpreter interpreter_;
  const Entries::OnProgress& on_progress_;
};

void Reading::read() {
  read_frame();
  if (!result_.exists()) return interpreter_.fill_unused();
  if (!result_.is_limiter()) return;
  const auto& form = *result_.state.form;
  if (form.keeping == Keeping::kText) return interpreter_.fill_text();
  Entries entries(connection_, form, result_.key, on_progress_);
  entries.begin();
  result_.stored = entries.size();
  if (form.keeping == Keeping::kLeases) {
    interpreter_.fill_leases(count(entries));
  } else {
    fill_log(entries);
  }
  if (const auto n = interpreter_.freeing_entry()) {
    interpreter_.set_next_free(entries.at(entries.size() - *n));
  }
  list(entries);
}

/// Reads what every key has.
void Reading::read_frame() {
  connection_.append({"TIME"});
  append_frame(connection_, result_.key);
  const auto time = connection_.read();
  const auto ttl = connection_.read();
  const auto bytes = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  if (ttl.is_error()) throw redis::to_error(ttl);
  interpreter_.set_frame(to_frame(redis::server_time(time), ttl, bytes));
  interpreter_.set_content(read_contents(connection_, {&result_.key, 1}).front());
}

EntryCounts Reading::count(Entries& entries) {
  const auto first_live = interpreter_.first_live(entries.newest());
  return {.size = entries.size(),
          .expired = entries.count_before({&first_live, 1}).front(),
          .newest = entries.newest()};
}

void Reading::fill_log(Entries& entries) {
  result_.newest = entries.newest();
  if (!interpreter_.set_window(EntryTimes{entries.oldest(), entries.newest()})) return;
  interpreter_.fill_log(count(entries));
  draw_bars(entries, std::max(result_.now, entries.newest()));
}

void Reading::draw_bars(Entries& entries, microseconds time) {
  if (request_.bars <= 0) return;
  const auto window = *result_.window;
  const auto begin = time - window;
  std::vector<microseconds> edges;
  for (int i = 0; i <= request_.bars; ++i) {
    const auto part = static_cast<double>(window.count()) * i / request_.bars;
    edges.push_back(begin + microseconds{std::llround(part) + 1});
  }
  const auto before = entries.count_before(edges);
  for (std::size_t i = 1; i < before.size(); ++i) {
    result_.bars.push_back(before[i] - before[i - 1]);
  }
}

/// Lists the newest instants that have entries.
void Reading::list(Entries& entries) {
  auto& listed = result_.entries;
  const bool leases = result_.state.form->keeping == Keeping::kLeases;
  entries.visit_backwards([&](const StoredEntry& entry) {
    if (!leases && !listed.empty() && listed.back().at == entry.at) {
      ++listed.back().count;
      return true;
    }
    if (request_.entries && static_cast<std::int64_t>(listed.size()) >= *request_.entries) {
      return false;
    }
    listed.push_back({.at = entry.at});
    // A member that is not a lease of the script is shown unchanged.
    const bool is_lease = leases && entry.member.starts_with(kLeasePrefix);
    if (leases) listed.back().holder = entry.member.substr(is_lease ? kLeasePrefix.size() : 0);
    return true;
  });
  std::reverse(listed.begin(), listed.end());
}

/// Ends the WATCH. Returns false if another client wrote to the key meanwhile.
bool unchanged(redis::Connection& connection) {
  connection.append({"MULTI"});
  connection.append({"EXEC"});
  const auto multi = connection.read();
  const auto exec = connection.read();
  if (multi.is_error()) throw redis::to_error(multi);
  if (exec.is_error()) throw redis::to_error(exec);
  return !exec.is_nil();
}

/// Reads the key once; returns nothing if the key changed its type or shrank meanwhile.
std::optional<Inspection> attempt(redis::Connection& connection, const std::string& key,
                                  const InspectionRequest& request,
                                  const Entries::OnProgress& on_progress) {
  const auto watch = connection.call({"WATCH", key});
  if (watch.is_error()) throw redis::to_error(watch);
  Inspection result;
  result.key = key;
  try {
    Reading(connection, request, result, on_progress).read();
  } catch (const KeyChanged&) {
    while (connection.outstanding() > 0) static_cast<void>(connection.read());
    static_cast<void>(unchanged(connection));
    return std::nullopt;
  }
  result.changed_while_read = !unchanged(connection);
  return result;
}

}  // namespace

Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const Entries::OnProgress& on_progress) {
  std::optional<Inspection> result;
  for (int i = 0; i < kAttempts; ++i) {
    auto one = attempt(connection, key, request, on_progress);
    if (!one) continue;
    result = std::move(one);
    // A full read of many pages is not repeated: a busy key would change again meanwhile.
    const bool takes_long = !request.entries && result->stored > Entries::kPage;
    if (!result->changed_while_read || takes_long) return *std::move(result);
  }
  if (result) return *std::move(result);
  throw redis::Error(redis::Failure::kNotNow,
                     "'" + escape(key) + "' changes faster than it can be read");
}

}  // namespace rlctl::state
