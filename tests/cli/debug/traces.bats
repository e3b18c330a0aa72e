# needs: server
load ../../support/common

# A whole trace, word for word, and what holds for the trace of every bundled script. ldb/trace_test.cc and
# view_test.cc test what a trace contains and how each part of it looks.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "a trace shows each executed line with its calls, what changed, and the effect on the keys" {
  cat >tally.lua <<'LUA'
-- Adds the arguments to a hash.
local key, names = KEYS[1], 0
local function add(name, more)
  names = names + 1
  return redis.call('HINCRBY', key, name, more)
end
for i = 1, #ARGV, 2 do
  if redis.call('HEXISTS', key, ARGV[i]) == 0 then
    add(ARGV[i],
        ARGV[i + 1])
  end
end
redis.debug(names)
return {names, redis.call('HLEN', key)}
LUA
  run -0 rlctl -u private: debug -q tally.lua k , 'b c' 2 'b c' 1 --trace
  diff -u - <(echo "$output") <<'END'
+ tally.lua:2  local key, names = KEYS[1], 0
|   key: "k"
|   names: 0
+ tally.lua:6  end
|   add: function
+ tally.lua:7  for i = 1, #ARGV, 2 do
|   i: 1
+ tally.lua:8    if redis.call('HEXISTS', key, ARGV[i]) == 0 then
|   redis> HEXISTS k "b c"      0
+ tally.lua:9      add(ARGV[i],
+ tally.lua:10          ARGV[i + 1])
+ tally.lua:9      add(ARGV[i],
|   name: "b c"
|   more: "2"
+ tally.lua:4    names = names + 1
|   names: 1
+ tally.lua:5    return redis.call('HINCRBY', key, name, more)
|   redis> HINCRBY k "b c" 2      2
+ tally.lua:7  for i = 1, #ARGV, 2 do
|   i: 3
+ tally.lua:8    if redis.call('HEXISTS', key, ARGV[i]) == 0 then
|   redis> HEXISTS k "b c"      1
+ tally.lua:7  for i = 1, #ARGV, 2 do
+ tally.lua:13  redis.debug(names)
|   debug> 1
+ tally.lua:14  return {names, redis.call('HLEN', key)}
|   redis> HLEN k      1
= {1, 1}    14 lines, 4 redis calls; 1 key was changed
  'k': not there → hash, 1 field: "b c" = "2", no ttl
END
}

@test "in the trace of each bundled script, each line is that of the file, and the reply is that of EVALSHA" {
  local name arguments file sha1 now
  start_server
  while read -r name arguments; do
    file=$project/lua/$name.lua
    sha1=$(cli SCRIPT LOAD "$(<"$file")")
    # Allowed, and denied or renewed.
    for now in 1795155075000000 1795155075000001; do
      run -0 rlctl debug "$file" k --args "$arguments $now" --trace -q
      # Prints the lines that differ, and the number of those that do not.
      assert_equal "$(awk -v script="$name.lua" '
        NR == FNR { expected["+ " script ":" FNR] = $0; next }
        index($0, "+ " script ":") == 1 {
          if (substr($0, index($0, "  ") + 2) != expected[$1 " " $2]) print
          else ++equal
        }
        END { print equal " lines" }' "$file" - <<<"$output")" \
        "$(grep -oE ' [0-9]+ lines, ' <<<"$output" | tr -d , | xargs)"
      assert_output --partial "= {$(eval "cli EVALSHA $sha1 1 k $arguments $now" | paste -sd, | sed 's/,/, /g')} "
    done
    cli DEL k
  done <<'END'
fixed-window 1 60000000 '' 1
sliding-window-log 1 60000000 '' 1
sliding-window-zset 1 60000000 '' 1
sliding-window-counter 1 60000000 '' 1
token-bucket 1 60000000 '' 1
gcra 1 60000000 '' 1
leaky-bucket 1 60000000 1 1
budget 1 60000000 '' 1
concurrency 1 60000000 acquire a
END
}

@test "a trace shows which numbers Redis cut in the reply" {
  local script
  for script in 'return 0.9' 'return -0.5' 'return {1, 2.75, {"a", 0.5}, 3}'; do
    echo "$script" >cut.lua
    run -0 rlctl -u private: debug -q cut.lua --trace
    grep -o '^= .*    ' <<<"$output" | sed 's/ *$//' >>replies
  done
  run -0 cat replies
  assert_output '= 0 (cut from 0.9)
= 0 (cut from -0.5)
= {1, 2 (cut from 2.75), {"a", 0 (cut from 0.5)}, 3}'
  run -0 rlctl -u private: debug -q cut.lua --trace --json
  assert_line --partial '"value":"{1, 2, {\"a\", 0}, 3}"'
}
