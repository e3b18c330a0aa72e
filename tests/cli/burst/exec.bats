# needs: server
load ../../support/common

# `rlctl burst --exec`: programs that answer well, and programs that misbehave. No test waits for an answer that
# never comes, except with a short --timeout.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  program=$project/tests/support/odd_program.pl
  cp "$project/tests/limiters/fixed-window.pl" fixed.pl
  cp "$project/tests/limiters/figures.pl" log.pl
}

# burst_odd WAY [OPTION…]: sends 100 requests to the program that misbehaves in this way.
burst_odd() {
  local way=$1
  shift
  run --separate-stderr rlctl burst steady --requests 100 --limit 1000/60s -q --exec "perl '$program' $way" "$@"
}

# fails_with STATUS WAY MESSAGE [OPTION…]
fails_with() {
  local expected=$1 way=$2 message=$3
  shift 3
  burst_odd "$way" "$@"
  assert_equal "$status $way: ${stderr%%$'\n'*}" "$expected $way: rlctl: burst: odd_program.pl $message"
}

# Whether no process has this test's folder among its arguments.
nobody_is_left() { ! pgrep -f "odd_program.pl [a-z_]+ $BATS_TEST_TMPDIR" >/dev/null; }

# --- answers -------------------------------------------------------------------------------------------

@test "answers that come late, in halves or after a slow start count" {
  local way
  for way in well late starts_late halves 'hello 1' 'hello 64' 'hello 4096' 'batches 32'; do
    # All but one of the batches are whole.
    run -0 rlctl burst steady --requests 97 -q --limit 1000/60s --exec "perl '$program' $way" \
      --assert 'allowed==97' --assert 'worst>0'
  done
}

# What is none, and how it is told, is in tests/exec/protocol_test.cc.
@test "what is no answer ends the run with status 5, and the message shows it" {
  fails_with 5 "first 'yes, \"sure\"'" "wrote 'yes, \"sure\"': it is not JSON: request 1, of key '1'"
  fails_with 5 'first {\"allowed\":true,\"id\":2}' "answered request 2 instead: request 1, of key '1'"
  assert_equal "${stderr#*$'\n'}" '  hint: the answers must be in the order of the requests'
  fails_with 5 swaps "answered request 3 instead: request 2, of key '1'"
  fails_with 5 megabyte "wrote a line of more than 65536 bytes: request 1, of key '1'"
}

# bats test_tags=night
@test "more answers than requests end the run, at the latest when the program ends" {
  fails_with 5 twice "wrote '1' without a request: after request 1"
  fails_with 5 megabyte_of_lines "wrote '1' without a request: after request 1"
  fails_with 5 once_more "wrote '1' without a request: after request 100"
  burst_odd unasked
  assert_equal "$status" 5
  assert_regex "$stderr" "wrote '1' without a request"
}

@test "a hello is the first line, with a pipeline of 1 to 4096" {
  fails_with 5 'hello 4097' "wrote '{\"hello\":{\"pipeline\":4097}}': \"pipeline\" must be a whole number from 1 to 4096, not 4097: request 1, of key '1'"
  burst_odd hello_late
  assert_equal "$status" 5
  assert_regex "$stderr" 'odd_program.pl wrote a "hello" after its first line: (after request 1|request 2, )'
  burst_odd hello_twice
  assert_equal "$status" 5
  assert_regex "$stderr" 'wrote a "hello" after its first line'
}

@test "no answer within --timeout is status 3" {
  local hint='  hint: use a longer --timeout, or flush its output after each line'
  fails_with 3 never "has not answered within 100ms: request 1, of key '1'" --timeout 100ms
  assert_equal "${stderr#*$'\n'}" "$hint"
  local way
  for way in stops_reading closes_input; do
    burst_odd "$way" --timeout 1s
    assert_equal "$way $status" "$way 3"
    assert_regex "$stderr" "odd_program.pl has not answered within 1(.000)?s"
  done
}

@test "the end of a program, or of its output, is status 5, and the message says how it ended" {
  local hint='  hint: a program reads requests until its standard input ends; see rlctl-exec(7)'
  fails_with 5 'exits 0' "ended with status 0: request 1, of key '1'"
  assert_equal "${stderr#*$'\n'}" "$hint"
  fails_with 5 'exits 7' "ended with status 7: request 1, of key '1'"
  fails_with 5 kills_itself "was killed by signal 9 (SIGKILL): request 2, of key '1'"
  fails_with 5 closes_output "closed its standard output: request 1, of key '1'"
  fails_with 5 no_newline "ended with status 0: request 2, of key '1'"
  fails_with 5 fails "ended with status 255: request 2, of key '1'; its standard error ends with: first line; last line"
}

@test "a program that cannot be run is status 2" {
  touch not-executable
  mkdir folder
  run -2 rlctl burst --exec ./none
  assert_line "rlctl: burst: none: cannot run './none': no such file or directory"
  run -2 rlctl burst --exec none-in-path
  assert_line "rlctl: burst: none-in-path: cannot run 'none-in-path': no such file or directory"
  run -2 rlctl burst --exec './not-executable x'
  assert_line "rlctl: burst: not-executable: cannot run './not-executable': permission denied"
  run -2 rlctl burst --exec ./folder
  assert_line "rlctl: burst: folder: cannot run './folder': permission denied"
}

# bats test_tags=night
@test "rlctl needs little memory, whatever a program writes to its standard error" {
  local megabytes kilobytes=()
  for megabytes in 1 100; do
    run -0 /usr/bin/python3 - rlctl burst steady --requests 10 -q --exec "perl '$program' much_error $megabytes" <<'PYTHON'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
PYTHON
    kilobytes+=("$output")
  done
  ((kilobytes[1] - kilobytes[0] < 20000)) || fail "${kilobytes[*]} kB"
  # One that never pauses does not hold up the answers.
  run_with_timeout -0 rlctl burst steady --requests 10 -q --exec "perl '$program' endless_error"
}

# --- the end -------------------------------------------------------------------------------------------

# bats test_tags=night
@test "nothing is left of a program that forks, ignores SIGTERM or does not end" {
  local way
  for way in forks forks_with_output ignores_term hangs_at_end endless_error; do
    burst_odd "$way '$BATS_TEST_TMPDIR'"
    assert_equal "$way $status" "$way 0"
    nobody_is_left || fail "$way: $(pgrep -af odd_program.pl)"
  done
  burst_odd "fails '$BATS_TEST_TMPDIR'"
  assert_equal "$status" 5
  nobody_is_left
}

# bats test_tags=night
@test "SIGKILL of rlctl ends the program, too" {
  run -0 ends_by KILL 'test -s requests' rlctl burst steady --requests 100 -q --timeout 120s \
    --exec "sh -c 'head -n 1 >requests; exec perl \"\$@\"' sh '$program' never '$BATS_TEST_TMPDIR'"
  assert_output 'signal 9'
  wait_until nobody_is_left
}

@test "a program runs without rlctl's standard input, output and error" {
  run -0 bash -c 'rlctl burst steady --requests 10 -q --exec "perl \"$1\" well" <&- >&- 2>&-' - "$program"
  echo 'for the program?' >input
  run -0 bash -c 'rlctl burst steady --requests 10 -q --exec "perl \"$1\" well" <input && cat' - "$program" <input
  assert_output 'for the program?'
}

# --- requests ------------------------------------------------------------------------------------------

@test "a reset comes before each schedule, and the numbers begin anew" {
  run -0 rlctl adversary --tries 200 --limit 1/60s -q --exec "sh -c 'tee requests | sed -u \"/reset/d; s/.*/1/\"'"
  run -0 gojq -s 'reduce .[] as $line ({id: 0, resets: 0, wrong: 0};
    if $line.reset then {id: 0, resets: (.resets + 1), wrong} else
    {id: $line.id, resets, wrong: (.wrong + if $line.id == .id + 1 then 0 else 1 end)} end)
    | .resets > 10, .wrong' -c requests
  assert_output $'true\n0'
}

# --- decisions -----------------------------------------------------------------------------------------

@test "a fixed window in Perl is the same limiter as the model and the script" {
  local requests
  requests=$(scaled 10000 100000)
  run -0 rlctl burst poisson --exec 'perl fixed.pl' --compare fixed-window --requests "$requests" --keys 7 --limit 50/s
  assert_line --regexp '^differ +no: fixed.pl and fixed-window decide all '
  run -0 rlctl burst poisson --exec 'perl fixed.pl' --compare fixed-window --requests "$requests" --model \
    --keys 7 --cost 3 --limit 100/s
  run -0 rlctl burst poisson --exec 'perl log.pl' --compare sliding-window-log --requests "$requests" --keys 5 \
    --limit 50/s --model
  run -1 rlctl burst --exec 'perl fixed.pl' --compare sliding-window-log --model --limit 100/60s
  assert_line --partial "differ     yes, first at request 101 (key '1'): fixed.pl allows it,"
}

@test "the adversary finds twice the limit of a fixed window in Perl, and the report repeats itself" {
  run -0 rlctl adversary --exec 'perl fixed.pl' --tries 5000
  assert_line 'fixed.pl  2.00× the limit: 10 within 10 s'
  assert_line --regexp '^program +fixed.pl +perl fixed.pl$'
  run -0 rlctl adversary --exec 'perl fixed.pl' --tries 5000 --json
  repeats
  run -0 rlctl adversary --exec 'perl fixed.pl' --tries 5000 --write worst.log -q
  run -0 rlctl burst --replay worst.log --exec 'perl fixed.pl' --limit 5/60s --json
  assert_equal "$(gojq '.runs[0].worst.ratio' <<<"$output")" 2
}

@test "a correct log in Perl never exceeds its limit, and tells no wrong retry_after" {
  run -0 rlctl adversary --exec 'perl log.pl' --limit 2/60s --tries 5000 --assert 'worst<=1' \
    --assert 'wrongly_denied==0' --assert 'most_stepping_back<=1'
  assert_line 'log.pl  never above the limit'
  run -0 rlctl adversary --exec 'perl log.pl' --limit 2/60s --exhaustive "$(scaled 4 5)" --assert 'worst<=1'
  assert_line --regexp '^proof +no schedule of up to [45] requests at critical times leaks'
  run -0 rlctl burst poisson --exec 'perl log.pl' --limit 20/s --keys 3 --assert 'retry_after_broken==0' \
    --assert 'remaining_too_many==0'
}

@test "what a program says remains is compared with what it has left" {
  cat >proud.py <<'PYTHON'
import sys
for line in sys.stdin:
    print('{"allowed":true,"remaining":7,"reset_after_us":1}', flush=True)
PYTHON
  run -0 rlctl burst steady --requests 3 --rate 1/s --limit 5/60s --exec 'python3 proud.py'
  assert_line --regexp '^remaining +proud.py +at most 5 too many, 0 too few$'
  assert_line --regexp '^reset +proud.py +at most '
}

# bats test_tags=night
@test "a limiter by chance is no finding, but an error" {
  cat >chance.py <<'PYTHON'
import random, sys
for line in sys.stdin:
    if "reset" not in line:
        print(random.randint(0, 1), flush=True)
PYTHON
  run --separate-stderr rlctl adversary --exec 'python3 chance.py' --tries 2000 -q
  assert_equal "$status" 2
  assert_regex "$stderr" 'gave different answers to the same schedule'
}

# bats test_tags=night
@test "a program that ignores resets is no finding, but an error" {
  sed 's/[$]count = 0; next/next/' "$project/tests/limiters/constant.pl" >forever.pl
  run --separate-stderr rlctl adversary --exec 'perl forever.pl 5' --tries 2000 -q
  assert_equal "$status" 2
  assert_regex "$stderr" 'gave different answers to the same schedule'
}

# --- names and options ---------------------------------------------------------------------------------

# bats test_tags=night
@test "programs, scripts and algorithms are compared in one report, each under a name of its own" {
  mkdir other
  cp log.pl other/fixed.pl
  echo "return redis.call('INCR', KEYS[1])" >count.lua
  run -0 rlctl burst --limit 100/60s --exec 'perl fixed.pl' --exec 'perl other/fixed.pl' --exec 'perl fixed.pl' \
    count.lua --keys '{key}:{window_index}' --allowed-when '<=limit' gcra --json
  assert_equal "$(gojq -c '[.runs[].algorithm]' <<<"$output")" \
    '["count.lua","perl fixed.pl","perl other/fixed.pl","gcra"]'
  assert_equal "$(gojq -c '[.runs[].worst.allowed]' <<<"$output")" '[200,200,100,100]'
}

@test "a program of the configuration runs in the configuration's folder, under its name" {
  mkdir configured
  mv fixed.pl configured/
  cat >configured/config.toml <<'TOML'
timeout = "120s"
[script.mine]
exec = "perl 'fixed.pl'"
[script.gone]
exec = "./none"
TOML
  local options=(--config configured/config.toml burst --limit 100/60s)
  run -0 rlctl "${options[@]}" mine --json
  assert_equal "$(gojq -c '.runs[] | [.algorithm, .worst.ratio]' <<<"$output")" '["mine",2]'
  run -0 rlctl "${options[@]}" mine --compare fixed-window -q
  run -2 rlctl "${options[@]}" gone
  assert_line "rlctl: burst: gone: cannot run './none': no such file or directory"
  run -2 rlctl "${options[@]}" mine --args x
  assert_line "rlctl: burst: --args is for a script in Lua, but 'mine' is a program"
  run -2 rlctl "${options[@]}" mine --allowed-when r
  assert_line "rlctl: burst: --allowed-when is for a script in Lua, but 'mine' is a program"
  run -2 rlctl --config configured/config.toml debug mine
  assert_line --partial "'mine' is a program"
}
