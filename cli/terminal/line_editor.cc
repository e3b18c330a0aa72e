#include "cli/terminal/line_editor.h"

#include <fcntl.h>
#include <histedit.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <cwchar>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#if defined(RLCTL_UNDER_ASAN)
#include <sanitizer/lsan_interface.h>
#endif

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {

// ---- Lines of a file ----

namespace {

class FileLines final : public LineSource {
 public:
  FileLines(const std::string& file, std::string prompt, const Interrupt& interrupt)
      : reader_(file), prompt_(std::move(prompt)), interrupt_(interrupt) {}

  std::optional<std::string> next() override {
    while (true) {
      if (const auto line = reader_.next()) {
        if (!line->too_long) return std::string(line->text);
        throw UsageError("line " + std::to_string(line->number) + " of the commands is too long");
      }
      if (reader_.ended()) return std::nullopt;
      if (!prompt_.empty()) {
        Output out(STDOUT_FILENO, interrupt_);
        out.write(prompt_);
        out.flush();
      }
      wait_for(reader_.fd(), POLLIN, &interrupt_, kNoDeadline);
      reader_.fill();
    }
  }

 private:
  LineReader reader_;
  std::string prompt_;
  const Interrupt& interrupt_;
};

}  // namespace

std::unique_ptr<LineSource> lines_of(const std::string& file, std::string prompt,
                                     const Interrupt& interrupt) {
  return std::make_unique<FileLines>(file, std::move(prompt), interrupt);
}

// ---- History ----

namespace {

namespace fs = std::filesystem;

/// Creates the missing directories, accessible only to this user.
void make_folders(const fs::path& folder) {
  if (folder.empty() || ::access(folder.c_str(), F_OK) == 0) return;
  make_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

bool write_to(const std::string& file, int flags, const std::string& text) {
  const FileDescriptor out(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0600));
  // A link to /dev/null, by which some keep no history, must not change the mode of that for all.
  // (Opening a pipe without a reader fails.)
  struct stat status {};
  if (!out || ::fstat(out.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  // An existing file may be readable by others.
  return ::fchmod(out.get(), 0600) == 0 &&
         ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

LineHistory::LineHistory(std::string file) : file_(std::move(file)) {
  if (!file_.empty()) read();
}

void LineHistory::read() {
  // Reading a pipe might never end.
  std::error_code unknown;
  if (!fs::is_regular_file(file_, unknown)) return;
  std::ifstream in(file_);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    if (!line.empty() && (lines_.empty() || lines_.back() != line)) lines_.push_back(line);
  }
  if (lines_.size() > kMax) {
    lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(kMax));
  }
  if (count > kMax) shorten();
}

void LineHistory::shorten() const {
  std::string text;
  for (const auto& line : lines_) text += line + '\n';
  const auto fresh = file_ + "." + std::to_string(::getpid());
  std::error_code ignored;
  if (write_to(fresh, O_EXCL, text)) fs::rename(fresh, file_, ignored);
  fs::remove(fresh, ignored);
}

bool LineHistory::add(const std::string& line) {
  if (line.empty() || (!lines_.empty() && lines_.back() == line)) return false;
  lines_.push_back(line);
  if (file_.empty()) return true;
  make_folders(fs::path(file_).parent_path());
  static_cast<void>(write_to(file_, O_APPEND, line + '\n'));
  return true;
}

// ---- Typed lines: by libedit, which is included nowhere else ----

namespace {

struct EndEditor {
  void operator()(EditLine* editor) const noexcept { ::el_end(editor); }
};
struct EndHistory {
  void operator()(History* history) const noexcept { ::history_end(history); }
};

/// While it exists, a change of the window size (SIGWINCH) ends a poll() with EINTR.
struct ResizeSignal {
  ResizeSignal() {
    struct sigaction action {};
    action.sa_handler = [](int /*signal*/) {};
    sigaction(SIGWINCH, &action, nullptr);
  }
  ~ResizeSignal() { std::signal(SIGWINCH, SIG_DFL); }
  ResizeSignal(const ResizeSignal&) = delete;
  ResizeSignal& operator=(const ResizeSignal&) = delete;
};

using Function = unsigned char (*)(EditLine*, int);

/// Makes a function available to EL_BIND. The editor copies both texts and never frees them;
/// exclude them from leak reports.
void add_function(EditLine* editor, const char* name, const char* help, Function function) {
#if defined(RLCTL_UNDER_ASAN)
  const __lsan::ScopedDisabler not_ours;
#endif
  ::el_set(editor, EL_ADDFN, name, help, function);
}

class TypedLines final : public LineSource {
 public:
  TypedLines(std::string prompt, std::string history_file, Complete complete, BreakKey& key,
             const Interrupt& interrupt);

  std::optional<std::string> next() override;

 private:
  /// Why read_character() returned no character.
  enum class Stopped { kNot, kCancelled, kEnded };

  static TypedLines& of(EditLine* editor);
  static char* prompt_of(EditLine* editor) { return of(editor).prompt_.data(); }
  static int read_by(EditLine* editor, wchar_t* to) { return of(editor).read_character(*to); }
  static unsigned char complete_by(EditLine* editor, int) { return of(editor).complete_word(); }

  int read_character(wchar_t& character);
  bool wait_for_byte();
  void look_at_size();
  unsigned char complete_word();
  void show(const std::vector<std::string>& words) const;
  void remember(const std::string& line);

  std::string prompt_;
  LineHistory history_;
  Complete complete_;
  BreakKey& key_;
  const Interrupt& interrupt_;
  Suspension suspension_;
  ResizeSignal resize_signal_;
  std::unique_ptr<History, EndHistory> list_{::history_init()};
  std::unique_ptr<EditLine, EndEditor> editor_;
  std::pair<std::size_t, std::size_t> size_;
  Stopped stopped_ = Stopped::kNot;
  bool is_warned_ = false;  ///< Ctrl-C was pressed, and nothing was typed since
};

TypedLines::TypedLines(std::string prompt, std::string history_file, Complete complete,
                       BreakKey& key, const Interrupt& interrupt)
    : prompt_(std::move(prompt)),
      history_(std::move(history_file)),
      complete_(std::move(complete)),
      key_(key),
      interrupt_(interrupt) {
  // Input is UTF-8, as everywhere in rlctl, whatever the locale's encoding. (For another one, a
  // statically linked C library would load a module that may belong to another version.)
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0) std::setlocale(LC_CTYPE, "C.UTF-8");
  editor_.reset(::el_init("rlctl", stdin, stdout, stderr));
  HistEvent event{};
  ::history(list_.get(), &event, H_SETSIZE, static_cast<int>(LineHistory::kMax));
  for (const auto& line : history_.lines()) {
    ::history(list_.get(), &event, H_ENTER, line.c_str());
  }
  auto* editor = editor_.get();
  ::el_set(editor, EL_CLIENTDATA, this);
  ::el_set(editor, EL_PROMPT, &TypedLines::prompt_of);
  ::el_set(editor, EL_EDITOR, "emacs");
  ::el_set(editor, EL_SIGNAL, 0);
  ::el_set(editor, EL_HIST, ::history, list_.get());
  ::el_set(editor, EL_GETCFN, &TypedLines::read_by);
  add_function(editor, "rlctl-complete", "complete the word", &TypedLines::complete_by);
  ::el_set(editor, EL_BIND, "^I", "rlctl-complete", nullptr);
  ::el_set(editor, EL_BIND, "^R", "em-inc-search-prev", nullptr);
  size_ = {terminal_width(STDOUT_FILENO), terminal_height(STDOUT_FILENO)};
}

TypedLines& TypedLines::of(EditLine* editor) {
  void* data = nullptr;
  ::el_get(editor, EL_CLIENTDATA, &data);
  return *static_cast<TypedLines*>(data);
}

// ---- Characters ----

void TypedLines::look_at_size() {
  const std::pair now{terminal_width(STDOUT_FILENO), terminal_height(STDOUT_FILENO)};
  if (std::exchange(size_, now) == now) return;
  ::el_resize(editor_.get());
  ::el_set(editor_.get(), EL_REFRESH);
}

/// Waits for input. Returns false if none will come; see stopped_.
bool TypedLines::wait_for_byte() {
  while (true) {
    std::array<pollfd, 4> polled{{{STDIN_FILENO, POLLIN, 0},
                                  {interrupt_.fd(), POLLIN, 0},
                                  {is_warned_ ? -1 : key_.fd(), POLLIN, 0},
                                  {suspension_.fd(), POLLIN, 0}}};
    const int ready = ::poll(polled.data(), polled.size(), -1);
    if (ready < 0 && errno != EINTR) stopped_ = Stopped::kEnded;
    if (interrupt_.signal() != 0) stopped_ = Stopped::kEnded;
    if (ready > 0 && polled[2].revents != 0) stopped_ = Stopped::kCancelled;
    if (stopped_ != Stopped::kNot) return false;
    if (ready > 0 && polled[3].revents != 0) {
      // While the process was stopped, others used the terminal, which the editor does not know.
      suspension_.clear();
      ::el_set(editor_.get(), EL_PREP_TERM, 0);
      ::el_set(editor_.get(), EL_PREP_TERM, 1);
      ::el_set(editor_.get(), EL_REFRESH);
    }
    look_at_size();
    if (ready > 0 && polled[0].revents != 0) return true;
  }
}

int TypedLines::read_character(wchar_t& character) {
  std::mbstate_t state{};
  while (true) {
    if (!wait_for_byte()) return -1;
    char byte = 0;
    const auto count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      stopped_ = Stopped::kEnded;
      return 0;
    }
    key_.clear();
    is_warned_ = false;
    constexpr auto kMore = static_cast<std::size_t>(-2), kBad = static_cast<std::size_t>(-1);
    const auto size = std::mbrtowc(&character, &byte, 1, &state);
    if (size == kMore) continue;
    if (size == kBad) {
      state = {};
      continue;
    }
    return 1;
  }
}

// ---- Completion ----

std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const auto& word : words) {
    const auto [end, ignored] =
        std::mismatch(common.begin(), common.end(), word.begin(), word.end());
    common.erase(end, common.end());
  }
  return common;
}

/// Shows the words below the line, in columns.
void TypedLines::show(const std::vector<std::string>& words) const {
  std::size_t width = 0;
  for (const auto& word : words) width = std::max(width, word.size() + 2);
  const auto columns = std::max(size_.first / width, std::size_t{1});
  std::string text = "\n";
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += escaped_message(words[i]);
    const bool ends_line = (i + 1) % columns == 0 || i + 1 == words.size();
    text += ends_line ? "\n" : std::string(width - words[i].size(), ' ');
  }
  Output out(STDOUT_FILENO, interrupt_);
  out.write(text);
  out.flush();
}

unsigned char TypedLines::complete_word() {
  const LineInfo* info = ::el_line(editor_.get());
  const std::string_view line(info->buffer, static_cast<std::size_t>(info->cursor - info->buffer));
  const auto words = complete_(line);
  if (words.empty()) return CC_REFRESH_BEEP;
  const auto common = common_beginning(words);
  // The length of the part already typed: the longest suffix of the line that is a prefix of it.
  auto typed = std::min(common.size(), line.size());
  while (typed > 0 && line.substr(line.size() - typed) != common.substr(0, typed)) --typed;
  auto more = common.substr(typed);
  if (words.size() == 1) more += ' ';
  if (!more.empty()) {
    ::el_insertstr(editor_.get(), more.c_str());
    return CC_REFRESH;
  }
  try {
    show(words);
  } catch (const std::exception&) {
    stopped_ = Stopped::kEnded;  // the output is closed, or Ctrl-C was pressed
    return CC_EOF;
  }
  return CC_REDISPLAY;
}

// ---- Lines ----

void TypedLines::remember(const std::string& line) {
  if (!history_.add(line)) return;
  HistEvent event{};
  ::history(list_.get(), &event, H_ENTER, line.c_str());
}

std::optional<std::string> TypedLines::next() {
  constexpr std::string_view kHint = "\n(press Ctrl-C again, or type 'quit', to leave)\n";
  while (true) {
    stopped_ = Stopped::kNot;
    // The editor may have read a line without waiting for a byte.
    if (!key_.pressed()) is_warned_ = false;
    int count = 0;
    const char* typed = ::el_gets(editor_.get(), &count);
    if (typed != nullptr && count > 0) {
      std::string line(typed, static_cast<std::size_t>(count));
      while (!line.empty() &&
             std::string_view(" \r\n").find(line.back()) != std::string_view::npos) {
        line.pop_back();
      }
      remember(line);
      return line;
    }
    if (stopped_ == Stopped::kCancelled) {
      is_warned_ = true;
      write_stderr(kHint);
      ::el_reset(editor_.get());
      continue;
    }
    write_stderr("\n");
    interrupt_.check();
    return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<LineSource> typed_lines(std::string prompt, std::string history_file,
                                        Complete complete, BreakKey& key,
                                        const Interrupt& interrupt) {
  return std::make_unique<TypedLines>(std::move(prompt), std::move(history_file),
                                      std::move(complete), key, interrupt);
}

}  // namespace rlctl::cli
