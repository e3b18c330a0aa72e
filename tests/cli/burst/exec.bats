# needs: server
load ../../support/common

# `rlctl burst --exec`: the processes of programs, and many decisions. exec.t has the rest.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  program=$project/tests/support/odd_program.pl
  cp "$project/tests/limiters/fixed-window.pl" fixed.pl
  cp "$project/tests/limiters/figures.pl" log.pl
}

# Whether no process has this test's folder among its arguments.
nobody_is_left() { ! pgrep -f "odd_program.pl [a-z_]+ $BATS_TEST_TMPDIR" >/dev/null; }

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

# bats test_tags=night
@test "nothing is left of a program that forks, ignores SIGTERM or does not end" {
  local way
  for way in forks forks_with_output ignores_term hangs_at_end endless_error; do
    run -0 rlctl burst steady --requests 100 -q --exec "perl '$program' $way '$BATS_TEST_TMPDIR'"
    nobody_is_left || fail "$way: $(pgrep -af odd_program.pl)"
  done
  run -5 rlctl burst steady --requests 100 -q --exec "perl '$program' fails '$BATS_TEST_TMPDIR'"
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

@test "a fixed window in Perl is the same limiter as the model and the script" {
  local requests
  requests=$(scaled 3000 100000)
  run -0 rlctl burst poisson --exec 'perl fixed.pl' --compare fixed-window --requests "$requests" --keys 7 --limit 50/s
  assert_line --regexp '^differ +no: fixed.pl and fixed-window decide all '
  run -0 rlctl burst poisson --exec 'perl fixed.pl' --compare fixed-window --requests "$requests" --model \
    --keys 7 --cost 3 --limit 100/s
  run -0 rlctl burst poisson --exec 'perl log.pl' --compare sliding-window-log --requests "$requests" --keys 5 \
    --limit 50/s --model
}
