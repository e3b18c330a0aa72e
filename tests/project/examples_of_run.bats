# needs: server
load ../support/common

# examples/cron and examples/systemd: what they run does what they say.

setup() {
  start_server
  cd "$BATS_TEST_TMPDIR" || return
  mkdir data archives
  echo text >data/file
}

archives() { find archives -name 'data-*.tar.gz' | wc -l; }

@test "cron/backup makes one backup, whichever machine asks" {
  run -0 env -i PATH="$PATH" RLCTL_URL="$RLCTL_URL" "$project/examples/cron/backup" data archives <&-
  assert_output ''
  assert_equal "$(tar -xzOf archives/data-*.tar.gz data/file)" text
  assert_equal "$(cli EXISTS '{backup:data}:leases')" 0
  run -0 "$project/examples/cron/backup" data archives
  assert_output ''
  assert_equal "$(archives)" 1
  run -125 env RLCTL_URL=unix:///nowhere "$project/examples/cron/backup" data archives
  assert_output --partial 'cannot connect'
}

@test "cron/backup fails with tar, and leaves nothing half made" {
  run -2 "$project/examples/cron/backup" missing archives
  assert_output --partial missing
  assert_equal "$(archives)" 0
}

@test "cron/backup tries again after it has failed" {
  mv data elsewhere
  run -2 "$project/examples/cron/backup" data archives
  mv elsewhere data
  run -0 "$project/examples/cron/backup" data archives
  assert_equal "$(archives)" 1
}

@test "every line of cron/crontab runs as cron would run it" {
  local commands=0 command
  mkdir bin
  ln -s "$project/examples/cron/backup" bin/
  # What follows the five fields of the time.
  while IFS= read -r command; do
    command=${command//'/etc /var/backups'/data archives}
    env -i HOME="$HOME" LOGNAME=me SHELL=/bin/sh PATH="$PWD/bin:$PATH" RLCTL_URL="$RLCTL_URL" \
      /bin/sh -c "$command" <&- >>printed 2>&1 || fail "$command: $(cat printed)"
    commands=$((commands + 1))
  done < <(sed -nE 's/^([0-9*][^ ]* ){1}([^ ]+ ){4}(.*)/\3/p' "$project/examples/cron/crontab")
  assert_equal "$commands" 4
  assert_equal "$(cat printed)" $'importing\npolling\nwriting the report'
  assert_equal "$(archives)" 1
}

@test "systemd accepts the units" {
  needs systemd systemd-analyze
  local unit
  for unit in backup.service backup.timer; do
    sed "s|/usr/local/bin/rlctl|$(command -v rlctl)|" "$project/examples/systemd/$unit" >"$unit"
  done
  run -0 systemd-analyze verify --man=no ./backup.service ./backup.timer
  refute_output --partial backup
}

@test "the command of backup.service runs once, and is denied with the status that the unit accepts" {
  local command
  command=$(sed -n 's/^ExecStart=//p' "$project/examples/systemd/backup.service")
  command=${command//'/usr/local/bin/rlctl'/rlctl}
  command=${command//'/var/backups/etc.tar.gz /etc'/archives/data-1.tar.gz data}
  # shellcheck disable=SC2086
  run -0 $command
  assert_equal "$(archives)" 1
  # shellcheck disable=SC2086
  run "-$(sed -n 's/^SuccessExitStatus=//p' "$project/examples/systemd/backup.service")" $command
}
