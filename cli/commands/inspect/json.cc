#include "cli/commands/inspect/report.h"
#include "cli/report/usage.h"

namespace rlctl::cli::inspect {
namespace {

using namespace json_type;
using stored::InspectedEntry;
using stored::InspectedReservation;
using stored::Inspection;

constexpr JsonField<InspectedEntry> kEntryFields[] = {
    {"at_us", kInteger,
     "When the request was allowed, or when the lease lapses, in microseconds since 1970.",
     [](const auto& entry) { return entry.at; }},
    {"count", kInteger, "The units at this time.", [](const auto& entry) { return entry.count; }},
    {"holder?", kString, "Who holds the lease. Present only for leases.",
     [](const auto& entry) {
       return entry.holder ? std::optional(JsonBytes{*entry.holder}) : std::nullopt;
     }},
};
constexpr JsonObject<InspectedEntry> kEntry(kEntryFields);

constexpr JsonField<InspectedReservation> kReservationFields[] = {
    {"id", kString, "Its ID.", [](const auto& reservation) { return JsonBytes{reservation.id}; }},
    {"state", JsonType{R"("enum": ["held", "lapsed", "settled"])"},
     "The state. A lapsed one has reached the end of its hold, but a settle is still counted.",
     [](const auto& reservation) { return limiter::to_text(reservation.state); }},
    {"units", kCount, "The units that are held or were; of a settled one, those that were spent.",
     [](const auto& reservation) { return reservation.stored.units; }},
    {"until_us", kTime, "When the hold ends, in microseconds since 1970.",
     [](const auto& reservation) { return reservation.stored.held_until; }},
    {"forgotten_at_us", kTime, "When the ID is forgotten, in microseconds since 1970.",
     [](const auto& reservation) { return reservation.stored.forgotten_at; }},
};
constexpr JsonObject<InspectedReservation> kReservation(kReservationFields);

constexpr JsonField<Inspection> kContentFields[] = {
    {"type", kText, "The type that TYPE reports; none if the key does not exist.",
     [](const auto& of) { return of.content.type; }},
    {"number", JsonType{R"("type": ["number", "null"])"},
     "The stored number, if it is what is left of a limit, or if it is not known what it means.",
     [](JsonWriter& json, const Inspection& of) {
       const auto& state = of.state;
       state.fraction&& state.counts.empty() ? json.value(state.fraction) : json.value(state.left);
     }},
    {"banned_by", kTextOrNull,
     "The key that denies all requests for this one as long as it exists.",
     [](const auto& of) { return of.state.ban ? known_text(of.state.ban->key) : std::nullopt; }},
    {"unknown", kTextOrNull, "Why the figures are not known, in words for people.",
     [](const auto& of) { return known_text(of.state.unknown); }},
    {"spent", kCountOrNull,
     "For budget: the units spent in the window. used is the sum of spent and held.",
     [](const auto& of) { return of.spent; }},
    {"held", kCountOrNull, "For budget: the units that reservations hold.",
     [](const auto& of) { return of.held; }},
    {"stored", kCount,
     "How many entries, leases or reservations are stored, whether or not they are listed.",
     [](const auto& of) { return of.stored; }},
    {"now_us", kTime, "The time for which all of this holds, in microseconds since 1970.",
     [](const auto& of) { return of.now; }},
    {"changed_while_read", kBoolean,
     "Whether other clients kept writing to the key while it was read. The values may then be off "
     "by what was written in the meantime.",
     [](const auto& of) { return of.changed_while_read; }},
    {"entries", array_of(kEntry),
     "The stored times, oldest first; leases by their end. For fixed-window, "
     "sliding-window-counter and budget, the start of each window and its count.",
     [](const auto& of) { return std::span(of.entries); }},
    {"reservations", array_of(kReservation),
     "For budget: the reservations, by the end of their holds.",
     [](const auto& of) { return std::span(of.reservations); }},
};
constexpr JsonObject<Inspection> kContent(kContentFields);

constexpr JsonField<Found> kStateFields[] = {
    {report::kKeyJson, [](const Found& of) { return report::KeyState(of.inspection, of.policy); }},
    {kContent, [](const Found& of) -> const Inspection& { return of.inspection; }},
};
constexpr JsonObject<Found> kState("state", "The state of a key", kStateFields);

constexpr const JsonObjectInfo* kObjects[] = {&kState};

}  // namespace

constinit const JsonOutput kJson{
    "One object for each key in Redis. A field is null if its value is not known.", kObjects};

void append_json(std::string& out, const Found& found) {
  // The most bytes that an entry of a log takes: a time of 16 digits and a count of 10.
  constexpr std::size_t kBytesOfEntry = 48;
  out.reserve(out.size() + found.inspection.entries.size() * kBytesOfEntry + 512);
  kState.append_line(out, found);
}

}  // namespace rlctl::cli::inspect
