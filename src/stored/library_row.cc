#include "stored/library_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "limiter/limit.h"

namespace rlctl::stored {

// ---- The text of a row ----

RowText row_text(const limiter::LibrarySection& section) {
  RowText row{.name = section.name, .line = section.line};
  for (const auto& each : section.settings) {
    const std::string_view name = each.name;
    const auto dot = std::min(name.find('.'), name.size());
    auto& setting =
        row.settings.emplace_back(Setting{.name = name.substr(0, dot), .line = each.line});
    if (dot < name.size()) setting.part = name.substr(dot + 1);
    for (const auto& value : each.values) setting.add(value);
  }
  return row;
}

// ---- Reading rows ----

namespace {

std::string_view text_of(const Setting& setting) {
  if (!setting.more.empty()) throw UsageError("takes one text");
  return setting.value;
}

template <typename Read>
void for_each_value(const Setting& setting, const Read& read) {
  read(setting.value);
  for (const auto& value : setting.more) read(value);
}

Span parse_span(std::string_view text) {
  Span span;
  while (!text.empty()) {
    const auto end = std::min(text.find('+'), text.size());
    const auto term = text.substr(0, end);
    constexpr std::string_view kWindow = "window";
    if (term == kWindow) {
      span.windows += 1;
    } else if (term.ends_with("*window")) {
      span.windows +=
          static_cast<double>(parse_whole(term.substr(0, term.find('*')), "the factor"));
    } else {
      span.more += parse_duration(term);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return span;
}

void read_keys(Row& row, const Setting& setting) {
  for_each_value(setting, [&](auto text) { row.keys.push_back(parse_pattern(text)); });
}

void read_type(Row& row, const Setting& setting) {
  row.type = text_of(setting);
  constexpr std::array<std::string_view, 4> kTypes{"string", "list", "hash", "zset"};
  if (std::ranges::find(kTypes, row.type) == kTypes.end()) {
    throw UsageError(fmt::format("must be one of: {}, not '{}'", one_of(kTypes), row.type));
  }
}

void read_value(Row& row, const Setting& setting) {
  row.value = find_by_name(kValues, text_of(setting));
  if (row.value == nullptr) {
    throw UsageError(
        fmt::format("must be one of: {}, not '{}'", one_of(names_of(kValues)), text_of(setting)));
  }
}

void read_ttl(Row& row, const Setting& setting) {
  const auto text = text_of(setting);
  row.has_no_ttl = text == "none";
  row.has_ttl = text != "none" && text != "value";
  if (!row.has_ttl) return;
  const auto dots = text.find("..");
  row.least_ttl = parse_span(text.substr(0, dots));
  row.most_ttl = dots == text.npos ? row.least_ttl : parse_span(text.substr(dots + 2));
}

void read_limit(Row& row, const Setting& setting) {
  const std::string text(text_of(setting));
  if (text.find('/') == text.npos) {
    row.units = parse_whole(text, "the limit");
    return;
  }
  const auto limit = limiter::parse_limit(text);
  row.units = limit.limit;
  row.window = limit.window;
}

void read_window(Row& row, const Setting& setting) {
  row.window = parse_duration(text_of(setting));
}

void read_refill(Row& row, const Setting& setting) {
  auto text = text_of(setting);
  if (text == "window") {
    row.refill = microseconds{0};
    return;
  }
  constexpr std::string_view kWhole = " whole";
  row.refills_whole = text.ends_with(kWhole);
  if (row.refills_whole) text.remove_suffix(kWhole.size());
  row.refill = parse_duration(text);
}

void read_others(Row& row, const Setting& setting) {
  for_each_value(setting, [&](auto text) { row.others.push_back({text}); });
}

/// A setting whose value is one of a few words.
struct RowWord {
  std::string_view name, word;
  bool Row::*is;  ///< null: the default
};
constexpr std::array kRowWords{RowWord{"proof", "ttl", &Row::needs_ttl},
                               RowWord{"proof", "siblings", &Row::needs_siblings},
                               RowWord{"weight", "u32le", &Row::is_weighted},
                               RowWord{"queue", "true", &Row::is_queue},
                               RowWord{"queue", "false", nullptr},
                               RowWord{"blocks", "true", &Row::blocks},
                               RowWord{"blocks", "false", nullptr},
                               RowWord{"ends", "unknown", &Row::ends_unknown},
                               RowWord{"clock", "server", nullptr},
                               RowWord{"clock", "client", &Row::is_by_client}};

void read_word(Row& row, const Setting& setting) {
  std::vector<std::string_view> words;
  for (const auto& [name, word, is] : kRowWords) {
    if (name != setting.name) continue;
    words.push_back(word);
    if (word != text_of(setting)) continue;
    if (is != nullptr) row.*is = true;
    return;
  }
  throw UsageError("must be " + one_of(words));
}

void ignore(Row& /*row*/, const Setting& /*setting*/) {}

void refuse_text(Row& /*row*/, const Setting& /*setting*/) {
  throw UsageError("must be a table");
}

/// How a setting is read, or where its text, number, duration or name goes.
struct RowSetting {
  std::string_view name;
  std::variant<void (*)(Row& row, const Setting& setting), std::string_view Row::*,
               std::int64_t Row::*, OtherName Row::*>
      target;
  std::optional<Place> Row::*place = nullptr;  ///< of a table
};

constexpr std::array kRowSettings{
    RowSetting{"key", read_keys},
    RowSetting{"type", read_type},
    RowSetting{"name", &Row::name},
    RowSetting{"value", read_value},
    RowSetting{"proof", read_word},
    RowSetting{"field", &Row::field},
    RowSetting{"unit",
               [](Row& row, const Setting& setting) { row.unit = unit_of(text_of(setting)); }},
    RowSetting{"epoch", &Row::epoch},
    RowSetting{"scale", &Row::scale},
    RowSetting{"zero", &Row::zero},
    RowSetting{"weight", read_word},
    RowSetting{"held", [](Row& row,
                          const Setting& setting) { row.held = parse_duration(text_of(setting)); }},
    RowSetting{"queue", read_word},
    RowSetting{"blocks", read_word},
    RowSetting{"refill", read_refill},
    RowSetting{"at", refuse_text, &Row::at},
    RowSetting{"start", refuse_text, &Row::start},
    RowSetting{"ends", read_word, &Row::ends},
    RowSetting{"limit", read_limit, &Row::limit_at},
    RowSetting{"window", read_window, &Row::window_at},
    RowSetting{"previous", &Row::previous},
    RowSetting{"ban", &Row::ban},
    RowSetting{"unless", &Row::unless},
    RowSetting{"others", read_others},
    RowSetting{"periods", refuse_text},
    RowSetting{"clock", read_word},
    RowSetting{"ttl", read_ttl},
    RowSetting{"source", ignore}};

void read_place(Place& place, const Setting& setting) {
  const auto text = text_of(setting);
  if (setting.part == "key" || setting.part == "ttl") {
    place.key = {text};
    place.is_ttl = setting.part == "ttl";
  } else if (setting.part == "field") {
    place.field = text;
  } else if (setting.part == "unit") {
    place.unit = unit_of(text);
  } else {
    throw UsageError("a place has key, field, unit and ttl");
  }
}

void read_part(Row& row, const RowSetting& known, const Setting& setting) {
  if (known.name == "periods") {
    row.periods.emplace_back(setting.part, parse_duration(text_of(setting)));
    return;
  }
  if (known.place == nullptr) throw UsageError("is no table");
  auto& place = row.*known.place;
  if (!place) place.emplace();
  read_place(*place, setting);
}

struct ReadingTarget {
  Row& row;
  const Setting& setting;

  void operator()(void (*read)(Row&, const Setting&)) const { read(row, setting); }
  void operator()(std::string_view Row::*text) const { row.*text = text_of(setting); }
  void operator()(std::int64_t Row::*number) const {
    row.*number = parse_whole(text_of(setting), setting.name);
  }
  void operator()(OtherName Row::*name) const { row.*name = {text_of(setting)}; }
};

void read_setting(Row& row, const Setting& setting) {
  const auto* known = find_by_name(kRowSettings, setting.name);
  if (known == nullptr) {
    throw UsageError("unknown key" + did_you_mean_or_all(setting.name, names_of(kRowSettings)));
  }
  if (!setting.part.empty()) return read_part(row, *known, setting);
  std::visit(ReadingTarget{row, setting}, known->target);
}

void make_forms(Row& row) {
  const auto value = row.value->value;
  const bool is_zset = row.type == "zset", is_list = row.type == "list";
  const auto tells_window = [](const Piece& piece) {
    return piece.part == Part::kIndex || piece.part == Part::kStart;
  };
  const bool ends_by_ttl = (value == Value::kCount || value == Value::kRemaining) && !row.start &&
                           !row.ends && !row.ends_unknown &&
                           std::ranges::none_of(row.keys, [&](const Pattern& key) {
                             return std::ranges::any_of(key, tells_window);
                           });
  Form form{.name = row.value->algorithm,
            .type = row.type,
            .library = row.name,
            .summary = row.value->summary,
            .held = row.held,
            .is_weighted = row.is_weighted,
            .ends_by_ttl = ends_by_ttl,
            .blocks = row.blocks,
            .is_called_with_partner = !row.previous.empty(),
            .clock_is_callers = row.is_by_client,
            .never_expires = row.has_no_ttl};
  if (value == Value::kTimes) form.layout = is_list ? Layout::kTimes : Layout::kScores;
  if (value == Value::kTimes && is_zset) form.name = "sliding-window-zset";
  if (value == Value::kLeases) form.layout = Layout::kLeases;
  if (row.counts_elements()) form.layout = Layout::kElements;
  if (row.counts_elements()) form.name = "token-bucket";
  if (!row.previous.empty()) form.name = "sliding-window-counter";
  constexpr std::array<std::int64_t, 4> kUnits{1'000'000'000, 1'000'000, 1000, 1};
  for (std::size_t i = 0; i < row.forms.size(); ++i) {
    form.ns_per_score = kUnits[i / 2];
    form.newest_first = i % 2 == 1;
    row.forms[i] = form;
  }
  row.form_of_several = form;
  row.form_of_several.name = {};
}

void find_other_names(Row& row) {
  const auto add = [&](const OtherName& name, Role role) {
    if (name.empty()) return;
    if (name.text != OtherName::kBefore) (void)parse_pattern(name.text);
    row.beside.emplace_back(name, role);
  };
  for (const auto* place : {&row.at, &row.start, &row.ends, &row.limit_at, &row.window_at}) {
    if (!*place) continue;
    if ((*place)->is_ttl) {
      if (!(*place)->key.empty()) (void)parse_pattern((*place)->key.text);
      continue;
    }
    const bool is_number = place == &row.limit_at || place == &row.window_at;
    add((*place)->key, !(*place)->field.empty() ? Role::kHash
                       : is_number              ? Role::kNumber
                                                : Role::kTime);
  }
  add(row.previous, Role::kNumber);
  add(row.ban, Role::kBan);
  for (const auto& other : row.others) add(other, Role::kOther);
  if (!row.unless.empty()) (void)parse_pattern(row.unless.text);
}

/// Throws UsageError, for the first mistake that concerns the whole row.
void require_whole(const Row& row) {
  if (row.keys.empty()) throw UsageError("key is missing; write key = \"acme:left:*\"");
  if (row.type.empty()) throw UsageError("type is missing; write type = \"string\"");
  if (row.value == nullptr) throw UsageError("value is missing; write value = \"count\"");
  if (row.value->types.find(row.type) == std::string_view::npos) {
    throw UsageError(fmt::format("value = \"{}\" is for the types {}, not {}", row.value->name,
                                 row.value->types, row.type));
  }
  if (row.type == "hash" && row.field.empty()) throw UsageError("a hash needs a field");
  if (row.scale < 1) throw UsageError("scale must be at least 1");
  const auto value = row.value->value;
  const bool is_count = value == Value::kCount || value == Value::kRemaining;
  const bool is_bucket = value == Value::kLevel || value == Value::kTokens;
  const bool is_number = (is_count || is_bucket) && row.type != "list";
  if (!is_number && (row.scale != 1 || row.zero != 0)) {
    throw UsageError(fmt::format("{} does not apply to value = \"{}\" of the type {}",
                                 row.scale != 1 ? "scale" : "zero", row.value->name, row.type));
  }
  if (is_bucket && !row.at) {
    throw UsageError(
        fmt::format("value = \"{}\" needs at, the place of the time for which it was "
                    "counted",
                    row.value->name));
  }
}

}  // namespace

std::vector<RowMistake> read_row(const RowText& text, Row& row) {
  std::vector<RowMistake> mistakes;
  row.name = text.name;
  for (const auto& setting : text.settings) {
    try {
      read_setting(row, setting);
    } catch (const UsageError& error) {
      mistakes.push_back(
          {setting.line, fmt::format("library '{}': {}{}{}: {}", text.name, setting.name,
                                     setting.part.empty() ? "" : ".", setting.part, error.what())});
    }
  }
  if (mistakes.empty()) {
    try {
      require_whole(row);
      find_other_names(row);
    } catch (const UsageError& error) {
      mistakes.push_back({text.line, fmt::format("library '{}': {}", text.name, error.what())});
    }
  }
  if (!mistakes.empty()) row.mistake = mistakes.front().message;
  if (row.value == nullptr) row.value = &kValues.front();
  make_forms(row);
  return mistakes;
}

}  // namespace rlctl::stored
