#include "cli/burst/search_files.h"

#include <utility>

#include "cli/burst/junit.h"
#include "cli/burst/picture.h"
#include "cli/failure.h"

namespace rlctl::cli {

SearchFiles::SearchFiles(const BurstOptions& options, Invocation& invocation)
    : svg_("--svg", options.svg, invocation.out), junit_("--junit", options.junit, invocation.out) {
  const int on_stdout =
      invocation.json + (options.write == "-") + svg_.to_stdout() + junit_.to_stdout();
  require_one_on_stdout(on_stdout, "use only one of --json, --write -, --svg - and --junit -");
}

void SearchFiles::write(const BurstPlan& plan, std::vector<BurstRun> runs,
                        std::span<const Assertion> assertions) {
  BurstReport report{.plan = plan, .is_search = true, .runs = std::move(runs)};
  if (svg_.is_wanted()) svg_.write(burst_svg(report));
  svg_.commit();
  if (junit_.is_wanted()) junit_.write(junit_report(report, assertions));
  junit_.commit();
}

}  // namespace rlctl::cli
