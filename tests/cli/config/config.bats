# needs: server
load ../../support/common

# The configuration file and `rlctl config`. Most tests in this file need no server.

setup() {
  unset RLCTL_CONFIG RLCTL_URL
  export HOME=$BATS_TEST_TMPDIR/home
  users=$HOME/.config/rlctl/config.toml
  mkdir -p "${users%/*}"
}

# configure FILE: writes standard input to FILE.
configure() {
  mkdir -p "${1%/*}"
  cat >"$1"
}

# wrong MESSAGE ARGUMENT…: the command is refused with exactly this message.
wrong() {
  local message=$1
  shift
  run -2 --separate-stderr rlctl "$@"
  assert_output ''
  assert_equal "${stderr_lines[0]}" "rlctl: $message"
}

hint() { assert_equal "${stderr_lines[1]}" "  hint: $1"; }

# shown SETTING [OPTION…]: the value of the setting in `rlctl config show`.
shown() {
  local setting=$1
  shift
  rlctl "$@" config show | sed -nE "s/ +/ /g; s/^$setting //p"
}

without_machine_file() { [[ ! -e /etc/rlctl/config.toml ]] || skip 'this machine has a configuration'; }

# --- the file ----------------------------------------------------------------------------------------

@test "the file is that of --config, else RLCTL_CONFIG, else XDG_CONFIG_HOME, else HOME" {
  local folder=$BATS_TEST_TMPDIR
  touch "$folder/named" "$folder/variable" "$users"
  configure "$folder/xdg/rlctl/config.toml" </dev/null
  export RLCTL_CONFIG=$folder/variable XDG_CONFIG_HOME=$folder/xdg
  assert_equal "$(rlctl --config "$folder/named" config path)" "$folder/named"
  assert_equal "$(rlctl config path)" "$folder/variable"
  unset RLCTL_CONFIG
  assert_equal "$(rlctl config path)" "$folder/xdg/rlctl/config.toml"
  unset XDG_CONFIG_HOME
  assert_equal "$(rlctl config path)" "$users"
}

@test "an empty variable counts as unset, and XDG_CONFIG_HOME must be absolute" {
  touch "$users"
  local folder
  for folder in '' relative ./relative '~'; do
    assert_equal "$(RLCTL_CONFIG='' XDG_CONFIG_HOME=$folder rlctl config path)" "$users"
  done
}

@test "if XDG_CONFIG_HOME is set, the file in HOME is not used" {
  without_machine_file
  touch "$users"
  XDG_CONFIG_HOME=/nowhere run -1 --separate-stderr rlctl config path
  assert_equal "${stderr_lines[1]}" \
    '  hint: looked for /nowhere/rlctl/config.toml and /etc/rlctl/config.toml'
}

@test "without a file the status is 1, and the searched paths are printed" {
  without_machine_file
  local command
  for command in path check; do
    run -1 --separate-stderr rlctl config "$command"
    assert_output ''
    assert_equal "$stderr" 'rlctl: config: there is no configuration file
  hint: looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml'
  done
  run -2 --separate-stderr rlctl check --policy login ann
  assert_equal "$stderr" "rlctl: check: no policy 'login', since there is no configuration file
  hint: looked for ~/.config/rlctl/config.toml and /etc/rlctl/config.toml"
  run -1 --separate-stderr env -u HOME rlctl config path --json
  assert_equal "$stderr" '{"error":{"code":"not_found","message":"there is no configuration file","hint":"looked for /etc/rlctl/config.toml"}}'
}

@test "a file that is named but missing is an error" {
  RLCTL_CONFIG=nowhere wrong "config: RLCTL_CONFIG: cannot read 'nowhere': no such file or directory" \
    config check
}

@test "an error about an unreadable file names it" {
  wrong "cannot read $HOME: is a directory" --config "$HOME" config check
  wrong '/dev/zero is too large: a configuration has at most 1048576 bytes' --config /dev/zero config check
  mkdir "$users"
  wrong "cannot read $users: is a directory" check k --limit 5/60s
}

@test "a file may be 1048576 bytes long" {
  head -c 1048576 /dev/zero | tr '\0' '#' >"$users"
  run -0 rlctl config check
  echo >>"$users"
  wrong "$users is too large: a configuration has at most 1048576 bytes" config check
}

@test "a file without read permission is an error and does not count as missing" {
  local as_user=()
  if ((EUID == 0)); then
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
    "${as_user[@]}" rlctl --version >/dev/null || skip 'root reads everything, and nobody else can run rlctl'
  fi
  touch "$users"
  chmod 0 "$users"
  run -2 "${as_user[@]}" rlctl config check
  assert_output "rlctl: cannot read $users: permission denied"
  chmod 0 "${users%/*}"
  run -2 "${as_user[@]}" rlctl config check
  chmod 700 "${users%/*}"
  assert_output "rlctl: cannot read $users: permission denied"
}

@test "the file may be a pipe" {
  run -0 rlctl --config <(echo 'timeout = "3s"') config show
  assert_line --regexp '^timeout +3s +\(file\)$'
}

@test "Ctrl-C ends the wait for a pipe without a writer" {
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  run -0 ends_by INT 'sleeps "$command_pid"' rlctl --config "$BATS_TEST_TMPDIR/pipe" config check
  assert_output 'signal 2'
}

# --- precedence ---------------------------------------------------------------------------------------

@test "option before environment before file before default, and options change parts of a URL" {
  local file environment options setting value
  while IFS='|' read -r file environment options setting value; do
    echo "$file" >"$users"
    # shellcheck disable=SC2086 # split into words
    assert_equal "$(RLCTL_URL=$environment shown "$setting" $options)" "$value"
  done <<'TABLE'
|||url|redis://127.0.0.1:6379 (default)
url = "redis://file:1/3"|||url|redis://file:1/3 (file)
url = "redis://file:1/3"|redis://environment:2||url|redis://environment:2 (environment)
url = "redis://file:1/3"|redis://environment:2|-u redis://option:3|url|redis://option:3 (option)
url = "redis://file:1/3"||-p 9|url|redis://file:9/3 (option)
url = "redis://file:1/3"||-H other -n 0 --user u|url|redis://u:***@other:1 (option)
url = "redis://file:1/3"||-s /tmp/s|url|unix:///tmp/s?db=3 (option)
|redis+cluster://a:1,b:2|-H other|url|redis+cluster://other:1 (option)
|redis+cluster://a:1,b:2|-p 9|url|redis+cluster://a:9 (option)
|redis+sentinel://a:1,b:2/m|-H other|url|redis+sentinel://other:1/m (option)
|rediss://h:1|--insecure|url|rediss://h:1 (option)
|rediss://h:1|--sni other|url|rediss://h:1 (option)
|||timeout|1s (default)
timeout = "250ms"|||timeout|250ms (file)
timeout = "250ms"||--timeout 2m|timeout|2m (option)
TABLE
}

@test "check connects to the URL of the file" {
  start_server
  printf 'url = "%s"\ntimeout = "30s"\n' "$RLCTL_URL" >"$users"
  unset RLCTL_URL
  rlctl check -q k --limit 5/60s
  assert_equal "$(cli LLEN k)" 1
  RLCTL_URL=unix:///nowhere/at/all run -3 rlctl check -q k --limit 5/60s
}

@test "the timeout of the file applies to an answer" {
  start_fake_server ''
  echo 'timeout = "30ms"' >"$users"
  run -3 --separate-stderr rlctl check k --limit 5/60s
  assert_regex "${stderr_lines[0]}" 'within 30ms'
}

@test "the password: the URL of option or environment, then REDISCLI_AUTH, then the file" {
  start_server --requirepass right
  local url=unix://:PASSWORD@$socket
  file_with() { (umask 077 && printf 'url = "%s"\ntimeout = "30s"\n' "${url/PASSWORD/$1}" >"$users"); }
  file_with right
  unset RLCTL_URL
  rlctl check -q k --limit 5/60s
  REDISCLI_AUTH=wrong expect_status 4 rlctl check -q k --limit 5/60s
  file_with wrong
  expect_status 4 rlctl check -q k --limit 5/60s
  REDISCLI_AUTH=right rlctl check -q k --limit 5/60s
  REDISCLI_AUTH=wrong RLCTL_URL=${url/PASSWORD/right} rlctl check -q k --limit 5/60s
}

@test "the file is not read if nothing in it is needed" {
  echo 'nonsense' >"$users"
  rlctl check -q -u private: --timeout 30s k --limit 5/60s
  run -2 rlctl check -q -u private: k --limit 5/60s
  run -0 rlctl --version
  run -0 rlctl check --help
}

# --- permissions --------------------------------------------------------------------------------------

# refused_by_all MESSAGE HINT: config check and a command that needs the file end with this error.
refused_by_all() {
  wrong "$1" config check
  hint "$2"
  wrong "$1" check --policy login ann
  hint "$2, or pass --limit and --config /dev/null"
}

@test "a file that others can write is refused with a remedy, whatever it says" {
  echo 'timeout = "3s"' >"$users"
  local mode
  for mode in 602 622 666 777; do
    chmod "$mode" "$users"
    refused_by_all "$users is a configuration, and any user can write it (mode 0$mode)" \
      "read it, and then: chmod go-w $users"
  done
  chmod go-w "$users"
  run -0 rlctl config check
  # Not even a password in it is reported then.
  echo 'url = "redis://u:geheim@h"' >"$users"
  chmod 666 "$users"
  wrong "$users is a configuration, and any user can write it (mode 0666)" config show
}

@test "no program runs, and no password is sent, that a file of others names" {
  start_server
  printf 'url = "%s"\n[script.evil]\nexec = "touch %s"\n' "$RLCTL_URL" "$BATS_TEST_TMPDIR/ran" >"$users"
  chmod 666 "$users"
  unset RLCTL_URL
  local status_of command
  while read -r status_of command; do
    # shellcheck disable=SC2086 # split into words
    REDISCLI_AUTH=secret run "-$status_of" rlctl $command
    assert_output --partial 'is a configuration, and any user can write it'
  done <<'TABLE'
3 lint evil
2 burst --script evil
2 list
2 check k --limit 5/60s
3 doctor
TABLE
  [[ ! -e $BATS_TEST_TMPDIR/ran ]]
  assert_equal "$(calls auth)" 0
}

@test "root's file and one's own may be used, and no one else's" {
  ((EUID == 0)) || skip 'only root can make the file of another user'
  echo 'timeout = "3s"' >"$users"
  chown 65534 "$users"
  refused_by_all "$users is a configuration, but belongs to another user (UID 65534)" \
    "read it, and then: chown root $users"
  local as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 711 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
  chmod 755 "$HOME" "$HOME/.config" "${users%/*}"
  "${as_user[@]}" rlctl --version >/dev/null || skip 'nobody else can run rlctl'
  run -0 "${as_user[@]}" rlctl config check
  chown root "$users"
  run -0 "${as_user[@]}" rlctl config check
  chown 1 "$users"
  run -2 --separate-stderr "${as_user[@]}" rlctl config check
  assert_equal "${stderr_lines[0]}" "rlctl: $users is a configuration, but belongs to another user (UID 1)"
  assert_equal "${stderr_lines[1]}" "  hint: read it, and then: sudo chown 65534 $users"
}

@test "a file that the umask 002 makes may be used if its owner is alone in the group" {
  (umask 002 && echo 'timeout = "3s"' >"$users")
  assert_equal "$(stat -c %a "$users")" 664
  if ((EUID == 0)); then
    chgrp 1 "$users"
    refused_by_all "$users is a configuration, and its group can write it (mode 0664)" \
      "read it, and then: chmod go-w $users"
    chgrp 0 "$users"
  fi
  [[ $(awk -F: -v gid="$(id -g)" '$4 == gid' /etc/passwd | wc -l) == 1 ]] || skip 'other users have the same group'
  run -0 rlctl config check
}

@test "a file with a password that others can read is refused with a remedy" {
  echo 'url = "redis://u:geheim@h"' >"$users"
  local mode who
  while read -r mode who; do
    chmod "$mode" "$users"
    wrong "$users holds a password, and $who it (mode 0$mode)" config show
    hint "chmod 600 $users"
    wrong "$users holds a password, and $who it (mode 0$mode)" check k --limit 5/60s
  done <<'TABLE'
644 any user can read
604 any user can read
640 its group can read
TABLE
  for mode in 600 400; do
    chmod "$mode" "$users"
    run -0 rlctl config check
  done
}

@test "everyone may read a file without a password" {
  echo 'url = "redis://u@h"' >"$users" # as in redis-cli, this is a password
  run -2 rlctl config check
  echo 'url = "redis://h"' >"$users"
  run -0 rlctl config check
}

# --- config check --------------------------------------------------------------------------------------

@test "config check: a file without mistakes is accepted" {
  echo >"$users"
  run -0 --separate-stderr rlctl config check
  assert_output "$users: 0 policies, no errors"
  assert_equal "$stderr" ''
  printf '[policy.a]\nkey="a"\nlimit="1/s"\n' >>"$users"
  run -0 rlctl config check
  assert_output "$users: 1 policy, no errors"
  run -0 rlctl --json config check
  assert_output "{\"file\":\"$users\",\"policies\":1,\"scripts\":0,\"libraries\":0}"
}

@test "config check warns of policies that share keys, but not the algorithm" {
  configure "$users" <<'END'
[policy.login]
key = "login:%s"
limit = "5/60s"
[policy.web]
key = "login:%s"
limit = "9/60s"
algorithm = "gcra"
END
  run -0 --separate-stderr rlctl config check
  assert_output "$users: 2 policies, no errors"
  assert_equal "$stderr" "rlctl: config: warning: $users:4: policies 'login' and 'web' have the same keys, but the \
algorithms sliding-window-log and gcra: on one server, each cannot use what the other stores"
  sed -i '/^algorithm/d' "$users"
  run -0 --separate-stderr rlctl config check
  assert_equal "$stderr" ''
}

@test "config check reports every mistake, and the other commands only the one that stops them" {
  printf '[policy.login]\nkey = "login:%%d"\nlimt = "5/60s"\n[polcy.x]\n' >"$users"
  local mistakes="rlctl: $users:1: policy 'login': limit is missing; write limit = \"5/60s\"
rlctl: $users:2: policy 'login': key: 'login:%d' has a % that is neither %s, an argument, nor %%, a percent sign
rlctl: $users:3: unknown key 'limt' in [policy.login]; did you mean 'limit'?
rlctl: $users:4: unknown table 'polcy'; did you mean 'policy'?"
  run -2 --separate-stderr rlctl config check
  assert_output ''
  assert_equal "$stderr" "$mistakes"
  run -2 --separate-stderr rlctl check --policy login alice
  assert_equal "$stderr" "${mistakes%%$'\n'*}
  hint: correct the file, or pass --limit instead of --policy; 'rlctl config check' shows 3 more errors"
  run -2 --separate-stderr rlctl config check --json
  assert_output ''
  assert_equal "$(gojq -r .error.message <<<"$stderr" | sed 's/^/rlctl: /')" "$mistakes"
  assert_equal "$(gojq -r .error.code <<<"$stderr" | sort -u)" configuration
}

@test "the number of mistakes includes those of scripts, whatever the call uses" {
  start_server
  printf '[policy.login]\nkey = "login:%%s"\n[script.bad]\nfile = "none.lua"\n' >"$users"
  run -2 --separate-stderr rlctl config check
  assert_equal "${#stderr_lines[@]}" 2
  run -2 --separate-stderr rlctl check --policy login ann
  assert_regex "$stderr" "; 'rlctl config check' shows 1 more error$"
  run -0 --separate-stderr rlctl check login:ann --limit 5/60s
  assert_regex "$stderr" "^rlctl: warning: .*; 'rlctl config check' shows 1 more error$"
}

@test "a mistake in a setting that a call does not use is a warning" {
  start_server
  cat >"$users" <<'END'
timeout = "30s"
colour = "red"
[policy.login]
key = "login:%s"
limit = "5/60s"
[policy.api]
key = "api:%s"
limit = "5/60q"
END
  local warning="rlctl: warning: $users:2: unknown key 'colour'; expected one of: url, password_file, tls, cacert, cert, key, sni, insecure, timeout, policy, script or library; 'rlctl config check' shows 1 more error"
  local call
  for call in 'check --policy login ann' 'check -q login:ann --limit 5/60s' \
    'check login:ann --limit 5/60s --json' 'inspect login:ann' 'reset -q login:ann' \
    'burst -q' 'debug gcra k --limit 5/60s --trace -q'; do
    # shellcheck disable=SC2086 # split into words
    run -0 --separate-stderr rlctl $call
    assert_equal "$stderr" "$warning"
  done
}

@test "a mistake in a setting that a call uses stops it, and the hint says how to go on" {
  local whole='correct the file, or pass --config /dev/null to ignore it'
  start_server
  echo 'timeout = "5"' >"$users"
  wrong "$users:1: timeout: '5' has no unit after 5; use us, ms, s, m, h or d" check k --limit 5/60s
  hint 'correct the file, or pass --timeout, or --config /dev/null to ignore the file'
  run -0 --separate-stderr rlctl check k --limit 5/60s --timeout 30s
  assert_equal "$stderr" ''
  run -0 rlctl check k --limit 5/60s --config /dev/null

  echo 'ulr = "redis://h"' >"$users"
  run -0 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "$stderr" "rlctl: warning: $users:1: unknown key 'ulr'; did you mean 'url'?"
  RLCTL_URL='' wrong "$users:1: unknown key 'ulr'; did you mean 'url'?" check k --limit 5/60s
  # Requests do not go to a server that was not meant.
  echo 'host = "10.0.0.5"' >"$users"
  RLCTL_URL='' wrong "$users:1: unknown key 'host'; the server is url = \"redis://HOST:PORT\"" check k --limit 5/60s
  hint 'correct the file, or pass --url, or --config /dev/null to ignore the file'

  echo 'timeout = ' >"$users"
  run -2 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "${stderr_lines[1]}" "  hint: $whole"
  assert_equal "${#stderr_lines[@]}" 2
  run -2 --separate-stderr rlctl check --policy login ann
  assert_equal "${stderr_lines[1]}" '  hint: correct the file, or pass --limit and --config /dev/null'

  printf 'url = 5\n[polcy.login]\n' >"$users"
  wrong "$users:2: unknown table 'polcy'; did you mean 'policy'?" check --policy login ann
  hint "correct the file, or pass --limit instead of --policy; 'rlctl config check' shows 1 more error"
}

@test "a password that others can read stops only a call that uses the URL" {
  start_server
  printf 'timeout = "30s"\nurl = "redis://u:geheim@h"\n' >"$users"
  run -0 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "$stderr" \
    "rlctl: warning: $users holds a password, and any user can read it (mode 0644)"
  RLCTL_URL='' wrong "$users holds a password, and any user can read it (mode 0644)" \
    check k --limit 5/60s
  hint "chmod 600 $users, or pass --url, or --config /dev/null to ignore the file"
}

@test "config check: invalid TOML is reported with its line" {
  printf '\nurl = "private:\n' >"$users"
  run -2 --separate-stderr rlctl config check
  assert_regex "$stderr" "^rlctl: $users:2: bad TOML in string: "
}

@test "control bytes in a file are not printed to the terminal" {
  printf 'url = "\\u001b[31m"\n[policy."\\u001b[32m"]\n' >"$users"
  run -2 rlctl config check
  refute_output --partial $'\e'
  printf '[policy."\\u001b[32m x"]\nkey = "\\u0007"\nlimit = "1/s"\n' >"$users"
  run -0 rlctl config show
  refute_output --partial $'\e'
  assert_line --regexp '^\\x1b\[32m\\x20x  \\x07  sliding-window-log  1/1s   -      -$'
  run -0 rlctl config show --json
  run -0 gojq -r '.policies[0].name' <<<"$output"
  assert_output $'\e[32m x'
}

# --- config show ---------------------------------------------------------------------------------------

some_policies() {
  cat >"$users" <<'END'
url = "unix:///run/redis.sock"

[policy.login]
key = "login:%s"
limit = "5/60s"
ipv6_prefix = 64

[policy.api]
key = "ä:%s"
algorithm = "gcra"
limit = ["10/s", "100/min"]

[policy.out]
key = "out"
algorithm = "leaky-bucket"
limit = ["1/s", "60/min"]
burst = 20
END
}

@test "config show: the settings with their sources, and the policies, in aligned columns" {
  some_policies
  run -0 --separate-stderr rlctl config show --timeout 2s
  assert_equal "$stderr" ''
  assert_output "file     $users
url      unix:///run/redis.sock$(printf "%$((${#users} - 22))s" '')  (file)
timeout  2s$(printf "%$((${#users} - 2))s" '')  (option)

policy  key       algorithm           limit          burst   ipv6_prefix
login   login:%s  sliding-window-log  5/60s          -       64
api     ä:%s      gcra                10/1s,100/60s  10,100  -
out     out       leaky-bucket        1/1s,60/60s    20      -"
}

@test "config show: columns are aligned even with wide and combining characters" {
  printf '[policy."登录"]\nkey = "用户:%%s"\nlimit = "5/60s"\n[policy."cafe\xcc\x81"]\nkey = "c"\nlimit = "1/s"\n' \
    >"$users"
  run -0 rlctl config show
  assert_line 'policy  key      algorithm           limit  burst  ipv6_prefix'
  assert_line '登录    用户:%s  sliding-window-log  5/60s  -      -'
  assert_line $'cafe\u0301    c        sliding-window-log  1/1s   -      -'
}

@test "config show NAME: only these policies, in this order" {
  some_policies
  run -0 rlctl config show out login
  assert_equal "$(sed -n '6,$s/ .*//p' <<<"$output")" $'out\nlogin'
}

@test "config show --json prints one object" {
  some_policies
  run -0 rlctl --json config show
  assert_equal "${#lines[@]}" 1
  assert_output "{\"file\":\"$users\",\"url\":\"unix:///run/redis.sock\",\"url_from\":\"file\",\"timeout_us\":1000000,\"timeout_from\":\"default\",\"cacert\":null,\"cert\":null,\"key\":null,\"sni\":null,\"password_file\":null,\"insecure\":false,\"policies\":[{\"name\":\"login\",\"key\":\"login:%s\",\"algorithm\":\"sliding-window-log\",\"limits\":[{\"limit\":5,\"window_us\":60000000,\"burst\":null}],\"ipv6_prefix\":64,\"line\":3},{\"name\":\"api\",\"key\":\"ä:%s\",\"algorithm\":\"gcra\",\"limits\":[{\"limit\":10,\"window_us\":1000000,\"burst\":10},{\"limit\":100,\"window_us\":60000000,\"burst\":100}],\"ipv6_prefix\":null,\"line\":8},{\"name\":\"out\",\"key\":\"out\",\"algorithm\":\"leaky-bucket\",\"limits\":[{\"limit\":1,\"window_us\":1000000,\"burst\":20},{\"limit\":60,\"window_us\":60000000,\"burst\":20}],\"ipv6_prefix\":null,\"line\":13}],\"scripts\":[]}"
}

@test "config show works without a file" {
  without_machine_file
  run -0 rlctl config show
  assert_output 'file     none
url      redis://127.0.0.1:6379  (default)
timeout  1s                      (default)'
  run -0 rlctl config show --json
  run -0 gojq -c '[.file, .policies]' <<<"$output"
  assert_output '[null,[]]'
}

# --- scripts -------------------------------------------------------------------------------------------

@test "config check and show include the scripts, whose files are relative to the configuration" {
  mkdir "${users%/*}/lua"
  echo 'return 1' >"${users%/*}/lua/count.lua"
  cat >"$users" <<'END'
[script.count]
file = "lua/count.lua"
keys = ["hist:{key}", "{now_s}"]
args = ["{limit}", "two words", ""]
allowed_when = "<=limit"

[script."a b"]
file = "/dev/null"
args = "{now_ms} 'two words'"
END
  run -0 rlctl config check
  assert_output "$users: 0 policies, 2 scripts, no errors"
  run -0 rlctl config show
  assert_line --regexp '^script +file +keys +args +allowed_when$'
  assert_line --regexp "^count +${users%/*}/lua/count\.lua +'hist:\{key\} \{now_s\}' +'\{limit\} .*' +<=limit$"
  assert_line --regexp '^a\\x20b +/dev/null +\{key\} +.* -$'
  sed -i "s/ 'two words'/ {limit}/" "$users"
  run -0 rlctl config show 'a b'
  assert_line --regexp "^a\\\\x20b +/dev/null +\{key\} +'\{now_ms\} \{limit\}'$"
  run -0 rlctl config show count --json
  assert_equal "$(jq -c '[.policies, .scripts]' <<<"$output")" "[[],[{\"name\":\"count\",\
\"file\":\"${users%/*}/lua/count.lua\",\"exec\":null,\"keys\":[\"hist:{key}\",\"{now_s}\"],\
\"function\":null,\"args\":\"{limit} 'two words' ''\",\"setup\":null,\"allowed_when\":\"<=limit\",\"denied_error\":null,\"delay\":null,\"remaining\":null,\"retry_after\":null,\"reset_after\":null,\"line\":1}]]"
  wrong "config: no policy 'cuont' in ${users/#$HOME/\~}, which has none" config show cuont
}

@test "config check and show include programs, whose folder is that of the configuration" {
  cat >"$users" <<'END'
[script.mine]
exec = "python3 'my limiter.py' --fast"
END
  run -0 rlctl config check
  assert_output "$users: 0 policies, 1 script, no errors"
  run -0 rlctl config show mine
  assert_line --regexp '^script +exec$'
  assert_line --regexp "^mine +'python3 .*my limiter\.py.* --fast'$"
  run -0 rlctl config show --json
  assert_equal "$(gojq -c '.scripts[0] | [.name, .file, .exec, .keys, .args, .line]' <<<"$output")" \
    "[\"mine\",null,\"python3 'my limiter.py' --fast\",[],null,1]"
  printf 'file = "a.lua"\nkeys = "{key}"\nallowed_when = "r"\n' >>"$users"
  run -2 --separate-stderr rlctl config check
  assert_equal "$(grep -c 'exec is a program, which takes nothing else' <<<"$stderr")" 3
  printf '[script.a]\nexec = ""\n[script.b]\nexec = ["sh"]\n[script.c]\nexec = "sh \x27"\n' >"$users"
  run -2 --separate-stderr rlctl config check
  assert_equal "$stderr" "rlctl: $users:2: script 'a': exec: the command is empty
rlctl: $users:4: script 'b': exec must be a string, not a list
rlctl: $users:6: script 'c': exec: 'sh '' has a quote that is not closed: '"
}

@test "config check reports every mistake in a script with its line" {
  mkdir "${users%/*}/folder"
  cat >"$users" <<'END'
[script.gcra]
file = "/dev/null"
[script."a/b"]
file = "/dev/null"
[script.bad]
file = "none.lua"
keys = ["{kye}"]
args = "'open"
alowed_when = "nil"
allowed_when = "yes"
delay = ["s"]
[script.folder]
file = "folder"
[script.none]
[script.wait]
file = "/dev/null"
delay = "r"
[script.lists]
file = "/dev/null"
keys = []
args = [1]
END
  run -2 --separate-stderr rlctl config check
  assert_equal "$stderr" "rlctl: $users:1: script 'gcra': a bundled script has this name
rlctl: $users:3: script 'a/b': --script takes this name for a file
rlctl: $users:6: script 'bad': file: cannot read '${users%/*}/none.lua': no such file or directory
rlctl: $users:7: script 'bad': keys: '{kye}' contains {kye}, which is not a placeholder; did you mean {key}?
rlctl: $users:8: script 'bad': args: ''open' has a quote that is not closed: '
rlctl: $users:9: script 'bad': unknown key 'alowed_when'; did you mean 'allowed_when'?
rlctl: $users:10: script 'bad': allowed_when: 'yes': unknown name 'yes' at column 1
rlctl: $users:11: script 'bad': delay must be a string, not a list
rlctl: $users:13: script 'folder': file: cannot read '${users%/*}/folder': is a directory
rlctl: $users:14: script 'none': file is missing; write file = \"my.lua\"
rlctl: $users:17: script 'wait': delay: 'r' has no unit; write 'r s', 'r ms' or 'r us'
rlctl: $users:21: script 'lists': args must be a string, or a list of them, not 1"
}

@test "mistakes in scripts do not concern other commands, and stop one that uses the script" {
  start_server
  printf '[script.bad]\nfile = "none.lua"\n[script.good]\nfile = "good.lua"\nargs = "{now}"\n' >"$users"
  echo 'return 1' >"${users%/*}/good.lua"
  run -0 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "$stderr" ''
  run -2 --separate-stderr rlctl burst --script bad
  assert_equal "${stderr_lines[0]}" \
    "rlctl: $users:2: script 'bad': file: cannot read '${users%/*}/none.lua': no such file or directory"
  hint 'correct the file, or name the file of the script instead'
  run -0 rlctl burst -q --script good
}

@test "config check counts the libraries, and finds each mistake in them; the keys of a bad row alone are unknown" {
  start_server
  printf '[library.acme]\nkey = "acme:left:*"\ntype = "string"\nvalue = "remaining"\nlimit = "7/60s"\n' >"$BATS_TEST_TMPDIR/c"
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c" config check
  assert_output --partial ': 0 policies, 1 library, no errors'
  printf '[library.bad]\nkey = "bad:*"\ntype = "string"\nvalue = "left"\n' >>"$BATS_TEST_TMPDIR/c"
  run -2 rlctl --config "$BATS_TEST_TMPDIR/c" config check
  assert_output --partial "c:9: library 'bad': value: must be one of: count, remaining, tat"
  cli MSET acme:left:ann 2 bad:ann 2 >/dev/null
  run -1 rlctl --config "$BATS_TEST_TMPDIR/c" quota -w 4 acme:left:ann
  run -3 rlctl --config "$BATS_TEST_TMPDIR/c" quota bad:ann --limit 5/60s
  assert_output --partial "has a mistake: library 'bad': value"
}
