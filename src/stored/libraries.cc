#include "stored/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

namespace rlctl::stored {
namespace {

using limiter::LibrarySection;

// ---- Finding rows ----

/// A row of a table, which is read when a name matches it.
struct TableRow {
  RowText text;
  std::vector<std::string_view> fields = {};  ///< of hashes that it reads
  mutable std::unique_ptr<Row> row = {};

  const Row& get() const {
    if (row) return *row;
    row = std::make_unique<Row>();
    static_cast<void>(read_row(text, *row));
    return *row;
  }
};

/// A pattern of names of keys, and the row that reads these keys or to which they belong.
struct Entry {
  const TableRow* row = nullptr;
  std::string_view key = {};   ///< the pattern of the keys that the row reads
  OtherName other = {};        ///< empty, or the name of these keys, which are beside such a key
  std::string_view text = {};  ///< their pattern
  NameFilter filter{text};
  mutable std::optional<Pattern> pattern = {};

  bool match(std::string_view of, Name& name) const {
    if (!pattern) {
      try {
        pattern = parse_pattern(text);
      } catch (const UsageError&) {
        pattern.emplace();  // a mistake in the configuration: it matches nothing
      }
    }
    return name.match(*pattern, of);
  }
  Role role() const {
    const auto& beside = row->get().beside;
    const auto found = std::ranges::find_if(
        beside, [&](const auto& each) { return each.first.text == other.text; });
    return found == beside.end() ? Role::kOther : found->second;
  }
};

/// The entries whose patterns match the name.
template <typename OnMatch>
void for_each_match(std::span<const Entry> entries, std::string_view key, const OnMatch& on_match) {
  const NameEnds ends(key);
  Name name;
  for (const auto& entry : entries) {
    if (entry.filter.passes(ends) && entry.match(key, name)) on_match(entry, name);
  }
}

/// Whether the content of a key beside another is what the row says.
bool is_part(const Row& row, Role role, const KeySample& content) {
  switch (role) {
    case Role::kTime:
      return content.type == "string" && time_in(content.text, 0).has_value();
    case Role::kNumber:
      return content.type == "string" && number_in(content.text).has_value();
    case Role::kHash:
      for (const auto* place : {&row.limit_at, &row.window_at}) {
        if (!*place || content.fields.find((*place)->field) == content.fields.end()) return false;
      }
      return true;
    case Role::kBan:
    case Role::kOther:
      break;
  }
  return true;
}

/// Decodes a key that does not exist: it is banned or unused. It is unknown if the row has a
/// mistake, or reads lists with an element for each unit that is left, because an empty list does
/// not exist either. Returns nothing if only the content could prove that the key is the row's.
std::optional<Decoded> read_missing(const Row& row, const Name& name, const Siblings& siblings) {
  if (!row.mistake.empty()) return Decoded{.unknown = row.mistake_text()};
  const auto ban = row.ban.empty() ? siblings.end() : siblings.find(row.ban.of(name));
  if (ban != siblings.end() && ban->second.type != "none") {
    return Decoded{.ban = Ban{.key = ban->first, .until = ban->second.until}};
  }
  if (row.needs_ttl || row.needs_siblings) return std::nullopt;
  if (!row.counts_elements()) return Decoded{};
  return Decoded{.unknown =
                     "Redis keeps no empty list, so whether all or nothing is left is not known"};
}

}  // namespace

/// Rows, by the names of the keys that they read.
class RowTable {
 public:
  void add(LibrarySection section);

  void add_siblings(const Question& question, std::vector<std::string>& names) const;
  void add_lasting_siblings(std::string_view key, std::vector<std::string>& names) const;
  void add_fields(std::string_view key, std::vector<std::string_view>& fields) const;
  /// Reads the key by the row that fits best, but first by one that names it as a part of another.
  std::optional<Decoded> decode(const Question& question, const Siblings& siblings) const;

 private:
  std::optional<Decoded> decode_part(const Question& question) const;

  /// The rows that read keys of one type; the type "none" is that of keys that do not exist.
  struct OfType {
    std::string_view type;
    std::vector<Entry> entries = {};
    std::vector<Entry> with_others = {};  ///< those of them for which other keys are read
  };

  const OfType* entries_of(std::string_view type) const {
    const auto found = std::ranges::find(types_, type, &OfType::type);
    return found == types_.end() ? nullptr : &*found;
  }

  std::deque<LibrarySection> sections_ = {};  ///< the texts of the rows
  std::deque<TableRow> rows_ = {};
  std::array<OfType, 5> types_{OfType{"string"}, OfType{"list"}, OfType{"hash"}, OfType{"zset"},
                               OfType{"none"}};
  std::vector<Entry> parts_ = {};          ///< keys beside others
  std::vector<Entry> any_parts_ = {};      ///< hashes of any name beside others
  std::deque<std::string> patterns_ = {};  ///< their names
};

void RowTable::add(LibrarySection section) {
  auto& row =
      rows_.emplace_back(TableRow{.text = row_text(sections_.emplace_back(std::move(section)))});
  std::vector<std::string_view> keys;
  std::vector<OtherName> others;
  OfType* of_type = nullptr;
  bool has_others = false;
  for (const auto& [name, part, value, more, line] : row.text.settings) {
    if (name == "key") {
      keys = more;
      keys.insert(keys.begin(), value);
    } else if (name == "type") {
      const auto found = std::ranges::find(types_, value, &OfType::type);
      if (found != types_.end()) of_type = &*found;
    } else if (part == "key" || name == "previous" || name == "ban" || name == "others") {
      const bool is_new = others.empty() || others.back().text != value;
      if (is_new) others.push_back({value});
      for (const auto& each : more) others.push_back({each});
    }
    if (name == "field" || part == "field") row.fields.push_back(value);
    has_others = !others.empty() || has_others || part == "ttl" || name == "unless";
  }
  for (const auto& key : keys) {
    const Entry entry{.row = &row, .key = key, .text = key};
    for (auto* type : {of_type, &types_.back()}) {
      if (type == nullptr) continue;
      type->entries.push_back(entry);
      if (has_others) type->with_others.push_back(entry);
    }
    for (const auto& other : others) {
      auto pattern = other.pattern(key);
      if (pattern.empty()) continue;
      const bool is_any = pattern == "*";
      if (is_any && !any_parts_.empty() && any_parts_.back().row == &row) continue;
      const auto& kept = patterns_.emplace_back(std::move(pattern));
      auto& parts = is_any ? any_parts_ : parts_;
      parts.push_back({.row = &row, .key = key, .other = other, .text = kept});
    }
  }
}

void RowTable::add_siblings(const Question& question, std::vector<std::string>& names) const {
  const auto& content = *question.content;
  const auto* of_type = entries_of(content.type);
  if (of_type == nullptr || (content.type == "string" && !number_in(content.text))) return;
  for_each_match(of_type->with_others, question.key, [&](const Entry& entry, const Name& name) {
    const auto& row = entry.row->get();
    if (!row.mistake.empty()) return;
    for (const auto& [other, role] : row.beside) {
      const bool is_only_ban = content.type == "none" && role != Role::kBan;
      if (role != Role::kOther && !is_only_ban) names.push_back(other.of(name));
    }
    if (content.type == "none") return;
    if (row.ends && row.ends->is_ttl) names.push_back(row.ends->key.of(name));
    if (!row.unless.empty()) names.push_back(row.unless.of(name));
  });
}

void RowTable::add_lasting_siblings(std::string_view key, std::vector<std::string>& names) const {
  const auto add = [&](const Entry& entry, const Name& name) {
    const auto& row = entry.row->get();
    if (!row.mistake.empty()) return;
    for (const auto& other : {row.ban, row.previous}) {
      if (other.empty()) continue;
      auto sibling = other.of(name);
      if (std::ranges::find(names, sibling) == names.end()) names.push_back(std::move(sibling));
    }
  };
  for (const auto& type : types_) for_each_match(type.with_others, key, add);
}

void RowTable::add_fields(std::string_view key, std::vector<std::string_view>& fields) const {
  const auto add = [&](const Entry& entry, const Name& /*name*/) {
    for (const auto field : entry.row->fields) {
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    }
  };
  for_each_match(entries_of("hash")->entries, key, add);
  for_each_match(any_parts_, key, add);
}

std::optional<Decoded> RowTable::decode_part(const Question& question) const {
  if (question.content->type == "none") return std::nullopt;
  std::optional<Decoded> found;
  const auto add = [&](const Entry& entry, const Name& name) {
    if (found) return;
    const auto& row = entry.row->get();
    const auto role = entry.role();
    if (!row.mistake.empty() || !is_part(row, role, *question.content)) return;
    found = Decoded{.form = &row.forms.back(),
                    .certain = true,
                    .part_of = name.in(parse_pattern(entry.key)),
                    .is_ban = role == Role::kBan};
  };
  for_each_match(parts_, question.key, add);
  if (question.content->type == "hash") for_each_match(any_parts_, question.key, add);
  return found;
}

std::optional<Decoded> RowTable::decode(const Question& question, const Siblings& siblings) const {
  if (auto part = decode_part(question)) return part;
  const auto& content = *question.content;
  const auto* of_type = entries_of(content.type);
  const bool may_be_read = content.type != "string" || number_in(content.text);
  if (of_type == nullptr) return std::nullopt;
  std::optional<Fitting> best;
  std::size_t literals = 0;
  // The row with the most literal characters is the key's; of equal ones, that which the TTL fits
  // best. If it fits none of several because the window is not known, neither is the row.
  const auto rank = [](const Fitting& each) {
    constexpr double kClose = 5e5;
    return each.off > kClose ? each.off : 0;
  };
  for_each_match(of_type->entries, question.key, [&](const Entry& entry, const Name& name) {
    const auto literals_here = literals_of(*entry.pattern);
    if (best && literals_here < literals) return;
    const auto& row = entry.row->get();
    if (!may_be_read && row.mistake.empty()) return;
    std::optional<Fitting> fitting;
    if (content.type != "none") {
      fitting = read_by_row(row, name, question, siblings);
    } else if (auto state = read_missing(row, name, siblings)) {
      fitting = Fitting{.state = *std::move(state)};
    }
    if (!fitting) return;
    if (!best || literals_here > literals || rank(*fitting) < rank(*best)) {
      best = std::move(fitting);
    } else if (best->off == Fitting::kNotKnown) {
      best->state.form = &row.form_of_several;
    }
    literals = literals_here;
  });
  if (!best) return std::nullopt;
  return std::move(best->state);
}

namespace {

const RowTable& built_in() {
  static const RowTable kTable = [] {
    RowTable table;
    auto file = limiter::parse_configuration(embedded::k_libraries_toml.text, "libraries.toml");
    for (auto& section : file.libraries) table.add(std::move(section));
    return table;
  }();
  return kTable;
}

LibrarySection section_for(std::string_view value, std::string_view type) {
  return {.name = "--read-as",
          .settings = {{.name = "key", .values = {"*"}},
                       {.name = "type", .values = {std::string(type)}},
                       {.name = "value", .values = {std::string(value)}}}};
}

}  // namespace

// ---- Libraries ----

Libraries::Libraries() = default;
Libraries::~Libraries() = default;
Libraries::Libraries(Libraries&&) noexcept = default;
Libraries& Libraries::operator=(Libraries&&) noexcept = default;

Libraries::Libraries(std::span<const LibrarySection> own, const std::optional<std::string>& as) {
  if (!own.empty()) own_ = std::make_unique<RowTable>();
  for (const auto& section : own) own_->add(section);
  if (as) {
    const auto* value = find_by_name(kValues, *as);
    if (value == nullptr || !value->is_for_as) {
      throw UsageError(fmt::format("--read-as: unknown value {}{}", quoted_and_masked(*as),
                                   did_you_mean_or_all(*as, as_values())));
    }
    as_ = std::make_unique<RowTable>();
    // If several rows fit equally well, the first applies. The one for lists comes first, so that a
    // key that does not exist is taken for what may have been a list.
    for (const std::string_view type : {"list", "string", "zset"}) {
      if (value->types.find(type) != std::string_view::npos) {
        as_->add(section_for(value->name, type));
      }
    }
  }
}

std::vector<std::string> Libraries::siblings(const Question& question) const {
  std::vector<std::string> names;
  if (own_) own_->add_siblings(question, names);
  built_in().add_siblings(question, names);
  return names;
}

Decoded Libraries::decode(const Question& question, const Siblings& siblings) const {
  const auto by = [&](const RowTable* table) {
    return table == nullptr ? std::nullopt : table->decode(question, siblings);
  };
  if (auto state = by(own_.get())) return *std::move(state);
  auto ours = decode_ours(*question.content);
  if (ours.certain) return ours;
  if (auto state = by(&built_in())) return *std::move(state);
  if (auto state = by(as_.get())) return *std::move(state);
  if (ours.form != nullptr) return ours;
  return decode_shape(*question.content);
}

std::vector<std::string> Libraries::lasting_siblings(std::string_view key) const {
  std::vector<std::string> names;
  if (own_) own_->add_lasting_siblings(key, names);
  built_in().add_lasting_siblings(key, names);
  return names;
}

std::vector<std::string_view> Libraries::hash_fields(std::string_view key) const {
  std::vector<std::string_view> fields;
  if (own_) own_->add_fields(key, fields);
  built_in().add_fields(key, fields);
  return fields;
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
    for (const auto& [line, message] : read_row(row_text(section), row)) {
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
  // A name that begins with a separator would give a pattern such as '{*'.
  const bool is_text = end != 0 && is_utf8(pattern) && pattern.find_first_of("'\n") == pattern.npos;
  std::vector<std::string> row{
      fmt::format("[library.{}]", has_name ? name : "NAME"),
      fmt::format("key = '{}'", is_text ? pattern : "PATTERN"), fmt::format("type = \"{}\"", type),
      type == "zset" ? "value = \"times\"  # or leases" : "value = \"count\"  # or remaining"};
  if (type == "hash") row.emplace_back("field = \"FIELD\"");
  return row;
}

}  // namespace rlctl::stored
