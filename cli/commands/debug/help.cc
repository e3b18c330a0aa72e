#include "cli/commands/debug/help.h"

#include <algorithm>
#include <iterator>

namespace rlctl::cli {
namespace {

struct Explanation {
  std::string_view command, text;
};

constexpr Explanation kExplanations[] = {
    {"step", R"(Stops at the next line that is executed, even in a function that this line
calls. The empty line repeats it.
For example: step 3      run three lines
)"},
    {"next", R"(Like step, but does not stop in the functions and coroutines that the line
calls, unless at a breakpoint there or because a watched value changes.
For example: next
)"},
    {"finish", R"(Stops at the next line of the caller, or earlier at a breakpoint. In the main
chunk, which has no caller, runs the script to its end.
For example: finish
)"},
    {"continue", R"(Ctrl-C stops a script that keeps running. The replies of its calls are not
known while it runs.
For example: break 12, then continue
)"},
    {"list", R"(-> marks the line that runs next, # a breakpoint.
For example: list 40 3   line 40 and the three lines on either side
)"},
    {"whole", R"(-> marks the line that runs next, # a breakpoint.
For example: whole
)"},
    {"print", R"(A name means the variable that it refers to at this line. Values are exact; a ~
marks a number of which only six digits are known.
For example: print now - oldest
)"},
    {"break", R"(With if, stops there if the expression is true, or cannot be evaluated. Without
arguments, lists the breakpoints. An expression that calls no function is fast:
the script does not stop to evaluate it.
For example: break 12 if count > 3; break -12 removes it
)"},
    {"watch", R"(Stops when the value changes. While something is watched, the script runs in
steps, which takes longer. Without arguments, lists the watches.
For example: watch redis.call('ZCARD', KEYS[1]); watch -1 removes it
)"},
    {"info", R"(The word can be abbreviated. Keys are shown with their contents and TTL.
For example: info k
)"},
    {"trace", R"(Each with the line that it is at.
For example: trace
)"},
    {"eval", R"(All results are shown. The code can call Redis. Assigning to a variable changes
only a copy.
For example: eval redis.call('GET', KEYS[1]), count + 1
)"},
    {"redis", R"(Words are split as a shell does. Works after the end of the script too, on the
state that it left.
For example: redis ZRANGE login:ann 0 -1
)"},
    {"maxlen", R"(At least 60; initially 256, or the value of --maxlen. Without an argument, shows
the current value.
For example: maxlen 0    show values in full
)"},
    {"abort", R"(If the script catches the error, it continues to its end.
For example: abort
)"},
    {"restart", R"(Reloads the script's file, so you can edit it in between. Breakpoints and
watches stay. The keys are as they were first copied; with --attach, as they are
in the server. If the file does not compile, nothing changes. To call the script
on the state that the last call left, use again.
For example: restart
)"},
    {"again", R"(Calls the same script with the same keys and arguments, and the same time if the
clock stands still: what does the second request do? restart begins on the
original state. With --attach, a fork keeps nothing, so both begin on the state
of the server.
For example: continue, then again
)"},
    {"help", R"(Takes the name or the letter of a command.
For example: help break
)"},
    {"quit", R"(exit and Ctrl-D do the same. A private server is removed. With --attach --sync,
a script that has not ended continues to its end.
For example: quit
)"},
};

}  // namespace

std::string_view explanation_of(std::string_view command) {
  const auto found = std::find_if(std::begin(kExplanations), std::end(kExplanations),
                                  [&](const auto& one) { return one.command == command; });
  return found == std::end(kExplanations) ? std::string_view() : found->text;
}

}  // namespace rlctl::cli
