#include "stored/library_row.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "limiter/limit.h"

namespace rlctl::stored {
namespace {

using limiter::LibrarySection;
using Setting = LibrarySection::Setting;

// ---- Reading rows ----

const std::string& text_of(const Setting& setting) {
  if (setting.values.size() != 1) throw UsageError("takes one text");
  return setting.values.front();
}

std::int64_t whole_number(const Setting& setting) {
  return parse_whole(text_of(setting), setting.name);
}

bool truth(const Setting& setting) {
  const auto& text = text_of(setting);
  if (text != "true" && text != "false") throw UsageError("must be true or false");
  return text == "true";
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

void read_ttl(Row& row, const Setting& setting) {
  const auto& text = text_of(setting);
  if (text == "none" || text == "value") {
    row.ttl = text == "none" ? Ttl::kNone : Ttl::kValue;
    return;
  }
  row.ttl = Ttl::kSpan;
  const auto dots = text.find("..");
  row.least_ttl = parse_span(text.substr(0, dots));
  row.most_ttl = dots == text.npos ? row.least_ttl : parse_span(text.substr(dots + 2));
}

void read_limit_text(Row& row, const Setting& setting) {
  const auto& text = text_of(setting);
  if (text.find('/') == text.npos) {
    row.units = parse_whole(text, "the limit");
    return;
  }
  const auto limit = limiter::parse_limit(text);
  row.units = limit.limit;
  row.windows = {limit.window};
}

void read_refill(Row& row, const Setting& setting) {
  std::string_view text = text_of(setting);
  if (text == "window") {
    row.refill = microseconds{0};
    return;
  }
  constexpr std::string_view kWhole = " whole";
  row.refills_whole = text.ends_with(kWhole);
  if (row.refills_whole) text.remove_suffix(kWhole.size());
  row.refill = parse_duration(text);
}

struct RowSetting {
  std::string_view name;
  void (*read)(Row& row, const Setting& setting);
};

constexpr std::array kRowSettings{
    RowSetting{"key",
               [](Row& row, const Setting& setting) {
                 for (const auto& key : setting.values) row.keys.push_back(parse_pattern(key));
               }},
    RowSetting{"type",
               [](Row& row, const Setting& setting) {
                 row.type = text_of(setting);
                 constexpr std::array<std::string_view, 4> kTypes{"string", "list", "hash", "zset"};
                 if (std::ranges::find(kTypes, row.type) == kTypes.end()) {
                   throw UsageError(
                       fmt::format("must be one of: {}, not '{}'", one_of(kTypes), row.type));
                 }
               }},
    RowSetting{"name", [](Row& row, const Setting& setting) { row.name = text_of(setting); }},
    RowSetting{"value",
               [](Row& row, const Setting& setting) {
                 row.value = find_by_name(kValues, text_of(setting));
                 if (row.value == nullptr) {
                   throw UsageError(fmt::format("must be one of: {}, not '{}'",
                                                one_of(names_of(kValues)), text_of(setting)));
                 }
               }},
    RowSetting{"proof",
               [](Row& row, const Setting& setting) {
                 const auto& text = text_of(setting);
                 if (text != "ttl" && text != "siblings") {
                   throw UsageError("must be ttl or siblings");
                 }
                 row.proof = text == "ttl" ? Proof::kTtl : Proof::kSiblings;
               }},
    RowSetting{"field", [](Row& row, const Setting& setting) { row.field = text_of(setting); }},
    RowSetting{"unit",
               [](Row& row, const Setting& setting) { row.unit = unit_of(text_of(setting)); }},
    RowSetting{"epoch",
               [](Row& row, const Setting& setting) { row.epoch = whole_number(setting); }},
    RowSetting{"scale",
               [](Row& row, const Setting& setting) {
                 row.scale = whole_number(setting);
                 if (row.scale < 1) throw UsageError("must be at least 1");
               }},
    RowSetting{"zero", [](Row& row, const Setting& setting) { row.zero = whole_number(setting); }},
    RowSetting{"weight",
               [](Row& row, const Setting& setting) {
                 if (text_of(setting) != "u32le") throw UsageError("must be u32le");
                 row.is_weighted = true;
               }},
    RowSetting{"held", [](Row& row,
                          const Setting& setting) { row.held = parse_duration(text_of(setting)); }},
    RowSetting{"queue", [](Row& row, const Setting& setting) { row.is_queue = truth(setting); }},
    RowSetting{"refill", read_refill},
    RowSetting{"limit", read_limit_text},
    RowSetting{"window",
               [](Row& row, const Setting& setting) {
                 for (const auto& text : setting.values) {
                   row.windows.push_back(parse_duration(text));
                 }
               }},
    RowSetting{"ends",
               [](Row& row, const Setting& setting) {
                 if (text_of(setting) != "unknown") throw UsageError("must be a place, or unknown");
                 row.ends_unknown = true;
               }},
    RowSetting{"previous",
               [](Row& row, const Setting& setting) { row.previous = {text_of(setting)}; }},
    RowSetting{"ban", [](Row& row, const Setting& setting) { row.ban = {text_of(setting)}; }},
    RowSetting{"unless", [](Row& row, const Setting& setting) { row.unless = {text_of(setting)}; }},
    RowSetting{"others",
               [](Row& row, const Setting& setting) {
                 for (const auto& text : setting.values) row.others.push_back({text});
               }},
    RowSetting{"clock",
               [](Row& row, const Setting& setting) {
                 const auto& text = text_of(setting);
                 if (text != "server" && text != "client")
                   throw UsageError("must be server or client");
                 row.is_by_client = text == "client";
               }},
    RowSetting{"ttl", read_ttl},
    RowSetting{"source", [](Row& /*row*/, const Setting& /*setting*/) {}},
    // Tables.
    RowSetting{"at", nullptr},
    RowSetting{"start", nullptr},
    RowSetting{"periods", nullptr},
};

std::optional<Place>* place_of(Row& row, std::string_view name) {
  if (name == "at") return &row.at;
  if (name == "start") return &row.start;
  if (name == "ends") return &row.ends;
  if (name == "limit") return &row.limit_at;
  return name == "window" ? &row.window_at : nullptr;
}

void read_place(Place& place, std::string_view part, const Setting& setting) {
  const auto& text = text_of(setting);
  if (part == "key" || part == "ttl") {
    place.key = {text};
    place.is_ttl = part == "ttl";
  } else if (part == "field") {
    place.field = text;
  } else if (part == "unit") {
    place.unit = unit_of(text);
  } else {
    throw UsageError("a place has key, field, unit and ttl");
  }
}

void read_setting(Row& row, const Setting& setting) {
  const std::string_view name = setting.name;
  const auto dot = name.find('.');
  const auto* known = find_by_name(kRowSettings, name.substr(0, dot));
  if (known == nullptr) {
    throw UsageError("unknown key" + did_you_mean_or_all(name, names_of(kRowSettings)));
  }
  if (dot == name.npos) {
    if (known->read == nullptr) throw UsageError("must be a table");
    return known->read(row, setting);
  }
  if (known->name == "periods") {
    const auto& length = text_of(setting);
    if (length != "month" && length != "year") (void)parse_duration(length);
    row.periods.emplace_back(name.substr(dot + 1), length);
    return;
  }
  auto* place = place_of(row, known->name);
  if (place == nullptr) throw UsageError("is no table");
  if (!*place) place->emplace();
  read_place(**place, name.substr(dot + 1), setting);
}

void make_forms(Row& row) {
  const auto value = row.value->value;
  const bool is_zset = row.type == "zset", is_list = row.type == "list";
  const bool tells_window = row.start || row.ends || row.ends_unknown || !row.previous.empty() ||
                            std::ranges::any_of(row.keys, [](const Pattern& key) {
                              return std::ranges::any_of(key.pieces, [](const Piece& piece) {
                                return piece.part == Part::kIndex || piece.part == Part::kStart ||
                                       piece.part == Part::kMinute;
                              });
                            });
  Form form{.name = row.value->algorithm,
            .type = row.type,
            .library = row.name,
            .summary = row.value->summary,
            .held = row.held,
            .is_weighted = row.is_weighted,
            .clock_is_callers = row.is_by_client,
            .never_expires = row.ttl == Ttl::kNone};
  if (value == Value::kTimes) form.layout = is_list ? Layout::kTimes : Layout::kScores;
  if (value == Value::kTimes && is_zset) form.name = "sliding-window-zset";
  if (value == Value::kLeases) form.layout = Layout::kLeases;
  if (value == Value::kRemaining && is_list) form.layout = Layout::kElements;
  if (value == Value::kRemaining && is_list) form.name = "token-bucket";
  if (!row.previous.empty()) form.name = "sliding-window-counter";
  form.is_called_with_partner = !row.previous.empty();
  form.ends_by_ttl = (value == Value::kCount || value == Value::kRemaining) && !tells_window;
  constexpr std::array<std::int64_t, 3> kUnits{1'000'000, 1000, 1};
  for (std::size_t i = 0; i < row.forms.size(); ++i) {
    form.us_per_score = kUnits[i / 2];
    form.newest_first = i % 2 == 1;
    row.forms[i] = form;
  }
}

std::vector<std::pair<OtherName, Role>> other_names(const Row& row) {
  std::vector<std::pair<OtherName, Role>> names;
  const auto add_place = [&](const std::optional<Place>& place, Role role) {
    if (!place || place->key.empty() || place->is_ttl) return;
    names.emplace_back(place->key, place->field.empty() ? role : Role::kHash);
  };
  add_place(row.at, Role::kTime);
  add_place(row.start, Role::kTime);
  add_place(row.ends, Role::kTime);
  add_place(row.limit_at, Role::kNumber);
  add_place(row.window_at, Role::kNumber);
  if (!row.previous.empty()) names.emplace_back(row.previous, Role::kNumber);
  if (!row.ban.empty()) names.emplace_back(row.ban, Role::kBan);
  for (const auto& other : row.others) names.emplace_back(other, Role::kOther);
  return names;
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
  const bool is_bucket = row.value->value == Value::kLevel || row.value->value == Value::kTokens;
  if (is_bucket && !row.at) {
    throw UsageError(
        fmt::format("value = \"{}\" needs at, the place of the time for which it was "
                    "counted",
                    row.value->name));
  }
}

}  // namespace

std::vector<RowMistake> read_row(const LibrarySection& section, Row& row) {
  std::vector<RowMistake> mistakes;
  row.id = row.name = section.name;
  for (const auto& setting : section.settings) {
    try {
      read_setting(row, setting);
    } catch (const UsageError& error) {
      mistakes.push_back({setting.line, fmt::format("library '{}': {}: {}", section.name,
                                                    setting.name, error.what())});
    }
  }
  row.beside = other_names(row);
  if (mistakes.empty()) {
    try {
      require_whole(row);
    } catch (const UsageError& error) {
      mistakes.push_back(
          {section.line, fmt::format("library '{}': {}", section.name, error.what())});
    }
  }
  if (!mistakes.empty()) row.mistake = mistakes.front().message;
  if (row.value == nullptr) row.value = &kValues.front();
  make_forms(row);
  return mistakes;
}

}  // namespace rlctl::stored
