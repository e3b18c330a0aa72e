// A file of saved keys is read as it was written; a damaged one is an error that names its line.
#include "stored/backup.h"

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "night/fuzz/fuzz.h"

namespace fuzz::save_file {

using rlctl::InputError;
using namespace rlctl::stored;

std::vector<SavedKey> read_file(std::string_view text) {
  const rlctl::FileDescriptor file(::memfd_create("saved", 0));
  require(::write(file.get(), text.data(), text.size()) == std::ssize(text), "it is written");
  std::vector<SavedKey> keys;
  SaveFileReader reader("/proc/self/fd/" + std::to_string(file.get()));
  while (auto key = reader.next()) keys.push_back(*std::move(key));
  require(reader.share() >= 0 && reader.share() <= 1, "a share is one");
  return keys;
}

void test(std::string_view input) {
  const std::string header = R"({"format":"rlctl saved keys","version":1})";
  for (const auto& text : {std::string(input), header + "\n" + std::string(input)}) {
    const auto keys = accepted<InputError>([&] { return read_file(text); }, 4 * text.size() + 500);
    if (!keys) continue;
    std::size_t bytes = 0;
    for (const auto& key : *keys) bytes += key.key.size() + key.dump.size();
    require(bytes <= 4 * text.size(), "what is read is in the file");
  }
}

const Target kTarget("save_file", test);

}  // namespace fuzz::save_file
