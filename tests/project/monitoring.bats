# needs: server
load ../support/common

# The files in examples/ for monitoring do what they say.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cd "$project/examples" || return
}

# The files name the installed program.
with_this_rlctl() { sed "s|/usr/local/bin/rlctl|$RLCTL_BUILD/cli/rlctl|g"; }

# nagios DESCRIPTION: runs the check of this service as Nagios would: a shell, with the arguments filled in.
nagios() {
  local arguments name line i
  IFS='!' read -ra arguments < <(awk -v service="$1" '
    $1 == "service_description" { wanted = index($0, service) }
    $1 == "check_command" && wanted { sub(/^ *check_command +/, ""); print }' nagios/rlctl.cfg)
  name=${arguments[0]}
  arguments[1]=$RLCTL_URL
  line=$(awk -v name="$name" '
    $1 == "command_name" { wanted = $2 == name }
    $1 == "command_line" && wanted { sub(/^ *command_line +/, ""); print }' nagios/rlctl.cfg | with_this_rlctl)
  for ((i = 1; i < ${#arguments[@]}; i++)); do line=${line//"\$ARG$i\$"/${arguments[i]}}; done
  [[ $line == *quota* && $line != *'$'* ]] || fail "not a complete command: $line"
  env -i RLCTL_CONFIG="$BATS_TEST_TMPDIR/config.toml" sh -c "$line" </dev/null
}

@test "the commands and services for Nagios work" {
  printf '[policy.login]\nkey = "login:%%s"\nlimit = "5/1d"\n' >"$BATS_TEST_TMPDIR/config.toml"
  rlctl check -q --limit 1000/1d --algorithm gcra --cost 900 api:acme
  rlctl check -q --limit 5/1d --cost 5 login:ann
  run -1 --separate-stderr nagios 'Rate limit of api:acme'
  assert_output --partial 'RATELIMIT WARNING - api:acme 90% used (900 of 1000), resets in '
  assert_equal "$stderr" ''
  run -2 nagios 'Logins of ann'
  assert_output --partial 'RATELIMIT CRITICAL - login:ann 100% used (5 of 5)'
}

@test "the systemd service for node_exporter writes the metrics" {
  local command
  command=$(sed -n 's/^ExecStart=//p' node-exporter/rlctl-quota.service | with_this_rlctl |
    sed "s|/var/lib/prometheus/node-exporter|$BATS_TEST_TMPDIR|")
  rlctl check -q --limit 1000/60s --cost 300 api:globex
  # Without a shell, as systemd starts it; the URL is the test's.
  # shellcheck disable=SC2086 # split into words
  run -0 env -i RLCTL_URL="$RLCTL_URL" $command -t 120 </dev/null
  assert_output ''
  grep -q '^rlctl_up{file="rlctl-api.prom"} 1$' "$BATS_TEST_TMPDIR/rlctl-api.prom"
  grep -q '^rlctl_limit{.*,key="api:globex"} 1000$' "$BATS_TEST_TMPDIR/rlctl-api.prom"
}

@test "systemd accepts the units for node_exporter" {
  needs systemd systemd-analyze
  cp node-exporter/rlctl-quota.* "$BATS_TEST_TMPDIR"
  sed -i "s|/usr/local/bin/rlctl|$RLCTL_BUILD/cli/rlctl|" "$BATS_TEST_TMPDIR/rlctl-quota.service"
  run systemd-analyze verify "$BATS_TEST_TMPDIR/rlctl-quota.timer"
  refute_output --partial 'rlctl-quota'
}

@test "the line for cron prints only what is not OK" {
  local command
  # cron: the fields after the fifth and the user; \% is a percent sign.
  command=$(sed -n 's/^[*][^ ]* [^ ]* [^ ]* [^ ]* [^ ]* nobody //p' cron/quota | sed 's/\\%/%/g' | with_this_rlctl)
  [[ $command == *quota* ]]
  cron() {
    env -i SHELL=/bin/sh PATH=/usr/bin:/bin RLCTL_URL="$RLCTL_URL" \
      /bin/sh -c "$command" </dev/null
  }
  run -0 cron
  assert_output ''
  rlctl check -q --limit 1000/60s --algorithm fixed-window --cost 1000 api:acme
  # If this minute has just ended, nothing of it is used any more.
  while run cron && [[ -z $output ]]; do
    rlctl check -q --limit 1000/60s --algorithm fixed-window --cost 1000 api:acme || (($? == 1))
  done
  assert_line --index 0 --partial 'RATELIMIT CRITICAL - api:acme 100% used (1000 of 1000)'
  RLCTL_URL=unix:///nowhere run -3 cron
  assert_output --partial 'RATELIMIT UNKNOWN - cannot connect to unix:///nowhere'
}
