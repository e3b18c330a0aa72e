#include "stored/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "embedded_libraries.h"
#include "stored/key_names.h"
#include "stored/library_row.h"
#include "stored/row_reading.h"

namespace rlctl::stored {
namespace {

using limiter::LibrarySection;
using Setting = LibrarySection::Setting;

// ---- Finding rows ----

/// A pattern of keys, and a row that reads them or belongs to them.
struct Entry {
  Pattern pattern;
  const Row* row = nullptr;
  Role role = Role::kOther;
  const Pattern* key = nullptr;    ///< of the key beside which these are
  char first = '\0', last = '\0';  ///< bytes of the name, if the pattern has them
  bool ends_in_digit = false;

  Entry(Pattern name, const Row& by, Role what, const Pattern& beside)
      : pattern(std::move(name)), row(&by), role(what), key(&beside) {
    const auto& front = pattern.pieces.front();
    const auto& back = pattern.pieces.back();
    if (front.part == Part::kLiteral) first = front.text.front();
    if (back.part == Part::kLiteral) last = back.text.back();
    ends_in_digit = back.part == Part::kIndex || back.part == Part::kStart ||
                    back.part == Part::kMinute || back.part == Part::kNumber;
  }
  /// Most names of keys fail here, so that a database of millions is read quickly.
  bool may_match(std::string_view name) const {
    if (name.empty() || (first != '\0' && name.front() != first)) return false;
    if (last != '\0' && name.back() != last) return false;
    return !ends_in_digit || (name.back() >= '0' && name.back() <= '9');
  }
};

/// Rows in the order in which they are tried.
struct Index {
  /// By type; for keys that are not there, those that have a ban. The more literal ones first.
  std::map<std::string, std::vector<Entry>, std::less<>> keys = {};
  std::vector<Entry> parts = {};  ///< keys beside others

  std::span<const Entry> keys_of(std::string_view type) const {
    const auto found = keys.find(type);
    return found == keys.end() ? std::span<const Entry>() : found->second;
  }
};

Index index_of(const std::deque<Row>& rows) {
  Index index;
  for (const auto& row : rows) {
    for (const auto& key : row.keys) {
      const Entry entry(key, row, Role::kOther, key);
      index.keys[row.type].push_back(entry);
      if (!row.ban.empty()) index.keys["none"].push_back(entry);
      if (!row.mistake.empty()) continue;
      for (const auto& [name, role] : row.beside) {
        if (name.text == OtherName::kBefore) continue;
        auto pattern = parse_pattern(name.pattern(key));
        const bool is_any = pattern.literals == 0;
        if (is_any && role != Role::kHash) continue;
        index.parts.emplace_back(std::move(pattern), row, role, key);
      }
    }
  }
  for (auto& [type, entries] : index.keys) {
    std::ranges::stable_sort(entries, std::greater<>{},
                             [](const Entry& entry) { return entry.pattern.literals; });
  }
  return index;
}

/// The ban of a key that is not there.
std::optional<Ban> ban_of(const Row& row, const Name& name, const Siblings& siblings) {
  if (row.ban.empty()) return std::nullopt;
  auto key = row.ban.of(name);
  const auto found = siblings.find(key);
  if (found == siblings.end() || found->second.type == "none") return std::nullopt;
  return Ban{.key = std::move(key), .until = found->second.until};
}

/// Whether the content of a key beside another is what the row says.
bool is_part(const Entry& entry, const KeySample& content) {
  switch (entry.role) {
    case Role::kTime:
      return content.type == "string" && time_in(content.text, 0).has_value();
    case Role::kNumber:
      return content.type == "string" && count_in(content.text).has_value();
    case Role::kHash:
      for (const auto* place : {&entry.row->limit_at, &entry.row->window_at}) {
        if (!*place || content.fields.find((*place)->field) == content.fields.end()) return false;
      }
      return true;
    case Role::kBan:
    case Role::kOther:
      break;
  }
  return true;
}

std::optional<Decoded> decode_part(const Index& index, const Question& question) {
  for (const auto& entry : index.parts) {
    if (!entry.may_match(question.key)) continue;
    const auto name = Name::match(entry.pattern, question.key);
    if (!name || !is_part(entry, *question.content)) continue;
    return Decoded{.form = &entry.row->forms.back(),
                   .certain = true,
                   .part_of = name->in(*entry.key),
                   .is_ban = entry.role == Role::kBan};
  }
  return std::nullopt;
}

std::optional<Decoded> decode_rows(const Index& index, const Question& question,
                                   const Siblings& siblings) {
  std::optional<Fitting> best;
  std::size_t literals = 0;
  for (const auto& entry : index.keys_of(question.content->type)) {
    if (best && entry.pattern.literals < literals) break;
    if (!entry.may_match(question.key)) continue;
    auto name = Name::match(entry.pattern, question.key);
    if (!name) continue;
    if (question.content->type == "none") {
      if (auto ban = ban_of(*entry.row, *name, siblings)) return Decoded{.ban = std::move(ban)};
      continue;
    }
    auto fitting = read_by_row(*entry.row, *name, question, siblings);
    if (!fitting) continue;
    // Of equal ones, the one whose window the TTL fits best, and then that of the roundest window.
    const auto rank = [](const Fitting& each) {
      constexpr double kClose = 5e5;
      return std::pair(each.off > kClose ? each.off : 0, -roundness(each.state.window));
    };
    if (!best || rank(*fitting) < rank(*best)) best = std::move(fitting);
    literals = entry.pattern.literals;
  }
  if (!best) return std::nullopt;
  return std::move(best->state);
}

void add_siblings(const Index& index, const Question& question, std::vector<std::string>& names) {
  const auto& content = *question.content;
  for (const auto& entry : index.keys_of(content.type)) {
    const auto& row = *entry.row;
    const bool needs = !row.beside.empty() || !row.unless.empty();
    if (!needs || !entry.may_match(question.key) || !row.mistake.empty()) continue;
    const auto name = Name::match(entry.pattern, question.key);
    if (!name || (content.type == "string" && !number_in(content.text))) continue;
    for (const auto& [other, role] : row.beside) {
      const bool is_only_ban = content.type == "none" && role != Role::kBan;
      if (role != Role::kOther && !is_only_ban) names.push_back(other.of(*name));
    }
    if (row.ends && row.ends->is_ttl) names.push_back(row.ends->key.of(*name));
    if (!row.unless.empty()) names.push_back(row.unless.of(*name));
  }
}

void add_fields(const std::deque<Row>& rows, std::vector<std::string>& fields) {
  const auto add = [&](const std::string& field) {
    if (!field.empty() && std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
  };
  for (const auto& row : rows) {
    add(row.field);
    for (const auto* place : {&row.at, &row.start, &row.ends, &row.limit_at, &row.window_at}) {
      if (*place) add((*place)->field);
    }
  }
}

LibrarySection section_for(std::string_view value, std::string_view type) {
  return {.name = "--as",
          .settings = {{.name = "key", .values = {"*"}},
                       {.name = "type", .values = {std::string(type)}},
                       {.name = "value", .values = {std::string(value)}}}};
}

}  // namespace

// ---- Libraries ----

struct RowTable {
  std::deque<Row> rows = {};
  Index index = {};
  std::vector<std::string> fields = {};

  void add(const LibrarySection& section) { read_row(section, rows.emplace_back()); }
  void finish() {
    index = index_of(rows);
    add_fields(rows, fields);
  }
};

namespace {

/// Reads libraries.toml, which uses little of TOML, in a tenth of the time that a parser takes. A
/// test compares the two.
class BuiltInText {
 public:
  explicit BuiltInText(std::string_view text) : rest_(text) {}

  std::vector<LibrarySection> read() {
    std::vector<LibrarySection> sections;
    for (skip(); !rest_.empty(); skip()) {
      constexpr std::string_view kHeader = "[library.";
      if (rest_.starts_with(kHeader)) {
        rest_.remove_prefix(kHeader.size());
        sections.push_back({.name = std::string(take_word())});
        rest_.remove_prefix(1);
      } else {
        read_setting(sections.back(), {});
      }
    }
    return sections;
  }

 private:
  /// Skips blanks, ends of lines, commas, equals signs and comments.
  void skip() {
    while (!rest_.empty()) {
      if (rest_[0] == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (std::string_view(" \n,=").find(rest_[0]) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  std::string_view take_word() {
    const auto word = rest_.substr(0, rest_.find_first_of(" ]},\n"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string take_text() {
    const auto quote = rest_[0];
    if (quote != '"' && quote != '\'') return std::string(take_word());
    const auto end = rest_.find(quote, 1);
    const std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  void read_setting(LibrarySection& section, const std::string& prefix) {
    Setting setting{.name = prefix + std::string(take_word())};
    skip();
    const auto open = rest_[0];
    if (open != '[' && open != '{') {
      setting.values.push_back(take_text());
      section.settings.push_back(std::move(setting));
      return;
    }
    rest_.remove_prefix(1);
    for (skip(); rest_[0] != ']' && rest_[0] != '}'; skip()) {
      if (open == '{') {
        read_setting(section, setting.name + ".");
      } else {
        setting.values.push_back(take_text());
      }
    }
    rest_.remove_prefix(1);
    if (open == '[') section.settings.push_back(std::move(setting));
  }

  std::string_view rest_;
};

}  // namespace

std::vector<LibrarySection> built_in_sections() {
  return BuiltInText(built_in_text()).read();
}

std::string_view built_in_text() {
  return embedded::k_libraries_toml.text;
}

namespace {

RowTable make_table(std::span<const LibrarySection> sections) {
  RowTable table;
  for (const auto& section : sections) table.add(section);
  table.finish();
  return table;
}

/// The tables that have a ban, in the text.
std::vector<LibrarySection> sections_with_ban() {
  constexpr std::string_view kHeader = "[library.";
  const auto text = built_in_text();
  std::vector<LibrarySection> sections;
  for (auto ban = text.find("\nban = "); ban != text.npos; ban = text.find("\nban = ", ban + 1)) {
    const auto begin = text.rfind(kHeader, ban);
    auto found = BuiltInText(text.substr(begin, text.find(kHeader, ban) - begin)).read();
    std::ranges::move(found, std::back_inserter(sections));
  }
  return sections;
}

/// For keys that are not there, which most keys of this project are at some time: only a ban says
/// anything of them, and the others need not be read.
const RowTable& built_in_bans() {
  static const RowTable kTable = make_table(sections_with_ban());
  return kTable;
}

const RowTable& built_in() {
  static const RowTable kTable = make_table(built_in_sections());
  return kTable;
}

}  // namespace

Libraries::Libraries() = default;
Libraries::~Libraries() = default;
Libraries::Libraries(Libraries&&) noexcept = default;
Libraries& Libraries::operator=(Libraries&&) noexcept = default;

Libraries::Libraries(std::span<const LibrarySection> own, const std::optional<std::string>& as) {
  if (own.empty() && !as) return;
  own_ = std::make_unique<RowTable>();
  if (as) {
    const auto* value = find_by_name(kValues, *as);
    if (value == nullptr || !value->is_for_as) {
      throw UsageError(fmt::format("--as: unknown value {}{}", quoted_and_masked(*as),
                                   did_you_mean_or_all(*as, as_values())));
    }
    for (const std::string_view type : {"string", "list", "zset"}) {
      if (value->types.find(type) != std::string_view::npos) {
        own_->add(section_for(value->name, type));
      }
    }
  }
  for (const auto& section : own) own_->add(section);
  own_->finish();
}

std::vector<std::string> Libraries::siblings(const Question& question) const {
  std::vector<std::string> names;
  if (own_) add_siblings(own_->index, question, names);
  const auto& content = *question.content;
  const auto& table = content.type == "none" ? built_in_bans() : built_in();
  add_siblings(table.index, question, names);
  return names;
}

Decoded Libraries::decode(const Question& question, const Siblings& siblings) const {
  const auto& content = *question.content;
  if (own_) {
    if (auto state = decode_rows(own_->index, question, siblings)) return *std::move(state);
    if (content.type != "none") {
      if (auto state = decode_part(own_->index, question)) return *std::move(state);
    }
  }
  if (content.type == "none") {
    return decode_rows(built_in_bans().index, question, siblings).value_or(Decoded{});
  }
  auto ours = decode_ours(content);
  if (ours.certain) return ours;
  const auto& index = built_in().index;
  if (auto state = decode_part(index, question)) return *std::move(state);
  if (auto state = decode_rows(index, question, siblings)) return *std::move(state);
  if (ours.form != nullptr) return ours;
  return decode_shape(content);
}

std::span<const std::string> Libraries::hash_fields() const {
  if (!own_) return built_in().fields;
  if (fields_.empty()) {
    fields_ = built_in().fields;
    add_fields(own_->rows, fields_);
  }
  return fields_;
}

const Libraries& built_in_libraries() {
  static const Libraries kNone;
  return kNone;
}

std::vector<limiter::ConfigurationMistake> library_mistakes(
    const limiter::Configuration& configuration) {
  std::vector<limiter::ConfigurationMistake> mistakes;
  for (const auto& section : configuration.libraries) {
    Row row;
    for (const auto& [line, message] : read_row(section, row)) {
      mistakes.push_back(
          limiter::mistake_at(configuration.file, line, message, "library." + section.name));
    }
  }
  return mistakes;
}

std::span<const std::string_view> as_values() {
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const auto& value : kValues) {
      if (value.is_for_as) names.push_back(value.name);
    }
    return names;
  }();
  return kNames;
}

void decode_all(redis::Connection& connection, std::span<const Question> questions,
                const Libraries& libraries,
                const std::function<void(std::size_t, Decoded&&)>& on_decoded) {
  std::vector<std::string> names;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    auto ours = libraries.has_own() ? Decoded{} : decode_ours(*questions[i].content);
    if (ours.certain) {
      on_decoded(i, std::move(ours));
      continue;
    }
    open.push_back(i);
    std::ranges::move(libraries.siblings(questions[i]), std::back_inserter(names));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Siblings siblings;
  if (!names.empty()) {
    const auto readable = readable_keys(connection, names);
    auto contents = read_contents(connection, readable, libraries, Parts::kCut);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      siblings.emplace(readable.keys[i], std::move(contents[i]));
    }
    for (auto& name : names) {
      const bool is_refused = std::ranges::find(readable.refused, name) != readable.refused.end();
      if (!is_refused) siblings.emplace(std::move(name), KeySample{.type = "none"});
    }
  }
  for (const auto i : open) on_decoded(i, libraries.decode(questions[i], siblings));
}

std::vector<std::string> suggested_row(std::string_view key, std::string_view type) {
  const auto end = key.find_first_of(":/_.-{");
  const auto name = key.substr(0, std::min(end, key.size()));
  const auto pattern =
      end == key.npos ? std::string(key) : std::string(key.substr(0, end + 1)).append("*");
  const auto is_bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool has_name = !name.empty() && std::ranges::all_of(name, is_bare);
  const bool is_text = is_utf8(pattern) && pattern.find_first_of("'\n") == pattern.npos;
  return {fmt::format("[library.{}]", has_name ? name : "NAME"),
          fmt::format("key = '{}'", is_text ? pattern : "PATTERN"),
          fmt::format("type = \"{}\"", type),
          type == "zset" ? "value = \"times\"  # or leases" : "value = \"count\"  # or remaining"};
}

}  // namespace rlctl::stored
