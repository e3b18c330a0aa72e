#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/app.h"

namespace support {

inline std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// While it exists, a descriptor is that of a file in memory, which has this text at first.
class Redirection {
 public:
  explicit Redirection(int fd, std::string_view text = {}) : fd_(fd), original_(::dup(fd)) {
    const int file = ::memfd_create("redirected", 0);
    if (::write(file, text.data(), text.size()) < 0) throw std::bad_alloc();
    ::lseek(file, 0, SEEK_SET);
    ::dup2(file, fd_);
    ::close(file);
  }
  ~Redirection() {
    ::dup2(original_, fd_);
    ::close(original_);
  }
  Redirection(const Redirection&) = delete;
  Redirection& operator=(const Redirection&) = delete;

  std::string text() const { return contents("/dev/fd/" + std::to_string(fd_)); }
  bool is_read() const { return ::lseek(fd_, 0, SEEK_CUR) > 0; }

 private:
  int fd_, original_;
};

struct Result {
  int status;
  std::string out, err;
  bool has_read_input = false;  ///< of standard input, at least a part
};

/// What `rlctl WORD…` does, in this process, with this standard input. Costs a hundredth of a
/// process.
inline Result run_rlctl(std::vector<std::string> words, std::string_view input = {}) {
  // No test may reach the default server by mistake.
  ::setenv("RLCTL_URL", "unix:///no-server", 0);
  words.insert(words.begin(), "rlctl");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::cout.flush();
  const auto terminate = std::get_terminate();
  const auto new_handler = std::get_new_handler();
  const Redirection in(STDIN_FILENO, input), out(STDOUT_FILENO), err(STDERR_FILENO);
  const int status = rlctl::cli::run_command_line(static_cast<int>(words.size()), argv.data());
  std::set_terminate(terminate);
  std::set_new_handler(new_handler);
  return {status, out.text(), err.text(), in.is_read()};
}

/// The long options that a text of --help describes.
inline std::vector<std::string> options_in(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream text(help);
  for (std::string line; std::getline(text, line);) {
    // "  -q, --quiet  …" or "      --limit LIMIT  …"
    const auto at = line.find("--");
    if (!line.starts_with("  ") || at > 6) continue;
    options.push_back(line.substr(at, line.find_first_of(" =[", at) - at));
  }
  return options;
}

}  // namespace support
