# For the tests of `rlctl debug --dap`, driven by the client in tests/support/dap.py: a folder with two scripts, and
# client, which runs the client's steps.

setup() { dap_folder; }

# dap_folder: enters the test's folder, and writes two scripts.
dap_folder() {
  cd "$BATS_TEST_TMPDIR" || return
  # shellcheck disable=SC2154 # common.bash sets it
  export TMPDIR=$BATS_TEST_TMPDIR PYTHONPATH=$project/tests/support PYTHONDONTWRITEBYTECODE=1
  unset RLCTL_URL
  cat >loop.lua <<'LUA'
local key, sum = KEYS[1], 0

local function add(n)
  local before = sum
  sum = sum + n
  return before
end
for i = 1, 3 do
  add(i)
  redis.call('INCRBY', key, i)
end
local t = {a = {1, 1700000000123456}, ["b c"] = "x\000\255"}
redis.log(redis.LOG_NOTICE, 'done')
return {sum, ARGV[1]}
LUA
  echo 'while true do end' >endless.lua
}

# client: runs the client's steps, which are Python on standard input. Nothing may be left afterwards.
client() {
  { echo 'from dap import Client' && cat; } >steps.py
  run -0 timeout 600 python3 steps.py
  nothing_is_left
}
