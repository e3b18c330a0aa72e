#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "replay/field_reader.h"

namespace rlctl::replay {
namespace {

/// The usual names, for each role; the most telling first.
constexpr std::array<std::string_view, kRoles> kUsual{
    "at_us now_us start_utc time_iso8601 time_local msec timestamp ts datetime date_time time_us "
    "time_ms "
    "timestamp_ms time_micros epoch start_time started_at time logged_at created_at "
    "event_time asctime t date "
    "request_time",
    "date",
    "client_ip client_addr client_address remote_ip remote_addr ip ip_addr ip_address client_host "
    "remote_address source_ip src_ip source_address source_ip_address c-ip address addr "
    "remote_host client remote fwd "
    "x_forwarded_for http_x_forwarded_for proxy_add_x_forwarded_for x_real_ip http_x_real_ip "
    "cf_connecting_ip http_cf_connecting_ip true_client_ip http_true_client_ip "
    "proxy_protocol_addr key",
    "cost",
    "message",
    ""};

bool is_letter(char c) {
  return c != '_' && c != '-' && c != '@' && c != ' ';
}

/// "clientIP", "Client IP" and "client_ip" are the same name.
bool is_same_name(std::string_view a, std::string_view b) {
  for (;;) {
    while (!a.empty() && !is_letter(a.front())) a.remove_prefix(1);
    while (!b.empty() && !is_letter(b.front())) b.remove_prefix(1);
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    if (lower_case(a.front()) != lower_case(b.front())) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
}

}  // namespace

RoleNames::RoleNames(const FieldOptions& chosen) {
  for (std::size_t role = 0; role < kRoles; ++role) {
    for (auto rest = kUsual[role]; !rest.empty();) {
      names_[role].names.emplace_back(take_until(rest, " "));
    }
  }
  for (const auto& [role, name] : {std::pair(kTime, &chosen.time), std::pair(kKey, &chosen.key),
                                   std::pair(kCost, &chosen.cost)}) {
    if (!*name) continue;
    settle(role, **name);
    if ((*name)->empty()) names_[role].names.clear();
    is_chosen_[role] = !(*name)->empty();
  }
  if (chosen.time) clear(kDate);
}

void RoleNames::clear(Role role) {
  if (!is_chosen_[role]) names_[role] = {{}, true};
}

std::optional<std::size_t> RoleNames::rank(Role role, std::string_view name) const {
  const auto& [names, is_exact] = names_[role];
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_exact ? names[i] == name : is_same_name(names[i], name)) return i;
  }
  return std::nullopt;
}

std::string RoleNames::describe(Role role) const {
  constexpr std::array<std::string_view, kRoles> kFor{"for the time",    "for the date",
                                                      "for the key",     "for the cost",
                                                      "for the message", "for the key"};
  const auto& [names, is_exact] = names_[role];
  return is_exact && names.size() == 1 ? "'" + names.front() + "'" : std::string(kFor[role]);
}

bool may_be_of_a_day(std::string_view name) {
  return is_same_name(name, "time");
}

namespace {

constexpr std::array kOfRequest{kTime, kDate, kKey, kCost, kMessage, kAddress};

// ---- Fields in columns that a header names ----

constexpr std::size_t kNoColumn = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kShownNames = 200;
constexpr std::string_view kW3cHeader = "#Fields:";

struct Column {
  std::string_view text;  ///< without its quotes; quotes in it still doubled
  bool has_doubled = false, is_last = false;
};

/// Takes the field at the front of a line, and the separator after it. A field in quotes may
/// contain separators. Returns false if the quotes are wrong.
bool take_column(std::string_view& rest, char separator, Column& column) {
  column = {.text = rest};
  if (rest.starts_with('"')) {
    std::size_t end = 1;
    for (;; end += 2) {
      end = rest.find('"', end);
      if (end == rest.npos) return false;
      if (!rest.substr(end + 1).starts_with('"')) break;
      column.has_doubled = true;
    }
    column.text = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    column.text = rest.substr(0, rest.find(separator));
    rest.remove_prefix(column.text.size());
  }
  column.is_last = rest.empty();
  if (column.is_last) return true;
  if (rest.front() != separator) return false;
  rest.remove_prefix(1);
  return true;
}

std::string text_of(const Column& column) {
  std::string text;
  for (std::size_t i = 0; i < column.text.size(); ++i) {
    text += column.text[i];
    if (column.has_doubled && column.text[i] == '"') ++i;
  }
  return text;
}

char separator_of(std::string_view header) {
  constexpr std::string_view kSeparators = ",;\t|";
  return *std::max_element(kSeparators.begin(), kSeparators.end(), [&](char a, char b) {
    return std::count(header.begin(), header.end(), a) <
           std::count(header.begin(), header.end(), b);
  });
}

/// CSV, whose first line is the header, and the extended log format of the W3C, which may have
/// several.
class ColumnReader final : public FieldReader {
 public:
  ColumnReader(const FieldOptions& options, bool is_w3c, char separator)
      : roles_(options),
        cost_name_(options.has_cost()   ? "cost"
                   : options.has_hold() ? "hold"
                                        : ""),
        is_w3c_(is_w3c),
        separator_(separator) {}

  LineKind read(std::string_view line, Values& values) override {
    if (is_w3c_ && line.starts_with('#')) {
      if (!line.starts_with(kW3cHeader)) return LineKind::kOther;
      line.remove_prefix(kW3cHeader.size());
      const char between = trimmed(line).find('\t') == line.npos ? ' ' : '\t';
      return read_header(trimmed(line), between);
    }
    if (!has_header_ && !is_w3c_) return read_header(line, separator_ = separator_of(line));
    if (!has_header_) return bad("no line that begins with #Fields: is before it");
    Column column;
    for (std::size_t number = 0; !column.is_last && number <= last_; ++number) {
      if (!take_column(line, separator_, column)) return bad("its quotes are wrong");
      for (const auto role : kOfRequest) {
        auto& field = fields_[role];
        if (field.number != number) continue;
        values[role] = column.text;
        if (column.has_doubled) values[role] = field.text = text_of(column);
        if (role != kKey) values[role] = trimmed(*values[role]);
      }
    }
    for (const auto role : {kTime, kKey}) {
      if (!values[role]) return bad(fmt::format("it has no field '{}'", fields_[role].name));
    }
    return LineKind::kRequest;
  }

  std::string_view name(Role role) const override { return fields_[role].name; }

 private:
  struct Field {
    std::size_t number = kNoColumn;
    std::string name = {}, text = {};
  };

  LineKind read_header(std::string_view line, char separator) {
    const auto header = line;
    fields_ = {};
    std::array<std::size_t, kRoles> ranks;
    ranks.fill(kNoColumn);
    Column column;
    for (std::size_t number = 0; !column.is_last; ++number) {
      if (!take_column(line, separator, column)) break;
      const std::string name(trimmed(text_of(column)));
      for (const auto role : kOfRequest) {
        const auto rank = roles_.rank(role, name);
        if (!rank || *rank >= ranks[role]) continue;
        ranks[role] = *rank;
        fields_[role] = {number, name, {}};
      }
    }
    if (!may_be_of_a_day(name(kTime))) fields_[kDate] = {};
    require(kTime, "time", header);
    require(kKey, "key", header);
    if (!cost_name_.empty()) require(kCost, cost_name_, header);
    last_ = 0;
    for (const auto& field : fields_) {
      if (field.number != kNoColumn) last_ = std::max(last_, field.number);
    }
    has_header_ = true;
    return LineKind::kOther;
  }

  void require(Role role, std::string_view field, std::string_view header) const {
    if (fields_[role].number != kNoColumn) return;
    throw InputError(
        fmt::format("the header has no field {}: '{}{}'", roles_.describe(role),
                    header.substr(0, kShownNames), header.size() > kShownNames ? "..." : ""),
        fmt::format("--fields {}=NAME says which of them it is", field));
  }

  RoleNames roles_;
  std::string_view cost_name_;  ///< of the cost in --fields; empty: it was not named
  bool is_w3c_;
  char separator_;
  bool has_header_ = false;
  std::array<Field, kRoles> fields_;
  std::size_t last_ = 0;  ///< the number of the last column with a role
};

// ---- Fields with their names in each line ----

constexpr std::size_t kShownFields = 12;

using Json = nlohmann::json;

/// Offers the fields of a JSON object, by their paths: "request.client_ip". Only texts and numbers,
/// and nothing in lists.
template <typename Offer>
class PathReader final : public nlohmann::json_sax<Json> {
 public:
  explicit PathReader(Offer offer) : offer_(std::move(offer)) {}

  /// Returns false if the text is not one JSON object.
  bool read(std::string_view text) {
    path_.clear();
    ends_.clear();
    lists_ = 0;
    return text.starts_with('{') && read_json(text, *this);
  }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return found(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return found(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return found(text); }
  bool string(string_t& text) override { return found(text); }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    ends_.push_back(path_.size());
    return true;
  }
  /// Replaces the previous name in the path, keeping that of the enclosing object.
  bool key(string_t& name) override {
    path_.resize(ends_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return true;
  }
  bool end_object() override {
    path_.resize(ends_.back());
    ends_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    ++lists_;
    return true;
  }
  bool end_array() override {
    --lists_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool found(const std::string& text) {
    if (lists_ == 0) offer_(path_, text);
    return true;
  }

  Offer offer_;
  std::string path_;               ///< of the current field, with dots
  std::vector<std::size_t> ends_;  ///< the path length of each enclosing object
  int lists_ = 0;
};

/// The same line in which \\xNN, which in a JSON string is the text \xNN, stands for bytes that are
/// not UTF-8, and for the \xNN that nginx writes unless told escape=json.
std::string repaired(std::string_view line) {
  auto text = escaped_message(line);
  for (auto at = text.find("\\x"); at != text.npos; at = text.find("\\x", at + 3)) {
    text.insert(at, 1, '\\');
  }
  return text;
}

/// JSON objects, of which the fields with the best names are taken.
class JsonReader final : public FieldReader {
 public:
  /// Each line must have an address if it `has_address`, whatever the key is.
  JsonReader(RoleNames roles, bool has_address)
      : roles_(std::move(roles)), has_address_(has_address) {}

  LineKind read(std::string_view line, Values& values) override {
    reset();
    if (auto why = find(line); !why.empty()) return bad(std::move(why));
    for (const auto role : kOfRequest) {
      if (found_[role].rank) values[role] = found_[role].text;
    }
    if (values[kDate] && !may_be_of_a_day(name(kTime))) values[kDate].reset();
    if (has_address_ && !values[kAddress]) return bad(lacks(kAddress));
    if (!values[kMessage] && !values[kKey]) return bad(lacks(kKey));
    return is_of_another_algorithm() ? LineKind::kOther : LineKind::kRequest;
  }

  /// If a field is missing in a later line, no other replaces it, since that would mean something
  /// else.
  void settle() override {
    if (std::exchange(is_settled_, true)) return;
    names_.clear();
    for (const auto role : kOfRequest) {
      if (found_[role].rank) {
        roles_.settle(role, found_[role].name);
      } else if (role != kCost) {
        roles_.clear(role);
      }
    }
    std::erase_if(sought_, [&](Role role) { return !roles_.has_names(role); });
  }

  bool has_names() const override { return !has_address_ && !names_.empty(); }
  std::string_view name(Role role) const override { return found_[role].name; }

 private:
  struct Found {
    std::optional<std::size_t> rank = {};
    std::string name = {}, text = {};
  };

  /// Calls offer() for each field of a line. Returns why the line is bad, or an empty text.
  std::string find(std::string_view line) {
    if (paths_.read(line)) return {};
    reset();
    if (line.starts_with('{') && paths_.read(repaired(line))) return {};
    return fmt::format("it {}", json_fault(line, kNotAnObject));
  }

  void offer(std::string_view name, std::string_view value) {
    for (const auto role : sought_) {
      const auto fits = roles_.rank(role, name);
      auto& found = found_[role];
      if (!fits || (found.rank && *found.rank < *fits)) continue;
      found.rank = fits;
      if (!is_settled_) found.name = name;
      found.text = value;
    }
    if (!is_settled_ && names_.size() <= kShownFields) names_.emplace_back(name);
    if (name == "algorithm") algorithm_ = value;
  }

  void reset() {
    for (auto& found : found_) found.rank.reset();
    algorithm_.reset();
    if (!is_settled_) names_.clear();
  }

  std::string lacks(Role role) const {
    const auto shown = std::span(names_).first(std::min(names_.size(), kShownFields));
    return fmt::format("it has no field {}{}{}{}", roles_.describe(role),
                       names_.empty() ? "" : ", but ", fmt::join(shown, ", "),
                       names_.size() > kShownFields ? ", ..." : "");
  }

  /// The .jsonl of `rlctl burst` has each request once per algorithm.
  bool is_of_another_algorithm() {
    if (!algorithm_ || name(kTime) != "at_us") return false;
    if (!first_algorithm_) first_algorithm_ = algorithm_;
    return *first_algorithm_ != *algorithm_;
  }

  RoleNames roles_;
  bool has_address_;
  std::vector<Role> sought_{kOfRequest.begin(), kOfRequest.end()};
  std::array<Found, kRoles> found_;
  bool is_settled_ = false;
  std::vector<std::string> names_;  ///< of all fields, for messages
  std::optional<std::string> algorithm_, first_algorithm_;
  PathReader<std::function<void(const std::string&, const std::string&)>> paths_{
      [this](const std::string& path, const std::string& text) { offer(path, text); }};
};

/// The names of the fields whose values are variables in a JSON object, for the roles that these
/// have. nginx's numbers have no quotes: "status":$status.
RoleNames names_in(std::string_view format, const FieldOptions& options) {
  std::string object;
  bool is_quoted = false;
  for (std::size_t i = 0; i < format.size(); ++i) {
    auto rest = format.substr(i);
    if (format[i] == '"' && (i == 0 || format[i - 1] != '\\')) is_quoted = !is_quoted;
    const auto name = is_quoted ? std::string_view() : take_variable(rest);
    if (name.empty()) {
      object += format[i];
    } else {
      object.append("\"$").append(name).append("\"");
      i = format.size() - rest.size() - 1;
    }
  }
  const RoleNames usual({});
  RoleNames names(options);
  for (const auto role : kOfRequest) names.clear(role);
  std::vector<std::string> all;
  bool has_key = options.key.has_value();
  PathReader paths([&](const std::string& path, std::string_view value) {
    const auto name = take_variable(value);
    all.push_back(path);
    for (const auto role : kOfRequest) {
      const bool has_role = !name.empty() && value.empty() && usual.rank(role, name);
      if (has_role && !names.is_chosen(role)) names.add(role, path);
      if (has_role && role == kKey) names.add(kAddress, path);
      has_key = has_key || (has_role && (role == kKey || role == kMessage));
    }
  });
  if (!paths.read(object)) throw UsageError(fmt::format("it {}", kNotAnObject));
  if (!has_key) {
    throw UsageError(fmt::format("no field for the key: the format has {}", fmt::join(all, ", ")),
                     "--fields key=NAME names it");
  }
  return names;
}

}  // namespace

std::unique_ptr<FieldReader> make_named_reader(std::string_view format,
                                               const FieldOptions& fields) {
  const bool has_names = format.find("NAME") != format.npos;
  if (format.starts_with('{')) {
    return std::make_unique<JsonReader>(has_names ? RoleNames(fields) : names_in(format, fields),
                                        !has_names && format.find("$message") == format.npos);
  }
  const bool is_w3c = format.starts_with(kW3cHeader);
  const bool has_tabs = format.find("tabs") != format.npos;
  return std::make_unique<ColumnReader>(fields, is_w3c, has_tabs ? '\t' : ' ');
}

}  // namespace rlctl::replay
