# needs: server
load ../../support/common

# reset --save FILE, and reset --restore FILE, which undoes it; save_restore.t has what needs no process.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

ask() { printf '%s\n' "$@" | rlctl check -q --batch --limit 5/1d; }

# Keys of every algorithm, of one limit and of several, of leases, and of other programs; one key is binary.
fill() {
  local algorithm
  for algorithm in fixed-window sliding-window-{log,zset,counter} token-bucket gcra leaky-bucket; do
    # Long windows, so that no fixed window ends during the test.
    rlctl check -q --limit 5/30d --algorithm "$algorithm" "k:$algorithm"
    rlctl check -q --limit 5/30d --limit 9/60d --algorithm "$algorithm" "many:$algorithm"
  done
  cli --eval "$project/lua/budget.lua" k:budget , 5 2592000000000 '' 3 '' reserve $'a\n' 86400000000 >/dev/null
  cli --eval "$project/lua/concurrency.lua" k:leases , 5 86400000000 acquire web1:10:a >/dev/null
  cli >/dev/null <<'END'
ZADD {k:leases}:leases 1 x
SET "k\x00\xff\n" "v\x00\xfe"
SADD set a b c
HSET hash f v g w
RPUSH list 1 2 3
SET lasting x
SET number 17 PX 600000
XADD stream 1-1 f v
END
}

# hold: the keys, their dumps, and when they expire, in ms; for sets their elements, whose order may change.
hold() {
  cli EVAL "local out = {}
    local keys = redis.call('KEYS', '*')
    table.sort(keys)
    for _, key in ipairs(keys) do
      local time, ttl = redis.call('TIME'), redis.call('PTTL', key)
      local at = ttl >= 0 and time[1] * 1000 + math.floor(time[2] / 1000) + ttl or 0
      local is_set = redis.call('TYPE', key).ok == 'set'
      local dump = is_set and table.concat(redis.call('SORT', key, 'ALPHA')) or redis.call('DUMP', key)
      out[#out + 1] = redis.sha1hex(key) .. ' ' .. redis.sha1hex(dump) ..
        string.format(' %.0f', at)
    end
    return out" 0
}

# same BEFORE AFTER: the same, where times may differ by a millisecond, as TIME and PTTL do before Redis 7.2.
same() {
  paste -d ' ' <(echo "$1") <(echo "$2") | awk '
    $1 != $4 || $2 != $5 || $3 - $6 > 1 || $6 - $3 > 1 { print; bad = 1 } END { exit bad }'
}

@test "whatever is removed comes back byte for byte, with its TTL" {
  fill
  local before
  before=$(hold)
  run -0 --separate-stderr rlctl reset --match '*' --yes --force --save removed.jsonl
  assert_equal "$(cli DBSIZE)" 0
  assert_line 'removed key=k:gcra algorithm=gcra'
  assert_equal "${stderr_lines[1]}" "saved in removed.jsonl; to undo: rlctl --url unix://$socket reset --restore $PWD/removed.jsonl"
  assert_equal "$(stat -c %a removed.jsonl)" 600

  run -0 --separate-stderr rlctl reset --restore removed.jsonl
  assert_line 'restored key=k:gcra algorithm=gcra'
  assert_line 'restored key=stream type=stream'
  assert_equal "$stderr" 'restored 31 keys'
  run -0 same "$before" "$(hold)"
}

@test "the printed command names the server, without a password, and can be run" {
  cli ACL SETUSER other on '>se cret' '~*' +@all >/dev/null
  ask k
  local undo
  run -0 --separate-stderr env -u RLCTL_URL rlctl --url "unix://other:se%20cret@$socket" --timeout 120s reset k \
    --save "a 'b"
  undo=${stderr#*; to undo: }
  assert_equal "$undo" "rlctl --url unix://$socket --user other reset --restore '$PWD/a '\\''b'"
  REDISCLI_AUTH='se cret' run -0 env -u RLCTL_URL bash -c "cd / && $undo"
  assert_line 'restored key=k algorithm=sliding-window-log'
  cli ACL DELUSER other >/dev/null
}

@test "if the disk is full, nothing is removed that is not in the file" {
  # More than are saved at a time, so that some are removed before the disk is full.
  printf 'SET k%s x\n' {1..300} | cli >/dev/null
  cli SET k250 "$(head -c 40000 /dev/urandom | base64 -w0)" >/dev/null
  run -2 --separate-stderr bash -c 'ulimit -f 64; exec rlctl reset --force --save s "$@"' - k{1..300}
  assert_line --index 0 'removed key=k1 type=string'
  assert_equal "${stderr_lines[0]}" "saved in s; to undo: rlctl --url unix://$socket reset --restore $PWD/s"
  assert_equal "${stderr_lines[1]}" \
    "rlctl: reset: --save: cannot write 's': file too large; 200 keys had already been removed"
  assert_equal "$(cli DBSIZE)" 100
  run -0 rlctl reset --restore s
  assert_equal "$(cli DBSIZE)" 300
  # Of a first batch that does not fit, nothing is left.
  run -2 bash -c 'ulimit -f 1; exec rlctl reset --force k250 --save t'
  assert_output "rlctl: reset: --save: cannot write 't': file too large"
  [[ ! -e t ]]
  assert_equal "$(cli EXISTS k250)" 1
}

# damaged WHAT LINE: a file whose second line is replaced by LINE is refused for WHAT.
damaged() {
  sed "2c\\$2" s >t
  run -2 --separate-stderr rlctl reset --restore t
  assert_equal "${stderr_lines[0]}" "rlctl: reset: --restore: 't', line 2 $1"
  assert_equal "$(cli DBSIZE)" 0
}

@test "a damaged file is refused with the line, and nothing is restored" {
  ask a b
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
  tail -n +2 s >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'does not begin like a file'
  sed '1s/"version":1/"version":2/' s >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'has a format that this version of rlctl does not know'
}

@test "an incomplete last line, of a run that was killed, is not restored, with a warning" {
  ask a b
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

@test "keys go to servers of other versions, or are left there, and come back" {
  needs_other_servers
  local first=$socket other before
  fill
  before=$(hold)
  for other in "$RLCTL_TEST_OTHER_SERVERS"/*; do
    rlctl reset -q --match '*' --yes --force --save there
    RLCTL_REDIS_SERVER=$other start_server
    run rlctl reset --restore there
    assert_regex "$status" '^(0|5)$'
    assert_equal "$(grep -cE '^(restored key=.*|left key=.* reason=dump-format)$' <<<"$output")" 31
    export socket=$first RLCTL_URL=unix://$first
    run -0 rlctl reset --restore there
    run -0 same "$before" "$(hold)"
    rm there
  done
}

# --- stopped in the middle --------------------------------------------------------------------------

@test "a reset that is killed loses nothing, and a restore that is killed goes on" {
  local before
  printf 'SET k%s x\n' {1..1000} | cli >/dev/null
  before=$(hold)
  ends_by KILL '(($(calls evalsha) > 200))' rlctl reset --match '*' --force --yes --save s
  run rlctl reset -q --restore s
  run -0 same "$before" "$(hold)"

  rm -f s
  rlctl reset -q --match '*' --force --yes --save s
  cli CONFIG RESETSTAT >/dev/null
  ends_by KILL '(($(calls evalsha) > 200))' rlctl reset --restore s
  run -0 rlctl reset -q --restore s
  run -0 same "$before" "$(hold)"
}

@test "Ctrl-C says how many keys are back" {
  ask a
  rlctl reset -q a --save s
  # Answers all but the restoring call.
  start_perl_server '
    my $client = $listener->accept;
    my $input = "";
    while (sysread $client, $input, 65536, length $input) {
      if ($input =~ s/^.*SCRIPT.*?LOAD.*//s) { syswrite $client, "\$1\r\nx\r\n" }
      if ($input =~ /EVALSHA/) { open my $seen, ">", "$path.seen" }
    }'
  run -0 ends_by INT "[[ -e $socket.seen ]]" bash -c 'exec rlctl reset --restore s 2>stopped'
  assert_output 'signal 2'
  assert_equal "$(<stopped)" 'rlctl: reset: interrupted; no key had been restored; run it again to continue'
}

@test "on a terminal, the question comes before anything is saved" {
  needs_terminal
  ask a
  run -1 at_terminal 'wait_until grep -q "y/N" "$screen"; printf "n\n"' "rlctl reset --match '*' --save $PWD/s"
  [[ ! -e s ]]
  run -0 at_terminal 'wait_until grep -q "y/N" "$screen"; printf "y\n"' "rlctl reset --match '*' --save $PWD/s"
  assert_equal "$(cli DBSIZE)" 0
  run -0 rlctl reset --restore s
}
