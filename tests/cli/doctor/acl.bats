# needs: server
# What `rlctl doctor` says about the rules of a user. It takes them from the table of the hints, which access_rules.bats
# compares with the manual.

load ../../support/common

setup_file() { start_server; }

log='+evalsha +script|load +time +llen +lindex +rpush +ltrim +unlink +pttl +pexpire'
unknown="limiter' may call what check needs, with sliding-window-log:"
needed="# needed: ACL SETUSER limiter +evalsha '+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire; \
for inspect, list, audit and quota: ACL SETUSER limiter +time +type +pttl +getrange +llen +lindex +zcard +zcount +zrange +hlen \
+hmget +hgetall +watch +multi +exec +lrange +scan +info"
others='lacks +type +getrange +zrange +hlen +hmget for inspect, list, audit, quota, reset; lacks +zcard +zcount +hgetall for '\
'inspect, list, audit, quota; lacks +watch +multi +exec +lrange for inspect; lacks +scan for list, audit, a search without --limit; '\
'lacks +info for audit'
grants='for inspect, list, audit and quota: ACL SETUSER limiter +type +getrange +zcard +zcount +zrange +hlen +hmget +hgetall '\
'+watch +multi +exec +lrange +scan +info'

# says: each line of the input is rules, in which _ is a blank, " : ", and what the check acl says to a user with these, and
# what to do.
says() {
  local rules expected
  while IFS= read -r rules; do
    expected=${rules#* : }
    read -ra rules <<<"${rules% : *}"
    cli ACL SETUSER limiter reset on '>pw' '~login:*' "${rules[@]/_/ }" >/dev/null
    REDISCLI_AUTH=pw run rlctl doctor --user limiter --json
    assert_equal "$(gojq -r 'select(.check == "acl") | [.status, .detail, .fix] | join(" ")' <<<"$output")" "$expected"
  done
}

needs_plain_rules() {
  if cli INFO server | grep -q '^redis_version:6'; then skip 'needs Redis 7'; fi
}

@test "the rules that a user lacks are named, for each use, with the command that grants them" {
  needs_plain_rules
  says <<END
+@all +@list : ok user 'limiter' may call what check needs, with every algorithm 
$log +acl|getuser : ok user 'limiter' may call what check needs, with sliding-window-log; $others # $grants
$log +acl|getuser -time : failure user 'limiter' lacks +time for check with sliding-window-log; ${others/lacks/lacks +time} grant it: ACL SETUSER limiter +time; ${grants/limiter/limiter +time}
+@all -evalsha : failure user 'limiter' lacks +evalsha for check with sliding-window-log; lacks +evalsha for reset grant it: ACL SETUSER limiter +evalsha
+@all -script : failure user 'limiter' lacks +script|load for check with sliding-window-log; lacks +script|load for reset grant it: ACL SETUSER limiter '+script|load'
+@all -scan : ok user 'limiter' may call what check needs, with every algorithm; lacks +scan for list, audit, a search without --limit # for inspect, list, audit and quota: ACL SETUSER limiter +scan
+@all -unlink : ok user 'limiter' may call what check needs, with fixed-window, sliding-window-counter, token-bucket, gcra, leaky-bucket, budget; lacks +unlink for reset 
+@all -@list : warning not known whether user '$unknown its rules name categories or selectors $needed
-@all +@read +@write +@scripting +acl|getuser : warning not known whether user '$unknown its rules name categories or selectors $needed
+evalsha +script|load (+@all_~login:*) +acl|getuser : warning not known whether user '$unknown its rules name categories or selectors $needed
END
  run rlctl doctor
  assert_line --regexp "^ok +acl +user 'default' may call what check needs, with every algorithm"
}

@test "a user who may not call ACL GETUSER is told which rules are needed; only what a command has shown is known" {
  says <<END
$log : warning not known whether user '$unknown it may not call ACL GETUSER $needed
+@all -acl : warning not known whether user '$unknown it may not call ACL GETUSER $needed
$log -evalsha : failure user 'limiter' lacks +evalsha for check with sliding-window-log; lacks +evalsha for reset $needed
-@all : failure user 'limiter' lacks +script|load for check with sliding-window-log; lacks +script|load for reset $needed
END
  REDISCLI_AUTH=pw run -2 rlctl doctor --user limiter
  assert_line --regexp '^failure +scripts .*NOPERM'
}

@test "with policies, the user must be allowed what all of them use" {
  needs_plain_rules
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '[policy.%s]\nkey = "a:%%s"\nlimit = "5/60s"\nalgorithm = "%s"\n' a sliding-window-log >"$RLCTL_CONFIG"
  says <<<"$log +acl|getuser : ok user 'limiter' may call what check needs, with sliding-window-log; $others # $grants"
  printf '[policy.%s]\nkey = "b:%%s"\nlimit = "5/60s"\nalgorithm = "%s"\n' b gcra c fixed-window >>"$RLCTL_CONFIG"
  says <<END
$log +acl|getuser : failure user 'limiter' lacks +get +del +setrange +set for check with fixed-window, gcra; $others grant them: ACL SETUSER limiter +get +del +setrange +set; $grants
$log +acl|getuser +get +set +setrange +del : ok user 'limiter' may call what check needs, with fixed-window, sliding-window-log, sliding-window-counter, token-bucket, gcra, leaky-bucket; $others # $grants
END
}

@test "with the rules of doctor in rlctl-acl(7) everything is known; without any of them it is not" {
  cli CONFIG SET save '3600 1' >/dev/null
  local all rule rules
  # known RULE…: what it says, but not what depends on all rules or on time.
  known() {
    cli ACL SETUSER limiter reset on '>pw' "$@" >/dev/null
    REDISCLI_AUTH=pw run rlctl doctor --user limiter
    grep -vE '^[a-z]+ +(acl|connection|clock|memory) ' <<<"$output"
  }
  lines_of rules eval "sed -n '/^\*doctor\*/,/^$/p' '$project/man/rlctl-acl.7.scd' | grep -oE '\+[a-z|]+'"
  all=$(known "${rules[@]}")
  assert_equal "$(grep -c ^ok <<<"$all")" 7
  for rule in "${rules[@]}"; do
    assert_not_equal "$(known "${rules[@]}" "-${rule#+}")" "$all"
  done
  assert_regex "$(known "${rules[@]}" -info)" 'not known: the user may not call INFO.*grant it: ACL SETUSER limiter \+info'
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
