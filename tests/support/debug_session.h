#pragma once

#include <doctest/doctest.h>
#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ldb/session.h"
#include "redis/connection.h"
#include "redis/private_server.h"
#include "redis/url.h"

namespace rlctl::test::debug_session {

// Sessions of Redis's Lua debugger.

inline constexpr ldb::Mode kModes[] = {ldb::Mode::kSync, ldb::Mode::kForked};
inline constexpr ldb::Session::Limits kPatient{.step = std::chrono::seconds(120),
                                               .run = std::chrono::seconds(120)};

inline redis::Connection open(const redis::Url& url) {
  return redis::Connection::open(url, std::chrono::seconds(120));
}

inline ldb::Session session_on(const redis::PrivateServer& server,
                               ldb::Mode mode = ldb::Mode::kSync) {
  return {open(server.url()), mode, kPatient};
}

inline ldb::Message start(ldb::Session& session, const std::string& text,
                          ldb::Debuggee debuggee = {}) {
  return session.start(debuggee, text);
}

/// Steps to the end; returns the lines of the stops, including the first message's.
inline std::vector<int> lines_of(ldb::Session& session, ldb::Message message) {
  std::vector<int> lines;
  while (message.stop) {
    lines.push_back(message.stop->line);
    message = session.step();
  }
  return lines;
}

inline std::string error_text(const ldb::Session& session) {
  REQUIRE(session.reply());
  REQUIRE(session.reply()->is_error());
  return std::string(session.reply()->text());
}

/// Valkey 9's debugger does not interrupt long-running scripts, and accepts only short commands.
inline bool is_valkey_9(const redis::PrivateServer& server) {
  const auto reply = open(server.url()).call({"INFO", "server"});
  return reply.text().find("valkey_version:9.") != std::string_view::npos;
}

inline std::vector<std::string> children_of(pid_t pid) {
  const auto id = std::to_string(pid);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<std::string> children;
  for (std::string child; file >> child;) children.push_back(child);
  return children;
}

/// Whether the server's children have exited, or exit within two minutes.
inline bool is_left_alone(const redis::PrivateServer& server) {
  for (int i = 0; i < 2400; ++i) {
    if (children_of(server.pid()).empty()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

}  // namespace rlctl::test::debug_session
