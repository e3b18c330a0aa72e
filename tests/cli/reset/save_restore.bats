# needs: server
load ../../support/common

# reset --save FILE, and reset --restore FILE, which undoes it.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cd "$BATS_TEST_TMPDIR" || return
}

ask() { rlctl check -q --limit 5/1d "${@:2}" -- "$1"; }

# Keys of every algorithm, of one limit and of several, of leases, and of other programs; one key is binary.
fill() {
  local algorithm
  for algorithm in fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra \
    leaky-bucket; do
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

# of_a_later_server: the lines of a file, whose dumps get the version of a server to come.
of_a_later_server() {
  perl -MMIME::Base64 -pe 's/("dump_base64":")([^"]*)/my $d = decode_base64($2); substr($d, -10, 2) = "\xff\xff";
    $1 . encode_base64($d, "")/e' "$1"
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

  run -0 --separate-stderr rlctl reset --restore removed.jsonl --dry-run
  assert_line 'would-restore key=k:gcra algorithm=gcra'
  assert_equal "$stderr" 'would restore 31 keys'
  assert_equal "$(cli DBSIZE)" 0

  run -0 --separate-stderr rlctl reset --restore removed.jsonl
  assert_line 'restored key=k:gcra algorithm=gcra'
  assert_line 'restored key=stream type=stream'
  assert_equal "$stderr" 'restored 31 keys'
  run -0 same "$before" "$(hold)"
}

@test "KEYs with several limits are saved, and the limiter goes on where it was" {
  ask api --limit 100/1h
  run -0 --separate-stderr rlctl reset api --save s
  assert_equal "${stderr_lines[0]}" 'removed 2 keys (2 sliding-window-log)'
  assert_equal "${stderr_lines[2]}" "saved in s; to undo: rlctl --url unix://$socket reset --restore $PWD/s"
  rlctl reset -q --restore s
  run -0 rlctl check api --limit 5/1d --limit 100/1h --peek
  assert_output --partial 'remaining=4 '
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
  # The server of the environment, and of a file that only this command names.
  ask k
  run -0 --separate-stderr rlctl reset k --limit 5/1d --save s
  assert_equal "$stderr" "saved in s; to undo: rlctl --url unix://$socket reset --restore $PWD/s"
  printf 'url = "unix://%s"\n' "$socket" >named.toml
  ask k
  rm s
  run -0 --separate-stderr env -u RLCTL_URL rlctl --config named.toml reset k --limit 5/1d --save s
  assert_equal "$stderr" "saved in s; to undo: rlctl --config $PWD/named.toml reset --restore $PWD/s"
  run -0 env -u RLCTL_URL bash -c "${stderr#*; to undo: }"
}

@test "--json has the fields of reset" {
  ask k
  run -0 --separate-stderr rlctl reset k --limit 5/1d --save s --json
  assert_output '{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}'
  assert_equal "$stderr" ''
  run -0 rlctl reset --restore s --json --dry-run
  assert_output '{"key":"k","result":"would_restore","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}'
  run -0 --separate-stderr rlctl reset --restore s --json
  assert_output '{"key":"k","result":"restored","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}'
  run -0 rlctl reset --restore s --json
  assert_output '{"key":"k","result":"left","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":"identical","part_of":null}'
}

# --- keys that exist or have expired ----------------------------------------------------------------

@test "what is already back is no error; what has changed is left, unless --replace is given" {
  ask a
  ask b
  rlctl reset -q a b --save s
  cli SET b 1 >/dev/null
  run -5 --separate-stderr rlctl reset --restore s
  assert_output 'restored key=a algorithm=sliding-window-log
left key=b type=list algorithm=sliding-window-log reason=exists'
  assert_equal "$stderr" "restored 1 key; 1 left, with another dump or TTL
rlctl: reset: 1 key was left: 'b'
  hint: such a key exists with another dump or TTL; --replace replaces it"
  assert_equal "$(cli GET b)" 1
  run -0 --separate-stderr rlctl reset --restore s --replace
  assert_output 'restored key=a algorithm=sliding-window-log
restored key=b algorithm=sliding-window-log'
  run -0 --separate-stderr rlctl reset --restore s
  assert_output 'left key=a type=list algorithm=sliding-window-log reason=identical
left key=b type=list algorithm=sliding-window-log reason=identical'
  assert_equal "$stderr" 'restored no key; 2 already back'
}

@test "a key with the same contents and another TTL is not back" {
  ask log
  cli SET never x >/dev/null
  cli HSET hash f v g w >/dev/null
  local before
  before=$(hold)
  rlctl reset -q --force log never hash --save s
  rlctl reset -q --restore s
  cli PERSIST log >/dev/null
  cli PEXPIRE never 600000 >/dev/null
  cli CONFIG RESETSTAT >/dev/null
  run -5 --separate-stderr rlctl reset --restore s
  assert_output 'left key=log type=list algorithm=sliding-window-log reason=exists
left key=never type=string reason=exists
left key=hash type=hash reason=identical'
  run -0 rlctl reset -q --restore s --replace
  run -0 same "$before" "$(hold)"
}

@test "a key whose TTL has run out meanwhile stays away" {
  cli SET brief 1 PX 50 >/dev/null
  ask k
  run rlctl reset --force brief k --save s
  # Whether or not it was still there: the line of one that was.
  grep -v '"key":"brief"' s >v
  { cat v; sed -n '2{s/"key":"k"/"key":"brief"/; s/"expires_at_ms":[0-9]*/"expires_at_ms":1795161313697/; p}' v; } >t
  run -0 --separate-stderr rlctl reset --restore t
  assert_output 'restored key=k algorithm=sliding-window-log
left key=brief type=list algorithm=sliding-window-log reason=expired'
  assert_equal "$stderr" 'restored 1 key; 1 expired meanwhile'
  { head -1 t; tail -1 t; } >u
  run -1 rlctl reset --restore u
  assert_equal "$(cli EXISTS brief)" 0
}

@test "if the server refuses the removal, nothing is left in the file" {
  ask k
  cli ACL SETUSER other reset on nopass '~*' +@all -unlink >/dev/null
  run -4 --separate-stderr rlctl reset k --user other --save s
  assert_equal "${#stderr_lines[@]}" 2
  [[ ! -e s ]]
  cli ACL DELUSER other >/dev/null
  cli SET text x >/dev/null
  rlctl reset -q k --save s
  cli REPLICAOF 127.0.0.1 1 >/dev/null
  run -5 rlctl reset --restore s
  assert_line --index 0 --partial READONLY
  run -0 rlctl reset --restore s --dry-run
  run -5 rlctl reset --force text --save t
  [[ ! -e t ]]
  cli REPLICAOF NO ONE >/dev/null
}

# --- large keys -------------------------------------------------------------------------------------

@test "a key that is too large to be restored is not removed" {
  ask k
  cli CONFIG SET rdbcompression no >/dev/null
  cli SETRANGE big $((64 << 20)) x >/dev/null
  run -5 --separate-stderr rlctl reset --force --limit 5/1d big k --save s
  assert_output 'left key=big type=string reason=too-large
removed key=k algorithm=sliding-window-log'
  assert_equal "${stderr_lines[1]}" "rlctl: reset: left 'big': its dump is larger than 64 MiB, and cannot be saved"
  assert_equal "${stderr_lines[2]}" '  hint: without --save, rlctl reset removes it for good'
  run -5 --separate-stderr rlctl reset --force --match '*' --yes --save t
  assert_output 'left key=big type=string reason=too-large'
  assert_equal "$stderr" 'removed no key; left 1 too large to be saved'
  [[ ! -e t ]]
  run -0 rlctl reset --restore s
  run -0 rlctl reset --force big
  cli CONFIG SET rdbcompression yes >/dev/null
}

@test "a hash that is being rehashed is removed" {
  cli EVAL "for i = 1, 131081 do redis.call('HSET', 'hash', i, '') end
    redis.call('HSET', 'hash', 'tokens', '5')" 0 >/dev/null
  run -0 rlctl reset --force hash --save s
  assert_output --partial 'removed key=hash'
  run -0 rlctl reset --restore s
  assert_equal "$(cli HLEN hash)" 131082
}

# --- permissions ------------------------------------------------------------------------------------

# listed N: the permissions in block N of ACCESS RULES in rlctl-reset(1), on one line.
listed() {
  awk -v wanted="$1" '/^# ACCESS RULES/ { inside = 1 }
    inside && /^```/ { shown = !shown; blocks += shown; next }
    inside && shown && blocks == wanted' "$project/man/rlctl-reset.1.scd" | xargs
}

@test "the ACL permissions listed in rlctl-reset(1) are sufficient to save and restore" {
  fill
  cli SCRIPT FLUSH >/dev/null
  # shellcheck disable=SC2046 # one word for each permission
  cli ACL SETUSER other reset on nopass '~*' $(listed 1) $(listed 2) +scan >/dev/null
  run -0 rlctl reset --user other --match '*' --yes --force --save s
  assert_equal "$(cli DBSIZE)" 0
  # shellcheck disable=SC2046
  cli ACL SETUSER other reset on nopass '~*' $(listed 3) >/dev/null
  run -0 rlctl reset --user other --restore s
  run -0 rlctl reset --user other --restore s --replace
  cli ACL DELUSER other >/dev/null
}

@test "if save.lua may not call a command, all that the command line needs are named" {
  cli RPUSH list 1 >/dev/null
  cli SCRIPT FLUSH >/dev/null
  cli ACL SETUSER other reset on nopass '~*' +@all -dump >/dev/null
  run -4 --separate-stderr rlctl reset --user other --force list --save s
  assert_regex "${stderr_lines[1]}" "^  hint: grant what reset needs, .*: ACL SETUSER other .* \+dump$"
  [[ ! -e s ]]
  cli ACL DELUSER other >/dev/null
}

# --- the file ---------------------------------------------------------------------------------------

@test "a file that exists is never overwritten, and nothing is removed" {
  ask k
  echo precious >s
  run -2 --separate-stderr rlctl reset k --save s
  assert_equal "$stderr" "rlctl: reset: --save: 's' exists, and is never overwritten
  hint: choose another name"
  assert_equal "$(<s)" precious
  ln -s nowhere link
  run -2 rlctl reset k --save link
  run -2 rlctl reset k --save /dev/full
  assert_equal "$(cli EXISTS k)" 1
}

@test "there is no file if nothing was removed" {
  cli HSET hash f v >/dev/null
  ask k
  local expected words
  while read -r expected words; do
    # shellcheck disable=SC2086 # split into words
    run "-$expected" rlctl reset --save s $words </dev/null
    [[ ! -e s ]]
  done <<'END'
0 nothing
1 --must-exist nothing
0 --match nothing:* --yes
5 hash
0 k --dry-run
2 --match k
END
  assert_equal "$(cli EXISTS k)" 1
}

@test "if the disk is full, nothing is removed that is not in the file" {
  local key keys=()
  # More than are saved at a time, so that some are removed before the disk is full.
  for key in {1..300}; do keys+=("k$key"); done
  printf 'SET %s x\n' "${keys[@]}" | cli >/dev/null
  cli SET k250 "$(head -c 40000 /dev/urandom | base64 -w0)" >/dev/null
  assert_equal "$(cli DBSIZE)" 300
  run -2 --separate-stderr bash -c 'ulimit -f 64; exec rlctl reset --force --save s "$@"' - "${keys[@]}"
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
  ask a
  ask b
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
  tail -n +2 s >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'does not begin like a file'
  sed '1s/"version":1/"version":2/' s >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'has a format that this version of rlctl does not know'
  # A key, and a header, that are nested deeply.
  local deep
  deep=$(perl -e 'print "[" x 200000, "]" x 200000')
  for line in '{"key":"a","type":"string","library":'"$deep}" '{"x":'"$deep}" "$deep"; do
    { head -n 1 s && echo "$line"; } >t
    run -2 --separate-stderr rlctl reset --restore t
    assert_equal "${stderr_lines[0]}" \
      "rlctl: reset: --restore: 't', line 2 is nested too deeply: 100 levels are the most"
  done
  echo '{"format":"rlctl saved keys","version":'"$deep}" >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'has a format that this version of rlctl does not know'
  echo "$deep" >t
  run -2 rlctl reset --restore t
  assert_line --index 0 --partial 'does not begin like a file'
  # The server notices a dump that was changed.
  perl -MMIME::Base64 -pe 's/("dump_base64":")([^"]*)/my $d = decode_base64($2); substr($d, 3, 1) ^= "\x01";
    $1 . encode_base64($d, "")/e' s >t
  run -5 --separate-stderr rlctl reset --restore t
  assert_line 'left key=a type=list algorithm=sliding-window-log reason=dump-format'
}

@test "an incomplete last line, of a run that was killed, is not restored, with a warning" {
  ask a
  ask b
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

# --- other servers ----------------------------------------------------------------------------------

@test "a dump that the server does not understand is left, and the others are restored" {
  ask a
  ask b
  rlctl reset -q a b --save s
  { head -2 s; of_a_later_server s | tail -1; } >t
  run -5 --separate-stderr rlctl reset --restore t
  assert_output 'restored key=a algorithm=sliding-window-log
left key=b type=list algorithm=sliding-window-log reason=dump-format'
  assert_equal "$stderr" "restored 1 key; 1 left, with a dump that this server does not understand
rlctl: reset: 1 key was left: 'b'
  hint: the dumps are damaged or too new for this server; restore them to the version that the file's first line names, \
or to a newer one"
}

@test "a file of an older rlctl is restored, without the lines that it says are void" {
  ask a
  ask b
  rlctl reset -q a b --save s
  sed 's/,"saved_again":false}/,"contents_base64":["AA=="]}/' s >t
  echo '{"not_removed":"b"}' >>t
  run -0 --separate-stderr rlctl reset --restore t
  assert_output 'restored key=a algorithm=sliding-window-log'
}

use_server() { export socket=$1 RLCTL_URL=unix://$1; }

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
    use_server "$first"
    run -0 rlctl reset --restore there
    run -0 same "$before" "$(hold)"
    rm there
  done
}

# --- stopped in the middle --------------------------------------------------------------------------

@test "a reset that is killed loses nothing, and a restore that is killed goes on" {
  local key keys=() before
  for key in {1..1000}; do keys+=("k$key"); done
  printf 'SET %s x\n' "${keys[@]}" | cli >/dev/null
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
