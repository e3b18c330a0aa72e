#include "base/worker.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace rlctl::worker_test {
namespace {

TEST_CASE("words that a worker tells are cut where they are long") {
  worker::Words words;
  CHECK(words.get().empty());
  const std::string long_word(1000, 'x'), binary("a\0b", 3);
  std::vector<std::string_view> given{"one", "", binary, long_word};
  words.set(given);
  CHECK(words.get() == std::vector<std::string>{"one", "", binary, std::string(255, 'x')});
  given.assign(10, long_word);
  words.set(given);
  CHECK(words.get().size() == 4);
  words.set({});
  CHECK(words.get().empty());
}

TEST_CASE("a run that is asked to stop sees it, and no later one") {
  auto& page = worker::page();
  int state = 0, inner_state = 0;
  CHECK(worker::running() == nullptr);
  {
    const worker::Run run(&state, true);
    CHECK(page.runs == 1);
    CHECK(worker::running() == &state);
    CHECK_FALSE(worker::must_stop());
    page.stopped_step = page.step.load();
    CHECK(worker::must_stop());
    {
      const worker::Run inner(&inner_state);
      CHECK(worker::running() == &inner_state);
      page.stopped_step = page.step.load();
      CHECK_FALSE(worker::must_stop());
    }
    CHECK(worker::running() == &state);
    page.stopped_step = page.step.load();
    worker::begin_step();
    CHECK_FALSE(worker::must_stop());
  }
  CHECK(page.runs == 0);
  CHECK(worker::running() == nullptr);
}

TEST_CASE("a request is refused once the time of all is used up") {
  worker::begin_request("my.lua", 7, {}, {});
  CHECK(worker::page().script.get() == std::vector<std::string>{"my.lua"});
  CHECK(worker::page().request == 7);
  worker::page().is_over = true;
  CHECK_THROWS_AS(worker::begin_request("my.lua", 8, {}, {}), worker::TimeIsUp);
  worker::page().is_over = false;
}

TEST_CASE("the files that a worker leaves are removed, but not those that it no longer has") {
  // A TemporaryFolder would register itself as a file that the worker leaves.
  std::string name = temporary_folder() + "/worker-XXXXXX";
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const std::filesystem::path folder = name;
  const auto left = folder / "left", kept = folder / "kept";
  const auto inside = left / "inside";
  std::filesystem::create_directory(left);
  for (const auto& file : {inside, kept}) std::ofstream(file) << "x";
  {
    const worker::Leftover of_left(left);
    { const worker::Leftover of_kept(kept); }
    worker::Leftover moved;
    moved = worker::Leftover(kept);
    moved = worker::Leftover();
    worker::remove_leftovers();
  }
  CHECK_FALSE(std::filesystem::exists(left));
  CHECK(std::filesystem::exists(kept));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rlctl::worker_test
