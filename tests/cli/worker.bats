# needs: server
load ../support/common

# The process in which a command runs scripts: its parent bounds its memory and its time, and ends it at a signal,
# whatever function of Lua's libraries or of Redis's commands the script is in.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  mkdir tmp
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  unset RLCTL_URL
  cat >sort.lua <<'LUA'
-- Three elements of which table.sort() takes the middle one, so that it needs n² comparisons.
local values, positions, at = {}, {}, 400000
for i = 1, at do values[i], positions[i] = 0, i end
for low = 1, at - 1, 2 do
  local middle = math.floor((low + at) / 2)
  values[positions[low]], values[positions[middle]] = low, low + 1
  positions[middle], positions[low + 1] = positions[low + 1], positions[middle]
end
table.sort(values)
return 1
LUA
  printf 'local n = 0\nfor i = 1, 1e9 do n = n + #string.rep("", 2^31 - 1) end\nreturn n\n' >rep.lua
  printf 'local text = ("x"):rep(16000)\nfor i = 1, 1e5 do text:find("x*y") end\nreturn 1\n' >find.lua
  printf 'local text = ("c"):rep(17000)\nreturn text:find("[" .. ("a"):rep(9900) .. "c]*d") or 1\n' >set.lua
  printf 'return xpcall(error, function() while true do pcall(error) end end)\n' >handler.lua
  printf 'local t = {}\nfor i = 1, 2e6 do t[i] = i end\nfor i = 1, 1e5 do table.maxn(t) end\nreturn 1\n' >maxn.lua
  printf 'local s = ("x"):rep(2e7)\nfor i = 1, 1e5 do redis.sha1hex(s) end\nreturn 1\n' >sha1.lua
  printf 'redis.call("SETBIT", "k", 8e8, 1)\nfor i = 1, 1e5 do redis.call("BITCOUNT", "k") end\nreturn 1\n' >bitcount.lua
  printf 'for i = 1, 1e5 do table.insert({}, -2^31, 1) end\nreturn 1\n' >insert.lua
  printf 'redis.call("SETRANGE", "a", 6e7, "x")\nlocal k = {}\nfor i = 1, 7000 do k[i] = "a" end\nreturn #redis.call("MGET", unpack(k))\n' >mget.lua
  printf 'redis.call("HSET", "h", "f", ("x"):rep(2e6))\nlocal f = {}\nfor i = 1, 7000 do f[i] = "f" end\nreturn #redis.call("HMGET", "h", unpack(f))\n' >hmget.lua
  printf 'local s, t = ("x"):rep(1e6), {}\nfor i = 1, 2000 do t[i] = s end\nreturn t\n' >reply.lua
  printf 'local t = {}\nfor i = 1, 1e4 do t[i] = i .. ("\\1"):rep(1e6) end\nreturn cjson.encode(t)\n' >copies.lua
  printf 'local s, t = ("\\1"):rep(1e6), {}\nfor i = 1, 1e4 do t[i] = s end\nreturn cjson.encode(t)\n' >encode.lua
}

# Sanitizers make programs slow, take terabytes, and so change both bounds.
needs_bounds() { if [[ $RLCTL_BUILD == *sanitize* || $RLCTL_BUILD == *thread* ]]; then skip 'with sanitizers, the bounds are others'; fi; }

# ends_late STATUS SCRIPT COMMAND…: which names the request, and a line, unless it is of the reply.
ends_late() {
  run -"$1" rlctl "${@:3}"
  assert_line --regexp "^rlctl: $3: $2 did not end within 5 s of processor time; request 1 had KEYS .* and ARGV .*; it was last seen at line [0-9]+$"
  assert_equal "$(ls tmp)" ''
}

@test "a function that runs for too long ends every command, which names the request and the line" {
  needs_bounds
  ends_late 3 sort.lua lint sort.lua
  ends_late 5 find.lua adversary find.lua -q --args '{now_ms}'
}

# bats test_tags=night
@test "a function that runs for too long ends lint, whatever function it is" {
  needs_bounds
  local script
  for script in rep find set maxn sha1 bitcount insert handler; do ends_late 3 $script.lua lint $script.lua; done
}

@test "a script that needs too much memory ends every command, in Lua, in a command, and in a reply" {
  needs_bounds
  local ran
  for ran in 'lint mget.lua' 'burst hmget.lua -q' 'adversary reply.lua -q' 'debug encode.lua k --trace -q' 'lint encode.lua'; do
    read -ra words <<<"$ran"
    run --separate-stderr -"$([[ $ran == lint* ]] && echo 3 || echo 5)" env RLCTL_URL=private: rlctl "${words[@]}"
    # shellcheck disable=SC2154 # set by run
    [[ $(tail -n 1 <<<"$stderr") =~ ^"rlctl: ${words[0]}: ${words[1]} needs more than 600 MiB of memory; request 1 had KEYS" ]] ||
      fail "$ran: $stderr"
  done
  run -3 rlctl lint copies.lua
  assert_line --partial 'it needs more than the 64 MiB of memory that rlctl gives it'
}

@test "with --json, a script that is ended leaves one error object and nothing else" {
  needs_bounds
  run --separate-stderr -3 rlctl lint mget.lua --json
  assert_output ''
  assert_equal "$(jq -c '[.error.code, (.error.message | test("line 4$"))]' <<<"$stderr")" '["memory",true]'
  run --separate-stderr -5 rlctl burst find.lua --args '{now_ms}' --json -o page.html -o report.json
  assert_output ''
  assert_equal "$(jq -c .error.code <<<"$stderr")" '"timeout"'
  assert_equal "$(ls -d page* report* tmp/* 2>/dev/null)" ''
}

@test "a function that runs for too long ends a trace, and what was printed stays" {
  needs_bounds
  RLCTL_URL=private: ends_late 5 set.lua debug set.lua k --trace
  assert_line --partial 'local text = ("c"):rep(17000)'
}

@test "debug ends an evaluation after five seconds, and the session goes on; a function that does not return ends it" {
  needs_bounds
  run -2 rlctl -u private: debug rep.lua k -q --commands - <<'COMMANDS'
eval for i = 1, 1e6 do (('x'):rep(4000)):find('x*y') end
p 6 * 7
COMMANDS
  assert_line --partial 'it ran for more than 5 s of processor time'
  assert_line '= 42'
  run -5 rlctl -u private: debug rep.lua k -q --commands - <<'COMMANDS'
eval string.find(("a"):rep(60), ("a?"):rep(60) .. ("a"):rep(60))
p 6 * 7
COMMANDS
  assert_line --regexp '^rlctl: debug: an expression did not end within 5 s of processor time; request 1 had'
  refute_line '= 42'
}

# bats test_tags=night
@test "lint ends after 60 seconds of requests that are each short, and names what it has not tested" {
  needs_bounds
  cat >slow.lua <<'LUA'
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
local t = {}
for i = 1, 90000 do t[i] = i * 7919 % 90011 end
table.sort(t)
return n <= tonumber(ARGV[2]) and 1 or 0
LUA
  run -3 rlctl lint slow.lua --args '{window_ms} {limit}'
  assert_line --partial 'the 60 s of processor time that lint has were used up'
}

@test "a search whose states are large keeps fewer of them" {
  needs_bounds
  printf 'redis.call("SETBIT", KEYS[1], 4e8, 1)\nreturn redis.call("APPEND", KEYS[1], "x") %% 3\n' >large.lua
  run -0 bash -c 'ulimit -v 1000000; rlctl adversary --limit 1/60s --exhaustive 2 -q large.lua'
}

@test "what a program under test starts with has none of the bounds" {
  cat >limits.pl <<'PERL'
open my $in, '<', '/proc/self/limits' or die;
open my $out, '>', 'limits' or die;
print {$out} readline $in;
close $out;
$| = 1;
while (<STDIN>) { print qq({"allowed":true}\n) }
PERL
  run rlctl burst steady --requests 2 -q --exec 'perl limits.pl'
  assert_equal "$(grep '^Max address space' limits)" "$(grep '^Max address space' /proc/self/limits)"
}

@test "the worker ends with its parent, and the parent reports a worker that is killed" {
  local parent worker status=0
  rlctl adversary gcra --model --tries 1000000000 -q 2>errors 3>&- 4>&- &
  parent=$!
  wait_until eval 'worker=$(pgrep -P "$parent")'
  kill -SEGV "$worker"
  wait "$parent" || status=$?
  assert_equal "$status" 5
  run -0 cat errors
  assert_output --partial 'was killed by signal 11 (SIGSEGV)'
  rlctl adversary gcra --model --tries 1000000000 -q 3>&- 4>&- &
  parent=$!
  wait_until eval 'worker=$(pgrep -P "$parent")'
  kill -KILL "$parent"
  wait "$parent" || status=$?
  assert_equal "$status" 137
  wait_until is_gone "$worker"
}

@test "SIGTSTP stops both processes, and SIGCONT continues both" {
  local parent worker status=0
  rlctl adversary gcra --model --tries 1000000000 -q 3>&- 4>&- &
  parent=$!
  wait_until eval 'worker=$(pgrep -P "$parent")'
  states() { sed 's/.*) \(.\).*/\1/' "/proc/$parent/stat" "/proc/$worker/stat" | tr -d '\n'; }
  kill -TSTP "$parent"
  wait_until eval '[[ $(states) == TT ]]'
  kill -CONT "$parent"
  wait_until eval '[[ $(states) == [RS][RS] ]]'
  kill -TERM "$parent"
  wait "$parent" || status=$?
  assert_equal "$status" 143
}

# A few of the kinds at each run; at night, a thousand runs.
@test "SIGINT, SIGTERM and SIGHUP at a random time end every command by the signal, with nothing left" {
  perl -e '
    use Time::HiRes qw(sleep time);
    $SIG{$_} = "DEFAULT" for qw(INT TERM HUP);
    my ($rounds, $seed) = @ARGV;
    srand $seed;
    my @kinds = (
      (map { my $script = $_; map { [@$_, "$script.lua"] } [qw(lint)], [qw(burst -q -o x.svg)],
        [qw(adversary -q)] } qw(sort rep find set maxn)),
      (map { [qw(-u private: debug --trace -q), "$_.lua", "k"] } qw(sort find)),
      [qw(adversary gcra --tries 1000000000 -q)], [qw(burst steady --rate 1000000/s --duration 1000s --model -q gcra)]);
    my @signals = ([INT => 2], [TERM => 15], [HUP => 1]);
    for my $round (1 .. $rounds) {
      my ($kind, $signal) = ($kinds[rand @kinds], $signals[rand @signals]);
      my $what = "seed $seed, round $round: $signal->[0]: @$kind";
      my $pid = fork // die;
      if (!$pid) { open STDERR, ">", "errors"; open STDOUT, ">", "output"; exec "rlctl", @$kind; die }
      sleep rand 0.7;
      kill $signal->[0], $pid;
      my $begun = time;
      alarm 60;
      waitpid $pid, 0;
      # Before it handles signals, a process is ended by them, too.
      die "$what: status $?\n" if $? != $signal->[1];
      my @left = grep { !m{/(errors|output)$} && !/\.lua$/ } glob "tmp/* x.*";
      die "$what: left: @left\n" if @left;
    }
    print "$rounds rounds\n"' "$(scaled 25 1000)" "${RLCTL_TEST_SEED:-1}" >rounds
  assert_equal "$(<rounds)" "$(scaled 25 1000) rounds"
}
