#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/limit.h"
#include "script/script.h"

namespace rlctl::test {

/// A limiter script written for a test: KEYS[1]; now in µs or ms, window in the same unit, limit.
/// It replies 1 to allow. Keys differ unless one is given.
class TestScript final : public script::Script {
 public:
  explicit TestScript(std::string text,
                      std::chrono::microseconds unit = std::chrono::microseconds{1},
                      std::string key = "",
                      limiter::Limit limit = {5, std::chrono::seconds{60}, {}})
      : text_(std::move(text)), key_(std::move(key)), unit_(unit), limit_(limit) {}

  std::string_view name() const override { return "test"; }
  void load(script::ScriptHost& host) override {
    sha1_ = host.call(std::array<std::string_view, 3>{"SCRIPT", "LOAD", text_}).text();
  }
  limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    words_ = {name_of_key(arrival.key), std::to_string(arrival.at / unit_),
              std::to_string(limit_.window / unit_), std::to_string(limit_.limit)};
    views_.assign(words_.begin(), words_.end());
    const redis::Arguments words(views_);
    return {.sha1 = sha1_, .keys = words.first(1), .arguments = words.subspan(1)};
  }
  std::vector<std::string> keys() const override { return {}; }
  std::optional<std::string> key_of_ttls() const override { return "t:ttls"; }

 private:
  limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& /*arrival*/,
                         std::int64_t /*number*/) const override {
    if (reply.type() != redis::ReplyType::kInteger) FAIL(std::string(reply.text()));  // fast
    return {.allowed = reply.integer() == 1};
  }

  std::string name_of_key(std::uint32_t key) const {
    return key_.empty() ? "t:" + std::to_string(key) : key_;
  }

  std::string text_, key_, sha1_;
  std::chrono::microseconds unit_;
  limiter::Limit limit_;
  std::vector<std::string> words_;
  std::vector<std::string_view> views_;
};

/// A script whose calls and replies are watched.
class WatchedScript final : public script::Script {
 public:
  explicit WatchedScript(
      Script& script, std::function<void()> on_call, std::function<void()> on_reply = [] {})
      : script_(script), on_call_(std::move(on_call)), on_reply_(std::move(on_reply)) {}

  std::string_view name() const override { return script_.name(); }
  void load(script::ScriptHost& host) override { script_.load(host); }
  limiter::ScriptCall call(const traffic::Arrival& arrival) override {
    on_call_();
    return script_.call(arrival);
  }
  std::vector<std::string> keys() const override { return script_.keys(); }

 private:
  limiter::Decision read(redis::ReplyView reply, const traffic::Arrival& arrival,
                         std::int64_t number) const override {
    on_reply_();
    return script_.parse(reply, arrival, number);
  }

  Script& script_;
  std::function<void()> on_call_, on_reply_;
};

}  // namespace rlctl::test
