# needs: server
load ../support/common

# Passwords from files: --password-file, systemd's credentials, and the configuration.

setup_file() { start_server --requirepass 'se cret'; }
setup() {
  file=$BATS_TEST_TMPDIR/password
  (umask 077 && echo 'se cret' >"$file")
  export CREDENTIALS_DIRECTORY=$BATS_TEST_TMPDIR/credentials RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  echo 'timeout = "120s"' >"$RLCTL_CONFIG"
}

check=(rlctl check k --limit 1000/60s)
allowed() { run -0 "${check[@]}" "$@"; }
refused() { run -4 "${check[@]}" "$@"; }

# hides PASSWORD ARGUMENT…: the command fails and prints neither the password nor a part of it.
hides() {
  local json
  for json in '' --json; do
    # shellcheck disable=SC2086 # nothing or an option
    run rlctl check k --limit 5/60s $json "${@:2}"
    ((status >= 2)) || fail "status $status: $output"
    refute_output --partial "$1"
    refute_output --partial "${1:0:60}"
  done
}

@test "--password-file takes the first line of a file or a pipe" {
  local text
  for text in 'se cret\n' 'se cret' 'se cret\r\nand more\n'; do
    printf %b "$text" >"$file"
    allowed --password-file "$file"
  done
  chmod 400 "$file"
  allowed --password-file "$file"
  allowed --password-file <(echo 'se cret')
  mkfifo -m 600 "$BATS_TEST_TMPDIR/fifo"
  echo 'se cret' >"$BATS_TEST_TMPDIR/fifo" 3>&- 4>&- &
  allowed --password-file "$BATS_TEST_TMPDIR/fifo"
  wait $!
  # Without a writer, a signal ends the wait.
  run -0 ends_by TERM 'sleeps $command_pid' rlctl check k --limit 9/60s --password-file "$BATS_TEST_TMPDIR/fifo"
  assert_output 'signal 15'
}

@test "a password file that others can read, or without a usable password, is refused" {
  local text why
  while read -r text why; do
    # shellcheck disable=SC2059 # a format
    printf "$text" >"$file"
    fails 2 "check: the first line of the password file $file $why" "${check[@]}" --password-file "$file"
  done <<'TABLE'
%s is empty
\nse\x20cret\n is empty
se\0cret\n contains a NUL byte
%05000d\n has more than 4096 bytes
TABLE
  chmod 640 "$file"
  fails 2 "check: $file holds a password, and its group can read it (mode 0640)" "${check[@]}" --password-file "$file"
  assert_equal "${stderr_lines[1]}" "  hint: chmod 600 $file"
}

@test "a credential of systemd is the password" {
  refused
  mkdir "$CREDENTIALS_DIRECTORY"
  refused
  cp "$file" "$CREDENTIALS_DIRECTORY/rlctl.password"
  chmod 400 "$CREDENTIALS_DIRECTORY/rlctl.password"
  allowed
  CREDENTIALS_DIRECTORY='' refused
  chmod 444 "$CREDENTIALS_DIRECTORY/rlctl.password"
  fails 2 "check: $CREDENTIALS_DIRECTORY/rlctl.password holds a password, and any user can read it (mode 0444)" "${check[@]}"
  if ((EUID == 0)); then
    # The access list that systemd gives the service's user.
    chmod 440 "$CREDENTIALS_DIRECTORY/rlctl.password"
    allowed
  fi
}

@test "the password: --password-file, the URL, the credential, REDISCLI_AUTH, the configuration" {
  local url=unix://:PASSWORD@$socket
  mkdir "$CREDENTIALS_DIRECTORY"
  (umask 077 && echo wrong | tee "$BATS_TEST_TMPDIR/wrong" >"$CREDENTIALS_DIRECTORY/rlctl.password")
  REDISCLI_AUTH=wrong allowed -u "${url/PASSWORD/wrong}" --password-file "$file"
  refused -u "${url/PASSWORD/se%20cret}" --password-file "$BATS_TEST_TMPDIR/wrong"
  REDISCLI_AUTH=wrong allowed -u "${url/PASSWORD/se%20cret}"
  REDISCLI_AUTH='se cret' refused
  cp "$file" "$CREDENTIALS_DIRECTORY/rlctl.password"
  REDISCLI_AUTH=wrong allowed
  unset CREDENTIALS_DIRECTORY RLCTL_URL
  # The file is relative to the configuration's folder.
  printf 'timeout = "120s"\nurl = "unix://%s"\npassword_file = "password"\n' "$socket" >"$RLCTL_CONFIG"
  cd /
  allowed
  REDISCLI_AUTH=wrong refused
  # Another server does not get the password.
  RLCTL_URL=unix://$socket refused
  run -0 rlctl config show
  assert_line --regexp "^password_file +$file$"
  (umask 077 && rm "$RLCTL_CONFIG" && printf 'timeout = "120s"\nurl = "%s"\n' "${url/PASSWORD/se%20cret}" >"$RLCTL_CONFIG")
  allowed
  REDISCLI_AUTH=wrong refused
}

@test "the command line that repeats a run names the file of the password" {
  run -0 --separate-stderr rlctl -u "unix://$socket" --password-file "$file" burst steady --clock real --rate 100/s --duration 50ms
  assert_output --partial "--password-file $file"
  refute_output --partial 'se cret'
}

@test "a server that does not know AUTH repeats its arguments, which no error shows" {
  local password
  start_server --rename-command AUTH ''
  for password in hunter2secret 'hunter2 "\secret' "$(head -c 300 /dev/zero | tr '\0' x)"; do
    REDISCLI_AUTH=$password hides "$password"
    assert_output --partial "AUTH: unknown command "
    refute_output --partial 'has no password on this server'
  done
  REDISCLI_AUTH=hunter2secret hides hunter2secret --user ann
  REDISCLI_AUTH=hunter2secret run rlctl check k --limit 5/60s
  assert_line '  hint: the server has no AUTH, with which rlctl logs in; its rename-command may hide it'
}

@test "a password that a server repeats elsewhere in its error is not shown" {
  local reply
  for reply in '-WRONGPASS hunter2secret is wrong' "-HUNTER2SECRET 'hunter2secret', HUNTER2SECRET"; do
    start_fake_server --close "$reply\\r\\n"
    REDISCLI_AUTH=hunter2secret hides hunter2secret
    REDISCLI_AUTH=HUNTER2SECRET hides HUNTER2SECRET
  done
}
