#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "replay/recording.h"
#include "support/temp_folder.h"

namespace rlctl::test {

/// A request as a recording returns it.
struct Came {
  std::int64_t at_us = 0;
  std::string key;
  std::int64_t cost = 1;

  bool operator==(const Came&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Came& came) {
  return out << came.at_us << ' ' << came.key << ' ' << came.cost;
}

inline std::vector<Came> all_of(traffic::Traffic& traffic) {
  std::vector<Came> came;
  traffic::Arrival arrival;
  while (traffic.next(arrival)) {
    came.push_back({arrival.at.count(), std::string(traffic.key_name(arrival.key)), arrival.cost});
  }
  return came;
}

inline std::vector<Came> all_of(const replay::Recording& recording) {
  return all_of(*recording.traffic());
}

/// Files to record, in their own folder.
class Logs {
 public:
  std::string write(const std::string& name, std::string_view content) const {
    const auto path = folder_.path() / name;
    std::ofstream(path, std::ios::binary) << content;
    return path.string();
  }
  const std::filesystem::path& path() const { return folder_.path(); }

 private:
  support::TempFolder folder_;
};

inline replay::Recording record(const replay::ReplayOptions& options) {
  const Interrupt interrupt;
  return replay::Recording(options, interrupt);
}

/// The recording of one file with this content.
inline replay::Recording record_text(std::string_view content, replay::ReplayOptions options = {}) {
  const Logs logs;
  options.files = {logs.write("log", content)};
  return record(options);
}

inline std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace rlctl::test
