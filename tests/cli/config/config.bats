# needs: server
load ../../support/common

# The configuration file where it needs another user, a pipe or no file at all. config.t has the rest.

setup() {
  unset RLCTL_CONFIG RLCTL_URL
  export HOME=$BATS_TEST_TMPDIR/home
  users=$HOME/.config/rlctl/config.toml
  mkdir -p "${users%/*}"
}

# may_be_another: sets as_user to a prefix that runs a command as another user, if root runs the test.
may_be_another() {
  ((EUID == 0)) || return 0
  as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
  chmod 755 "$HOME" "$HOME/.config" "${users%/*}"
  "${as_user[@]}" rlctl --version >/dev/null || skip 'needs another user who can run rlctl'
}

@test "without a file the status is 1, the searched paths are printed, and config show has the defaults" {
  [[ ! -e /etc/rlctl/config.toml ]] || skip 'needs a machine without /etc/rlctl/config.toml'
  local command
  for command in path check; do
    run -1 rlctl config "$command"
    assert_output 'rlctl: config: there is no configuration file
  hint: looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml'
  done
  run -2 rlctl check --policy login ann
  assert_output "rlctl: check: no policy 'login', since there is no configuration file
  hint: looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml"
  run -1 env -u HOME rlctl config path --json
  assert_output '{"error":{"code":"not_found","message":"there is no configuration file","hint":"looked for /etc/rlctl/config.toml"}}'
  run -0 rlctl config show
  assert_output 'file     none
url      redis://127.0.0.1:6379  (default)
timeout  1s                      (default)'
  run -0 rlctl config show --json
  assert_output --regexp '^\{"file":null,.*"policies":\[\],'
  # The file in HOME is not used if XDG_CONFIG_HOME names a folder.
  touch "$users"
  XDG_CONFIG_HOME=/nowhere run -1 rlctl config path
  assert_line '  hint: looked for /nowhere/rlctl/config.toml and /etc/rlctl/config.toml'
}

@test "a file without read permission is an error and does not count as missing" {
  may_be_another
  touch "$users"
  chmod 0 "$users"
  fails 2 "cannot read $users: permission denied" "${as_user[@]}" rlctl config check
  chmod 0 "${users%/*}"
  fails 2 "cannot read $users: permission denied" "${as_user[@]}" rlctl config check
  chmod 700 "${users%/*}"
}

@test "the file may have 1048576 bytes, or be a pipe, and Ctrl-C ends the wait for its writer" {
  head -c 1048576 /dev/zero | tr '\0' '#' >"$users"
  run -0 rlctl config check
  echo >>"$users"
  fails 2 "$users is too large: a configuration has at most 1048576 bytes" "${as_user[@]}" rlctl config check
  run -0 rlctl --config <(echo 'timeout = "3s"') config show
  assert_line --regexp '^timeout +3s +\(file\)$'
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  run -0 ends_by INT 'sleeps "$command_pid"' rlctl --config "$BATS_TEST_TMPDIR/pipe" config check
  assert_output 'signal 2'
}

@test "a server has as long to answer as the file says" {
  start_fake_server ''
  echo 'timeout = "30ms"' >"$users"
  run -3 rlctl check k --limit 5/60s
  assert_output --partial 'within 30ms'
}

@test "root's file and one's own may be used, and no one else's" {
  needs_root
  echo 'timeout = "3s"' >"$users"
  chown 65534 "$users"
  fails 2 "$users is a configuration, but belongs to another user (UID 65534)
  hint: read it, and then: chown root $users" "${as_user[@]}" rlctl config check
  may_be_another
  run -0 "${as_user[@]}" rlctl config check
  chown root "$users"
  run -0 "${as_user[@]}" rlctl config check
  chown 1 "$users"
  fails 2 "$users is a configuration, but belongs to another user (UID 1)
  hint: read it, and then: sudo chown 65534 $users" "${as_user[@]}" rlctl config check
}

@test "a file that the umask 002 makes may be used if its owner is alone in the group" {
  [[ $(awk -F: -v gid="$(id -g)" '$4 == gid' /etc/passwd | wc -l) == 1 ]] || skip 'needs a user with a group of their own'
  (umask 002 && echo 'timeout = "3s"' >"$users")
  run -0 rlctl config check
}
