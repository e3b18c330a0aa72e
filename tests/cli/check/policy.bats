# needs: server
load ../../support/common

setup_file() { start_server; }

setup() {
  cli FLUSHALL
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  cat >"$RLCTL_CONFIG" <<'END'
timeout = "120s"
[policy.login]
key = "login:%s"
limit = "5/60s"

[policy.upload]
key = "upload:%s:%s"
algorithm = "gcra"
limit = ["10/s", "100/min"]
burst = 20

[policy.backup]
key = "backup"
limit = "1/h"

[policy.mail]
key = "mail:%s"
algorithm = "leaky-bucket"
limit = "10/s"
END
}

@test "a policy's key is filled with the argument" {
  run -0 rlctl check --policy login alice
  assert_output 'allowed key=login:alice limit=5/60s remaining=4 reset=60.000s'
  assert_equal "$(cli LLEN login:alice)" 1
  assert_equal "$(cli DBSIZE)" 1
}

@test "a policy denies like its limit" {
  rlctl check -q --policy login --cost 5 alice
  run -1 rlctl check --policy login alice
  rlctl check -q --policy login bob
}

@test "several limits, algorithm and burst come from the policy" {
  # With the caller's clock the keys live an hour longer, so that they are still there afterwards.
  run -0 rlctl check --policy upload acme images --cost 3 --json --now 1800000000000000
  run -0 jq -c '[.key, .algorithm, .remaining, .limits]' <<<"$output"
  assert_output '["upload:acme:images","gcra",17,[{"key":"{upload:acme:images}:1s","limit":10,"window_us":1000000,"burst":20},{"key":"{upload:acme:images}:60s","limit":100,"window_us":60000000,"burst":20}]]'
  assert_equal "$(cli KEYS '*' | sort | tr '\n' ' ')" '{upload:acme:images}:1s {upload:acme:images}:60s '
}

@test "a policy without arguments is used by its name" {
  rlctl check -q --policy backup
  run -1 rlctl check --policy backup
  assert_output --partial 'key=backup'
}

@test "an argument may contain anything, including template syntax" {
  local argument
  for argument in '%s' 'a:b' '-x' $'tab\there' 'ü' '{x}'; do
    rlctl check -q --policy login -- "$argument"
    assert_equal "$(cli EXISTS "login:$argument")" 1
  done
}

@test "--policy works with --peek, --cost, --wait, --now and --on-error" {
  run -0 rlctl check --policy login --cost 2 --now 1000000000 alice
  run -0 rlctl check --policy login --peek --cost 3 --now 1000000000 alice
  assert_output --partial 'key=login:alice limit=5/60s remaining=3'
  run -1 rlctl check -q --policy login --peek --cost 4 --now 1000000000 alice
  run -0 rlctl check -q --policy mail --wait=1s ann
  run -0 rlctl check -q -u unix:///nowhere/at/all --policy login --on-error allow alice
}

# --- batch ---------------------------------------------------------------------------------------------

@test "--batch: each line is the policy's argument" {
  run -1 rlctl check --policy login --now 1000000000 --batch <<<$'ann\nbob\t5\nbob'
  assert_output 'allowed key=login:ann limit=5/60s remaining=4 reset=60.000s
allowed key=login:bob limit=5/60s remaining=0 reset=60.000s
denied key=login:bob limit=5/60s remaining=0 retry_after=60.000s reset=60.000s'
  assert_equal "$(cli LLEN login:ann)" 1
}

@test "--batch: an empty argument is an error in its place" {
  run -2 --separate-stderr rlctl check --policy login --batch <<<$'ann\n\t1\nbob'
  assert_line --index 1 "error line=2 status=2 message=\"the key is empty\""
  assert_equal "${#lines[@]}" 3
  assert_equal "$(cli EXISTS login:)" 0
}

@test "--batch keeps many keys with several limits apart" {
  sed -i 's/upload:%s:%s/upload:%s/' "$RLCTL_CONFIG"
  # With the caller's clock the keys live an hour longer, so that all are still there afterwards.
  run -0 rlctl check --policy upload --batch --now 1800000000000000 < <(seq 3000)
  assert_equal "${#lines[@]}" 3000
  assert_line --index 2999 --partial 'key=upload:3000 '
  assert_equal "$(cli DBSIZE)" 6000
}

# --- errors --------------------------------------------------------------------------------------------

@test "without a configuration file there is no policy, and the searched paths are printed" {
  [[ ! -e /etc/rlctl/config.toml ]] || skip 'this machine has a configuration'
  unset RLCTL_CONFIG
  run -2 --separate-stderr rlctl check --policy login a
  assert_equal "${stderr_lines[0]}" "rlctl: check: no policy 'login', since there is no configuration file"
  assert_equal "${stderr_lines[1]}" '  hint: looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml'
}

@test "with ipv6_prefix, the addresses of a network are one client for check, inspect, reset and --batch" {
  printf '[policy.client]\nkey = "client:%%s"\nlimit = "5/60s"\nipv6_prefix = 64\n' >>"$RLCTL_CONFIG"
  run -0 rlctl check --policy client 2001:db8:1:2::1
  assert_output 'allowed key=client:2001:db8:1:2::/64 limit=5/60s remaining=4 reset=60.000s'
  run -0 rlctl check --policy client '[2001:DB8:1:2:FFFF::]:443' --json
  run -0 gojq -c '[.key, .remaining]' <<<"$output"
  assert_output '["client:2001:db8:1:2::/64",3]'
  run -0 rlctl check --policy client --batch <<<$'2001:db8:1:2::3\n::ffff:192.0.2.1\n192.0.2.1\n2001:db8:1:3::1\nann'
  assert_equal "$(sed -E 's/limit=[^ ]+ | reset=.*//g' <<<"$output")" 'allowed key=client:2001:db8:1:2::/64 remaining=2
allowed key=client:192.0.2.1 remaining=4
allowed key=client:192.0.2.1 remaining=3
allowed key=client:2001:db8:1:3::/64 remaining=4
allowed key=client:ann remaining=4'
  run -0 rlctl inspect --policy client 2001:db8:1:2::9 --json
  assert_equal "$(gojq -c '[.key, .used]' <<<"$output")" '["client:2001:db8:1:2::/64",3]'
  run -0 rlctl reset --policy client 2001:db8:1:2::9
  assert_equal "$(cli EXISTS client:2001:db8:1:2::/64)" 0
  assert_equal "$(cli DBSIZE)" 3
}

@test "a KEY by itself stays as it is, and so does an argument without ipv6_prefix" {
  rlctl check -q --limit 5/60s 2001:DB8::1
  rlctl check -q --policy login 2001:DB8::1
  assert_equal "$(cli --raw KEYS '*' | sort)" $'2001:DB8::1\nlogin:2001:DB8::1'
}
