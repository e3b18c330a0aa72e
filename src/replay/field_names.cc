#include "replay/field_names.h"

#include <algorithm>
#include <utility>

namespace rlctl::replay {
namespace {

char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

/// Of nginx, Caddy, Traefik, the Elastic stack, journals, and of rlctl itself.
std::vector<std::string_view> usual_times() {
  return {"at_us",      "now_us",       "time",       "timestamp",    "ts",
          "@timestamp", "time_iso8601", "time_local", "datetime",     "date_time",
          "msec",       "time_us",      "time_ms",    "timestamp_ms", "epoch",
          "StartUTC",   "logged_at",    "created_at", "date"};
}

/// The client's address first: it is what is limited unless told.
std::vector<std::string_view> usual_keys() {
  return {"remote_addr",
          "client_ip",
          "remote_ip",
          "clientip",
          "client_addr",
          "client_address",
          "ip",
          "ip_address",
          "address",
          "request.client_ip",
          "request.remote_ip",
          "client.ip",
          "source.ip",
          "ClientHost",
          "remote_host",
          "client",
          "key",
          "user",
          "user_id",
          "username"};
}

FieldNames chosen_or(const std::optional<std::string>& chosen,
                     std::vector<std::string_view> usual) {
  return chosen ? FieldNames(*chosen) : FieldNames(std::move(usual));
}

}  // namespace

FieldNames::FieldNames(std::string_view chosen) : exact_(true) {
  if (!chosen.empty()) names_.emplace_back(chosen);
}

FieldNames::FieldNames(std::vector<std::string_view> usual) : names_(usual.begin(), usual.end()) {}

std::optional<std::size_t> FieldNames::rank(std::string_view field) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i].size() != field.size()) continue;
    if (exact_ ? names_[i] == field : same_letters(names_[i], field)) return i;
  }
  return std::nullopt;
}

void FieldNames::settle(std::string_view field) {
  names_.assign(1, std::string(field));
  exact_ = true;
}

std::string FieldNames::describe(std::string_view usual) const {
  return exact_ && !names_.empty() ? "'" + names_.front() + "'" : std::string(usual);
}

LogFields::LogFields(const FieldOptions& options)
    : time(chosen_or(options.time, usual_times())),
      key(chosen_or(options.key, usual_keys())),
      cost(chosen_or(options.cost, {"cost"})) {}

}  // namespace rlctl::replay
