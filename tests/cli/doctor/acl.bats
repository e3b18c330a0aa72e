# needs: server
# Which rules `rlctl doctor` finds missing: those that the manual lists.

load ../../support/common

setup_file() { start_server; }

needs_plain_rules() {
  if cli INFO server | grep -q '^redis_version:6'; then skip 'servers before 7.0 report categories for rules'; fi
}

# What the check acl says, in one line with what to do, to the user limiter with these rules.
says() {
  cli ACL SETUSER limiter reset on '>pw' '~login:*' "$@" >/dev/null
  REDISCLI_AUTH=pw run rlctl doctor --user limiter --json
  gojq -r 'select(.check == "acl") | [.status, .detail, .fix // ""] | join(" ")' <<<"$output"
}

# What it says if the user may call ACL GETUSER besides.
says_knowing() { says "$@" '+acl|getuser'; }

# rules_of PAGE: the rules in the first block of the section ACCESS RULES of a page.
rules_of() {
  awk '/^# /{ on = /^# ACCESS RULES/ } /^```/ && on { if (block++) exit; next } on && block' \
    "$project/man/rlctl$1.scd" | grep -oE '\+\S+'
}

# without RULE RULE…: the others.
without() { printf '%s\n' "${@:2}" | grep -vxF -- "$1"; }

@test "a user with the rules of rlctl(1) may check, and lacks each rule that is taken away" {
  needs_plain_rules
  local rule rules rest
  lines_of rules rules_of .1
  run says_knowing "${rules[@]}"
  assert_output --partial "ok user 'limiter' may call what check needs, with sliding-window-log; lacks"
  for rule in "${rules[@]}"; do
    mapfile -t rest < <(without "$rule" "${rules[@]}")
    run says_knowing "${rest[@]}"
    assert_output --regexp "^failure user 'limiter' lacks \\${rule//|/\\|} for check with sliding-window-log(;| )"
    assert_output --regexp " grant it: ACL SETUSER limiter '?\\${rule//|/\\|}'?;"
  done
}

@test "the rules of other algorithms and commands are known too" {
  needs_plain_rules
  local command rule rules needed
  run says_knowing +evalsha '+script|load' +time +get +set +setrange +del +pttl +pexpire
  assert_output --partial 'with fixed-window, sliding-window-counter, token-bucket, gcra, leaky-bucket; lacks'
  run says +@all
  assert_output "ok user 'limiter' may call what check needs, with every algorithm "
  for command in inspect list quota reset; do
    lines_of rules rules_of "-$command.1"
    # What the command can do without.
    lines_of needed eval 'without +memory "${rules[@]}" | grep -vxF +scan'
    for rule in "${needed[@]}"; do
      run says +@all "-${rule#+}"
      assert_output --regexp "lacks [^;]*\\${rule//|/\\|}( [^;]*)? for [a-z, ]*$command"
    done
    run says_knowing "${rules[@]}" +evalsha '+script|load'
    refute_output --regexp "lacks [^;#]* for [a-z, ]*$command"
  done
  run says +@all -scan
  assert_output --partial "with every algorithm; lacks +scan for list, audit, a search without --limit"
}

@test "the printed command grants all that inspect, list, audit and quota need, and nothing else" {
  local rules asking command
  rlctl check -q login:ann --limit 5/60s
  lines_of rules rules_of .1
  needs_plain_rules
  for asking in '+acl|getuser' -acl; do
    cli ACL SETUSER limiter reset on '>pw' '~login:*' '~{login:*' "${rules[@]}" "$asking" >/dev/null
    REDISCLI_AUTH=pw run rlctl doctor --user limiter --json
    run gojq -r 'select(.check == "acl") | .fix' <<<"$output"
    assert_output --regexp 'for inspect, list, audit and quota: ACL SETUSER limiter [^;]*$'
    output=${output#*for inspect, list, audit and quota: }
    refute_output --regexp 'evalsha|script|unlink|del'
    eval "cli $output" >/dev/null
    for command in 'inspect login:ann' list audit 'quota login:ann --limit 5/60s'; do
      # shellcheck disable=SC2086 # one word for each argument
      REDISCLI_AUTH=pw run -0 --separate-stderr rlctl $command --user limiter
      refute_regex "$stderr" NOPERM
    done
  done
  # What the user may call already is not named.
  run says_knowing "${rules[@]}"
  output=${output#*for inspect, list, audit and quota: }
  for command in "${rules[@]}"; do refute_output --regexp "\\${command//|/\\|}( |'|$)"; done
}

@test "with policies, the user must be allowed what all of them use" {
  needs_plain_rules
  local rules
  lines_of rules rules_of .1
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '[policy.a]\nkey = "a:%%s"\nlimit = "5/60s"\n' >"$RLCTL_CONFIG"
  run says_knowing "${rules[@]}"
  assert_output --partial "ok user 'limiter' may call what check needs, with sliding-window-log; lacks"
  printf '[policy.%s]\nkey = "b:%%s"\nlimit = "5/60s"\nalgorithm = "%s"\n' b gcra c fixed-window >>"$RLCTL_CONFIG"
  run says_knowing "${rules[@]}"
  assert_output --partial "failure user 'limiter' lacks +get +del +setrange +set for check with fixed-window, gcra; lacks"
  assert_output --partial ' grant them: ACL SETUSER limiter +get +del +setrange +set'
  run says_knowing -@all
  assert_output --partial 'for check with fixed-window, sliding-window-log, gcra'
  run says_knowing "${rules[@]}" +get +set +setrange +del
  assert_output --partial "ok user 'limiter' may call what check needs, with"
}

@test "a user who may not call ACL GETUSER is told which rules are needed, and nothing is claimed" {
  local rules
  lines_of rules rules_of .1
  run says "${rules[@]}"
  assert_output --regexp "^warning not known whether user 'limiter' may call what check needs, \
with sliding-window-log: it may not call ACL GETUSER # needed: "
  diff <(sed 's/.*# needed: //; s/;.*//' <<<"$output" | grep -oE '\+\S+' | tr -d \' | sort) <(printf '%s\n' "${rules[@]}" | sort)
  run says '+@all' -acl
  assert_output --partial "warning not known whether user 'limiter' may call"
  # What a command itself has shown is known.
  run says "${rules[@]}" -evalsha
  assert_output --partial "failure user 'limiter' lacks +evalsha for check with sliding-window-log; lacks +evalsha for reset # needed: "
  run says -@all
  assert_output --partial 'failure'
  assert_output --partial "# needed: ACL SETUSER limiter +evalsha '+script|load' +time"
  run rlctl doctor
  assert_line --regexp "^ok +acl +user 'default' may call what check needs, with every algorithm"
}

@test "rules that name categories or selectors are not interpreted" {
  needs_plain_rules
  local rules each
  lines_of rules rules_of .1
  for each in '+@all -@list +acl' '+@all -@dangerous +acl|getuser' \
    '-@all +@read +@write +@scripting +@fast +acl|getuser' selector; do
    if [[ $each == selector ]]; then
      run says_knowing +evalsha '+script|load' '(+@all ~login:*)'
    else
      # shellcheck disable=SC2086 # one word for each rule
      run says $each
    fi
    assert_output --partial "warning not known whether user 'limiter' may call what check needs"
    assert_output --partial 'its rules name categories or selectors # needed: ACL SETUSER limiter +evalsha'
  done
  # A category that can only grant what is granted, or deny what is denied, leaves no doubt.
  run says '+@all' '+@list'
  assert_output --partial "ok user 'limiter' may call"
  run says_knowing '-@list' "${rules[@]}"
  assert_output --partial "ok user 'limiter' may call"
}

@test "INFO or CONFIG refused: what they would tell is not known, and the rule is named" {
  local rules
  lines_of rules rules_of .1
  run says "${rules[@]}"
  REDISCLI_AUTH=pw run -1 rlctl doctor --user limiter
  assert_line --regexp '^warning +memory +not known: the user may not call INFO$'
  assert_line --partial 'grant it: ACL SETUSER limiter +info'
  run says "${rules[@]}" +info
  REDISCLI_AUTH=pw run rlctl doctor --user limiter
  assert_line --regexp '^ok +memory'
}

# examine RULE…: what a user with these rules, and without access to any key, is told.
examine() {
  cli ACL SETUSER limiter reset on '>pw' "$@" >/dev/null
  REDISCLI_AUTH=pw run rlctl doctor --user limiter
}

@test "with the rules of its page everything is known; without any of them it is not" {
  cli CONFIG SET save '3600 1' >/dev/null
  local all rule rules rest
  lines_of rules rules_of -doctor.1
  examine "${rules[@]}"
  all=$(grep -vE '^[a-z]+ +(acl|connection|clock|memory) ' <<<"$output")
  assert_equal "$(grep -c ^ok <<<"$all")" 7
  for rule in "${rules[@]}"; do
    mapfile -t rest < <(without "$rule" "${rules[@]}")
    examine "${rest[@]}"
    if [[ $rule == +time ]]; then
      assert_line --partial 'ACL SETUSER limiter +time'
      continue
    fi
    assert_not_equal "$(grep -vE '^[a-z]+ +(acl|connection|clock|memory) ' <<<"$output")" "$all"
  done
}

@test "without EVALSHA or SCRIPT LOAD, scripts cannot run" {
  local command
  for command in evalsha 'script|load'; do
    run says +@all "-${command%|*}"
    assert_output --partial "failure user 'limiter' lacks +$command"
    REDISCLI_AUTH=pw run -2 rlctl doctor --user limiter
    assert_line --regexp '^failure +scripts .*NOPERM'
  done
}

@test "asking writes nothing, whatever the user may do" {
  cli FLUSHALL >/dev/null
  cli CONFIG RESETSTAT >/dev/null
  local rules
  # The last one may write keys that it may not read; only servers from 7.0 on have that.
  for rules in '+@all' '+@all ~*' '-@all +@write +evalsha +script ~*' '+@all %W~*'; do
    # shellcheck disable=SC2086 # one word for each rule
    cli ACL SETUSER limiter reset on '>pw' $rules >/dev/null 2>&1 || [[ $rules == *%* ]]
    REDISCLI_AUTH=pw run rlctl doctor --user limiter
    assert_line --regexp ' connection '
  done
  assert_equal "$(cli DBSIZE)" 0
  assert_equal "$(cli INFO commandstats | grep -E '^cmdstat_(set|rpush|setrange|zadd|del|unlink|pexpire|ltrim):calls=[1-9]')" ''
}
