# needs: server
load ../../support/common

# `debug` takes the options of the commands that `burst` and `adversary` print. names.t has what it takes of a script.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/rlctl.toml TMPDIR=$BATS_TEST_TMPDIR RLCTL_URL=private:
}

# debug_in FILE: the first command in the file, with debug in the place of burst.
debug_in() { sed -n '1s/^# rlctl burst /rlctl debug -q /p' "$1"; }

@test "the options of the command at the top of a schedule are those of debug" {
  cat >wait.lua <<'LUA'
local wait = redis.call('PTTL', KEYS[1])
if wait > 0 then return wait end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
LUA
  cat >"$RLCTL_CONFIG" <<'END'
[script.wait]
file = "wait.lua"
keys = ["wait:{key}"]
args = "{now_ms} {window_ms}"
allowed = "zero"
retry_after = "r ms"
END
  local script=(wait.lua --keys '{key}' --keys "it's" --args '{now_ms} {window_ms}' --allowed-when zero
    --head 'retry_after r ms')
  run -0 rlctl adversary --tries 200 --limit 1/1s "${script[@]}" --write found.log -q
  run -0 bash -c "$(debug_in found.log) --trace"
  assert_line --partial '+ wait.lua:1'
  assert_line --partial 'reads as'
  run -0 rlctl adversary --tries 200 --limit 1/1s wait --write found.log -q
  run -0 bash -c "unset RLCTL_CONFIG; $(debug_in found.log) --trace"
  assert_line --partial 'reads as'
  run -0 rlctl adversary --tries 200 --limit 1/1s gcra --write found.log -q
  run -0 bash -c "$(debug_in found.log) --trace"
  assert_line --partial '+ gcra.lua:'
}
