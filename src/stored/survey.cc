#include "stored/survey.h"

#include "base/text.h"
#include "redis/error.h"
#include "redis/scan.h"
#include "redis/server.h"
#include "stored/inspection.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rlctl::stored {

namespace {

/// The number of entries before an instant, which is searched for.
struct Bound {
  microseconds instant{0};
  std::int64_t low = 0, high = 0;

  bool is_open() const { return low < high; }
  std::int64_t middle() const { return low + (high - low) / 2; }
};

/// A log or a set of leases while its entries are counted.
struct CountedKey {
  const Form* form = nullptr;
  const InspectionRequest* request = nullptr;
  Inspection* result = nullptr;
  InspectionBuilder* interpreter = nullptr;
  EntryCounts entries = {};
  std::int64_t others = 0;  ///< members before the entries: the limit of leases
  bool has_window = false;
  std::vector<Count> live = {};    ///< entries that stand for several units
  std::vector<Bound> bounds = {};  ///< of what has expired; then the edges of the bars

  bool is_list() const { return form->type == "list"; }
  bool has_elements() const { return form->layout == Layout::kElements; }
  bool is_leases() const { return form->layout == Layout::kLeases; }
  bool is_open() const { return std::ranges::any_of(bounds, &Bound::is_open); }
  /// The argument that stands for an entry, counted from 0 for the oldest.
  std::string index_of(std::int64_t entry) const {
    return std::to_string(form->newest_first ? -1 - entry : entry + others);
  }
  /// The same for the entry whose end makes room, if the key is full.
  std::optional<std::string> freeing_index() const {
    if (has_elements() || form->is_weighted) return std::nullopt;
    const auto entry = interpreter->freeing_entry();
    return entry ? std::optional(index_of(entries.size - *entry)) : std::nullopt;
  }
};

class Surveying {
 public:
  Surveying(redis::Connection& connection, std::span<const InspectedKey> keys,
            const Libraries& libraries)
      : connection_(connection), keys_(keys), libraries_(libraries), results_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      results_[i].inspection.key = keys[i].key;
      interpreters_.emplace_back(keys[i].request, results_[i].inspection);
    }
  }

  std::vector<Surveyed> run();

 private:
  void read_headers();
  void read_contents();
  void interpret(std::size_t index, KeySample&& content, Decoded&& state);
  void fill_text(std::size_t index);
  void read_reservations();
  void read_sizes();
  void begin(CountedKey& each, std::int64_t members);
  void count_by_score();
  void bisect();
  void read_weights();
  void read_freeing_entries();
  std::optional<redis::Reply> read_of(CountedKey& each);
  std::optional<microseconds> time_in(CountedKey& each, std::string_view text);
  static void fill(CountedKey& each);
  static void drop(CountedKey& each);
  void drop_the_changed();

  redis::Connection& connection_;
  std::span<const InspectedKey> keys_;
  const Libraries& libraries_;
  std::vector<Surveyed> results_;
  std::vector<std::string> types_;
  std::deque<InspectionBuilder> interpreters_;
  std::vector<CountedKey> counted_;
  std::vector<std::size_t> open_budgets_;  ///< the header does not tell all of these
};

/// What every key has. The first command that needs a key shows whether the user may read it.
void Surveying::read_headers() {
  connection_.append({"TIME"});
  for (const auto& each : results_) {
    connection_.append({"PTTL", each.inspection.key});
    connection_.append({"MEMORY", "USAGE", each.inspection.key});
    connection_.append({"TYPE", each.inspection.key});
  }
  const auto time = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  const auto now = redis::server_time(time);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto ttl = connection_.read();
    const auto bytes = connection_.read();
    const auto type = connection_.read();
    for (const auto* reply : {&ttl, &type}) {
      if (results_[i].refused || !reply->is_error()) continue;
      results_[i].refused = redis::to_error(*reply);
      if (results_[i].refused->failure() != redis::Failure::kRefused) throw *results_[i].refused;
      results_[i].error = std::make_exception_ptr(*results_[i].refused);
    }
    // Many users lack permission for MEMORY USAGE, and some servers do not have it.
    const bool has_bytes = !bytes.is_error() && !bytes.is_nil();
    interpreters_[i].set_header(
        {.server_now = now,
         .ttl_ms = results_[i].refused ? -1 : redis::number_in(ttl),
         .bytes = has_bytes ? std::optional(redis::number_in(bytes)) : std::nullopt});
    types_.push_back(results_[i].refused ? std::string() : to_type(type));
  }
}

void Surveying::read_contents() {
  std::vector<std::size_t> which;
  ReadableKeys readable;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].refused) continue;
    which.push_back(i);
    readable.keys.push_back(results_[i].inspection.key);
    readable.types.push_back(std::move(types_[i]));
  }
  auto contents = stored::read_contents(connection_, readable, libraries_, Parts::kCut);
  std::vector<Question> questions;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto& request = keys_[which[i]].request;
    questions.push_back({.key = readable.keys[i],
                         .content = &contents[i],
                         .asked = request.limit ? request.limit : request.usual_limit});
  }
  decode_all(connection_, questions, libraries_, [&](std::size_t i, Decoded&& state) {
    interpret(which[i], std::move(contents[i]), std::move(state));
  });
}

void Surveying::interpret(std::size_t index, KeySample&& content, Decoded&& state) {
  auto& result = results_[index].inspection;
  auto& interpreter = interpreters_[index];
  interpreter.set_content(std::move(content), std::move(state));
  if (!result.exists()) return interpreter.fill_unused();
  if (!result.is_limiter()) return;
  const auto& form = *result.state.form;
  const bool is_text = form.layout == Layout::kText || form.layout == Layout::kBudget;
  if (!is_text && result.state.part_of.empty()) {
    counted_.push_back({.form = &form,
                        .request = &keys_[index].request,
                        .result = &result,
                        .interpreter = &interpreter,
                        .others = result.state.most_leases ? 1 : 0});
    return;
  }
  fill_text(index);
  if (interpreter.needs_reservations()) open_budgets_.push_back(index);
}

void Surveying::fill_text(std::size_t index) {
  try {
    interpreters_[index].fill_text();
  } catch (const UsageError&) {
    results_[index].error = std::current_exception();
  }
}

/// Reads once more and completely the budgets of which the header does not tell all.
void Surveying::read_reservations() {
  constexpr std::size_t kAtOnce = 64;  // up to 500 reservations each
  std::span<const std::size_t> rest(open_budgets_);
  while (!rest.empty()) {
    const auto some = rest.first(std::min(kAtOnce, rest.size()));
    for (const auto index : some) connection_.append({"HGETALL", results_[index].inspection.key});
    for (const auto index : some) {
      const auto reply = connection_.read();
      const bool has_other_type =
          reply.is_error() && redis::error_code(reply.text()) == "WRONGTYPE";
      if (reply.is_error() && !has_other_type) throw redis::to_error(reply);
      auto& result = results_[index].inspection;
      auto content = std::move(result.content);
      content.fields.clear();
      for (std::size_t i = 0; !has_other_type && i + 1 < reply.size(); i += 2) {
        content.fields.emplace(reply[i].text(), reply[i + 1].text());
      }
      content.size = std::ssize(content.fields);
      auto state = decode_ours(content);
      // The key is not, or no longer, what it seemed to be.
      if (!state.budget) {
        Usage usage;
        if (content.size == 0) {
          content = {.type = "none"};
        } else {
          usage.ttl = result.ttl;
          usage.bytes = result.bytes;
        }
        static_cast<Usage&>(result) = usage;
        result.used_exact.reset();
        result.spent.reset();
        result.held.reset();
        result.stored = 0;
      }
      result.entries.clear();
      interpreters_[index].set_content(std::move(content), std::move(state));
      if (result.is_limiter()) fill_text(index);
    }
    rest = rest.subspan(some.size());
  }
}

/// The reply to a command about this key; none if the key changed its type.
std::optional<redis::Reply> Surveying::read_of(CountedKey& each) {
  auto reply = connection_.read();
  if (!reply.is_error()) return reply;
  if (redis::error_code(reply.text()) != "WRONGTYPE") throw redis::to_error(reply);
  drop(each);
  return std::nullopt;
}

/// The time of an entry, as LINDEX or ZRANGE replied it. Drops the key if it is none.
std::optional<microseconds> Surveying::time_in(CountedKey& each, std::string_view text) {
  try {
    return entry_time(*each.form, text);
  } catch (const redis::Error&) {
    drop(each);
    return std::nullopt;
  }
}

/// The key is not, or no longer, what it seemed to be.
void Surveying::drop(CountedKey& each) {
  each.result->content = {.type = "none"};
  each.result->state = {};
  each.bounds.clear();
}

void Surveying::drop_the_changed() {
  std::erase_if(counted_, [](const CountedKey& each) { return !each.result->exists(); });
}

void Surveying::read_sizes() {
  for (const auto& each : counted_) {
    connection_.append({each.is_list() ? "LLEN" : "ZCARD", each.result->key});
  }
  for (auto& each : counted_) {
    if (const auto size = read_of(each)) begin(each, redis::number_in(*size));
  }
  drop_the_changed();
}

/// Finds out from when on entries count.
void Surveying::begin(CountedKey& each, std::int64_t members) {
  if (each.has_elements()) return each.interpreter->fill_elements(members);
  auto& result = *each.result;
  const bool is_reversed = each.form->newest_first;
  const auto& first = is_reversed ? result.content.last : result.content.first;
  const auto& last = is_reversed ? result.content.first : result.content.last;
  const auto newest = time_in(each, each.is_list() ? last.member : last.score);
  if (!newest || members <= each.others) return drop(each);
  each.entries = {.size = members - each.others, .newest = *newest};
  const auto search = [&](microseconds instant, std::int64_t most) {
    each.bounds.push_back({.instant = instant, .high = most});
  };
  const auto size = each.entries.size;
  if (each.is_leases()) return search(each.interpreter->first_live(*newest), size);
  result.newest = newest;
  const auto oldest = time_in(each, each.is_list() ? first.member : first.score);
  if (!oldest) return;
  // Of what only looks like a log, nothing else is known.
  each.has_window = !each.form->library.empty() && each.interpreter->set_window();
  if (!each.has_window) return;
  const auto first_live = each.interpreter->first_live(*newest);
  search(first_live, *oldest < first_live ? size : 0);
  const auto bars = each.request->bars;
  for (int i = 0; bars > 0 && i <= bars; ++i) {
    const auto part = static_cast<double>(result.window->count()) * i / bars;
    search(first_live + microseconds{std::llround(part)}, size);
  }
}

void Surveying::count_by_score() {
  const auto applies = [](const CountedKey& each) { return !each.is_list(); };
  for (const auto& each : counted_) {
    for (const auto& bound : each.bounds) {
      if (!applies(each) || !bound.is_open()) continue;
      connection_.append(
          {"ZCOUNT", each.result->key, "0", score_before(*each.form, bound.instant)});
    }
  }
  for (auto& each : counted_) {
    auto bounds = each.bounds;  // drop() takes them away
    for (auto& bound : bounds) {
      if (!applies(each) || !bound.is_open()) continue;
      if (const auto reply = read_of(each)) bound.low = bound.high = redis::number_in(*reply);
    }
    if (each.result->exists()) each.bounds = std::move(bounds);
  }
}

/// Advances the searches in all lists together.
void Surveying::bisect() {
  while (std::ranges::any_of(counted_, &CountedKey::is_open)) {
    for (const auto& each : counted_) {
      for (const auto& bound : each.bounds) {
        if (!bound.is_open()) continue;
        connection_.append({"LINDEX", each.result->key, each.index_of(bound.middle())});
      }
    }
    for (auto& each : counted_) {
      auto bounds = each.bounds;
      for (auto& bound : bounds) {
        if (!bound.is_open()) continue;
        const auto reply = read_of(each);
        if (!reply) continue;
        const auto middle = bound.middle();
        // An element that is no longer there was pruned, or the list got shorter.
        const auto time = reply->is_nil() ? bound.instant : time_in(each, reply->text());
        if (!time) continue;
        if (*time < bound.instant) {
          bound.low = middle + 1;
        } else {
          bound.high = middle;
        }
      }
      if (each.result->exists()) each.bounds = std::move(bounds);
    }
  }
}

/// Of members that stand for several units each, reads those that count.
void Surveying::read_weights() {
  const auto applies = [](const CountedKey& each) {
    return each.form->is_weighted && each.has_window;
  };
  for (const auto& each : counted_) {
    if (!applies(each)) continue;
    const auto first = std::to_string(each.bounds.front().low);
    connection_.append({"ZRANGE", each.result->key, first, "-1", "WITHSCORES"});
  }
  for (auto& each : counted_) {
    if (!applies(each)) continue;
    const auto reply = read_of(each);
    for (std::size_t i = 0; reply && i + 1 < reply->size(); i += 2) {
      constexpr std::size_t kWeight = 4;
      const auto member = (*reply)[i].text();
      const auto at = time_in(each, (*reply)[i + 1].text());
      std::int64_t units = 0;
      if (member.size() < kWeight) {
        each.has_window = false;
        each.result->state.unknown = "a member is too short to tell how many units it stands for";
        break;
      }
      for (std::size_t byte = 0; byte < kWeight; ++byte) {
        const auto value = static_cast<unsigned char>(member[member.size() - kWeight + byte]);
        units |= static_cast<std::int64_t>(value) << (8 * byte);
      }
      if (at) each.live.push_back({.at = *at, .units = units});
    }
  }
}

void Surveying::fill(CountedKey& each) {
  if (each.has_elements()) return;
  if (!each.bounds.empty()) each.entries.expired = each.bounds.front().low;
  if (each.is_leases()) return each.interpreter->fill_leases(each.entries);
  if (each.has_window && each.form->is_weighted) {
    return each.interpreter->fill_weighted(each.live, each.entries.size);
  }
  if (!each.has_window) {
    each.result->stored = each.entries.size;
    return;
  }
  each.interpreter->fill_log(each.entries);
  for (std::size_t i = 2; i < each.bounds.size(); ++i) {
    each.result->bars.push_back(each.bounds[i].low - each.bounds[i - 1].low);
  }
}

/// Of those that are full, reads the entry whose end makes room.
void Surveying::read_freeing_entries() {
  for (const auto& each : counted_) {
    const auto at = each.freeing_index();
    if (!at) continue;
    if (each.is_list()) {
      connection_.append({"LINDEX", each.result->key, *at});
    } else {
      connection_.append({"ZRANGE", each.result->key, *at, *at, "WITHSCORES"});
    }
  }
  for (auto& each : counted_) {
    if (!each.freeing_index()) continue;
    const auto reply = read_of(each);
    // The entry is gone if the key got shorter meanwhile.
    const bool is_gone = !reply || reply->is_nil() || (!each.is_list() && reply->size() < 2);
    if (is_gone) continue;
    const auto text = each.is_list() ? reply->text() : (*reply)[1].text();
    if (const auto time = time_in(each, text)) each.interpreter->set_next_free(*time);
  }
}

std::vector<Surveyed> Surveying::run() {
  read_headers();
  read_contents();
  read_reservations();
  read_sizes();
  count_by_score();
  bisect();
  drop_the_changed();
  read_weights();
  drop_the_changed();
  for (auto& each : counted_) fill(each);
  read_freeing_entries();
  for (auto& each : interpreters_) each.apply_ban();
  return std::move(results_);
}

}  // namespace

std::vector<Surveyed> survey(redis::Connection& connection, std::span<const InspectedKey> keys,
                             const Libraries& libraries) {
  return redis::repeated_if_lost(connection,
                                 [&] { return Surveying(connection, keys, libraries).run(); });
}

void survey_all(redis::Connection& connection, const SurveyScan& scan, const Libraries& libraries) {
  // A hash of 64 bits stands for a key: among a hundred million keys, two are alike with a
  // probability of 1 in 3,700.
  std::unordered_set<std::size_t> seen_hashes;
  redis::Scan keys(connection, scan.pattern);
  while (!keys.done()) {
    std::vector<InspectedKey> page;
    for (auto& key : keys.next()) {
      if (scan.once && !seen_hashes.insert(std::hash<std::string>{}(key)).second) continue;
      auto request = scan.ask(key);
      page.push_back({.key = std::move(key), .request = request});
    }
    try {
      scan.on_page(survey(connection, page, libraries), keys.share());
    } catch (const redis::Error& error) {
      throw keys.incomplete(error);
    }
  }
}

}  // namespace rlctl::stored
