# needs: server
load ../../support/common

# Scripts by name, several scripts, a script on standard input, and KEYS and ARGV as redis-cli has them.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/rlctl.toml TMPDIR=$BATS_TEST_TMPDIR
  mkdir a b
  # Replies its keys and arguments in an error.
  echo "return redis.error_reply('ERR ' .. table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|'))" >echo.lua
  cat >a/limit.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return count <= tonumber(ARGV[1]) and 1 or 0
LUA
  sed 's/ and 1 or 0//; s/<= .*/* 1/' a/limit.lua >b/limit.lua
  cat >"$RLCTL_CONFIG" <<'END'
[script.count]
file = "b/limit.lua"
keys = ["hist:{key}:{window_index}"]
args = ["{limit}", "{window_ms}", "two words"]
allowed = "<=limit"

[script.echo]
file = "echo.lua"
keys = ["{key}", "it's {key}"]
args = "{now_s} 'two words' ''"
END
}

args=(--args '{limit} {window_ms} {now_ms}')

names() { gojq -c '[.runs[].algorithm]' <<<"$1"; }

@test "a configured script is called with its keys and arguments, and named after its section" {
  run -5 rlctl burst echo
  assert_line --partial "echo: 1|it's 1#1767225659|two words|; request 1"
  run -0 rlctl burst count --limit 20/60s
  assert_line --regexp '^script +count +allowed when its reply is <=limit$'
  repeats
  assert_output --partial "--config $RLCTL_CONFIG"
  refute_output --partial '--args'
}

@test "options on the command line replace what the section says" {
  run -5 rlctl burst echo --args '{now_ms}'
  assert_line --partial "echo: 1|it's 1#1767225659990;"
  run -5 rlctl burst echo --keys 'x:{key}' --args '{now_ms}'
  assert_line --partial 'echo: x:1#1767225659990;'
  run -0 rlctl burst count --limit 20/60s --allowed-when always --keys '{key}' \
    --args '{now} {window_ms}'
  assert_line --regexp '^script +count +allowed always'
  repeats
}

@test "the section's file is found from any folder, and the printed command repeats the run there" {
  cd a
  run -0 rlctl burst count --limit 20/60s
  unset RLCTL_CONFIG
  repeats
}

@test "a value with a slash, or ending in .lua, is a file; another is a configured script, else a file" {
  cp a/limit.lua count
  cp a/limit.lua own
  run -0 rlctl burst ./count --limit 20/60s "${args[@]}"
  assert_line --regexp '^script +count +allowed when its reply is nonzero$'
  run -0 rlctl burst count --limit 20/60s
  assert_line --regexp '^script +count +allowed when its reply is <=limit$'
  run -0 rlctl burst own --limit 20/60s "${args[@]}"
  assert_line --regexp '^script +own +allowed when its reply is nonzero$'
}

@test "several scripts run in the order named, before the algorithms, each once" {
  run -0 rlctl burst count gcra a/limit.lua count "${args[@]}" \
    --limit 20/60s --json
  assert_equal "$(names "$output")" '["count","limit.lua","gcra"]'
  run -0 rlctl burst count a/limit.lua "${args[@]}" --limit 20/60s
  assert_line --regexp '^script +count +allowed when its reply is <=limit$'
  assert_line --regexp '^script +limit\.lua +allowed when its reply is nonzero$'
  repeats
  run -0 rlctl burst count a/limit.lua "${args[@]}" --limit 20/60s --json
  assert_equal "$(gojq -c '[.runs[].algorithm]' <<<"$output")" '["count","limit.lua"]'
  run -0 as svg rlctl burst count a/limit.lua "${args[@]}" --limit 20/60s
  assert_output --partial '>count<'
  assert_output --partial '>limit.lua<'
}

@test "scripts whose files have one name are told apart by their paths" {
  cp a/limit.lua gcra
  run -0 --separate-stderr rlctl burst a/limit.lua ./b/limit.lua ./gcra gcra \
    --allowed-when '<=limit' "${args[@]}" --limit 20/60s --json
  assert_equal "$(names "$output")" '["a/limit.lua","./b/limit.lua","./gcra","gcra"]'
}

@test "a search covers every script" {
  run -0 rlctl adversary --tries 300 count a/limit.lua "${args[@]}" --limit 3/1s --json
  assert_equal "$(names "$output")" '["count","limit.lua"]'
  run -0 rlctl adversary --tries 300 count a/limit.lua "${args[@]}" --limit 3/1s
  assert_equal "$(grep -c '^script ' <<<"$output")" 2
  repeats
}

@test "- reads the script from standard input" {
  run -0 rlctl burst - "${args[@]}" --limit 20/60s <a/limit.lua
  assert_line --regexp '^script +stdin +allowed when'
  assert_output --partial '-'
  run -2 rlctl burst - "${args[@]}" </dev/null
  assert_line --partial 'standard input is empty'
}
