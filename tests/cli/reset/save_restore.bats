# needs: server
load ../../support/common

# reset --save FILE, and reset --restore FILE, which undoes it; save_restore.t has what needs no process.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

fill() { printf '%s\n' "$@" | rlctl check -q --batch --limit 5/1d; }

@test "the printed command names the server, without a password, and can be run" {
  cli ACL SETUSER other on '>se cret' '~*' +@all >/dev/null
  fill k
  local undo
  run -0 --separate-stderr env -u RLCTL_URL rlctl --url "unix://other:se%20cret@$socket" --timeout 120s reset k \
    --save "a 'b"
  undo=${stderr#*; to undo: }
  assert_equal "$undo" "rlctl --url unix://$socket --user other reset --restore '$PWD/a '\\''b'"
  REDISCLI_AUTH='se cret' run -0 env -u RLCTL_URL bash -c "cd / && $undo"
  assert_line 'restored key=k algorithm=sliding-window-log'
  cli ACL DELUSER other >/dev/null
}

# damaged WHAT LINE: a file whose second line is replaced by LINE is refused for WHAT.
damaged() {
  sed "2c\\$2" s >t
  fails 2 "reset: --restore: 't', line 2 $1" rlctl reset --restore t
}

@test "a damaged file is refused with the line, and nothing is restored" {
  fill a b
  rlctl reset -q a b --save s
  local line
  line=$(sed -n 2p s)
  damaged 'is not a JSON object' 'xyz'
  damaged 'is not a JSON object' '[]'
  damaged "has no field 'key'" '{}'
  damaged "has no field 'type'" '{"key":"a"}'
  damaged "'dump_base64' is not base64" "${line/\"dump_base64\":\"/\"dump_base64\":\"!}"
  damaged "'expires_at_ms' is not a time" "${line/\"expires_at_ms\":/\"expires_at_ms\":-}"
  damaged "'dump_base64' is empty" "${line/\"dump_base64\":\"*\",\"saved/\"dump_base64\":\"\",\"saved}"
  damaged 'is nested too deeply: 100 levels are the most' "$(perl -e 'print "[" x 9000, "]" x 9000')"
  sed '1s/"version":1/"version":2/' s >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'has a format that this version of rlctl does not know'
  assert_equal "$(cli DBSIZE)" 0
}

@test "an incomplete last line, of a run that was killed, is not restored, with a warning" {
  fill a b
  rlctl reset -q a b --save s
  head -c -20 s >t
  run -0 --separate-stderr rlctl reset --restore t
  assert_output 'restored key=a algorithm=sliding-window-log'
  assert_equal "${stderr_lines[0]}" "rlctl: reset: warning: the last line of 't' is incomplete; if its writing was \
stopped there, its key was not removed"
  # Without only its line end, it is complete. Lines may be picked from the file.
  { head -1 s; gojq -c 'select(.key == "b")' s; } | head -c -1 >t
  run -0 --separate-stderr rlctl reset --restore t
  assert_output 'restored key=b algorithm=sliding-window-log'
}

@test "if the disk is full, what was removed before is in the file, which is for its owner only" {
  umask 000
  printf 'SET k%s x\n' {1..300} | cli >/dev/null
  # Keys are saved a hundred at a time; of the third hundred, this one does not fit.
  cli SET k250 "$(head -c 40000 /dev/urandom | base64 -w0)" >/dev/null
  run -2 --separate-stderr bash -c 'ulimit -f 64; exec rlctl reset -q --force --save s "$@"' - k{1..300}
  assert_equal "${stderr_lines[-1]}" \
    "rlctl: reset: --save: cannot write 's': file too large; 200 keys had already been removed"
  assert_equal "$(cli DBSIZE) $(stat -c %a s)" '100 600'
  run -0 rlctl reset -q --restore s
  assert_equal "$(cli DBSIZE)" 300
}

# --- stopped in the middle --------------------------------------------------------------------------

# killed CALLS OPTION…: a reset that is killed while it waits for a reply, after so many calls of scripts.
killed() {
  local server=$socket
  cli CONFIG RESETSTAT >/dev/null
  start_perl_server '
    my ($server, $calls) = @ARGV;
    relay($server, sub {
      if (`redis-cli -s $server INFO commandstats` =~ /evalsha:calls=(\d+)/ && $1 > $calls) {
        open my $mark, ">", "held";
        select undef, undef, undef, 0.02 while -e "held";
      }
      1 })' "$server" "$1"
  run -0 ends_by KILL 'test -e held' rlctl reset -q "${@:2}"
  assert_output 'signal 9'
  rm held
  export socket=$server RLCTL_URL=unix://$server
}

@test "a reset that is killed loses nothing, and a restore that is killed goes on" {
  printf 'SET k%s x\n' {1..1000} | cli >/dev/null
  killed 1200 --match '*' --force --yes --save s
  run rlctl reset -q --restore s
  assert_equal "$(cli DBSIZE)" 1000

  rm -f s
  rlctl reset -q --match '*' --force --yes --save s
  killed 200 --restore s
  run -0 rlctl reset -q --restore s
  assert_equal "$(cli DBSIZE)" 1000
}
