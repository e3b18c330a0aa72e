# needs: server
load ../../support/common

# What `rlctl lint` finds in each script of examples/pitfalls, line by line. The flaws of windows that have an
# edge are not among it: `rlctl burst adversary` finds those.

setup() { cd "$project/examples/pitfalls" || return; }

# finds FILE OPTION… -- [FINDING SEVERITY TEXT]…: exactly these, at the only line of code that contains the text; without
# a line if it is -.
finds() {
  local file=$1 line options=() expected=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  while (($#)); do
    line=$(awk -v text="$3" '!/^--/ && text != "-" && index($0, text) { print NR }' "$file")
    expected+=("$line $1 $2")
    shift 3
  done
  run -0 --separate-stderr gojq -r 'select(.finding) | [.line, .finding, .severity] | join(" ")' < <(
    rlctl lint "$file" --json "${options[@]}" 2>"$BATS_TEST_TMPDIR/errors"
  )
  assert_equal "$(sort -n <<<"$output")" "$( ((${#expected[@]})) && printf '%s\n' "${expected[@]}" | sort -n)"
}

@test "times as members: requests that share one" {
  finds times-as-members.lua --args '{now_ms} {window_ms}' --allowed-when '<=limit' -- \
    non-unique-member critical "'ZADD'" denied-write critical "'ZADD'"
  finds check-then-add.lua --args '{now_ms} {window_ms} {limit}' -- non-unique-member critical "'ZADD'"
}

@test "counting before pruning, and recording denied requests" {
  finds counts-before-pruning.lua --limit 1/1s --args '{now_ms} {window_ms} {limit} {id}' -- \
    late-pruning critical "'ZCARD'"
  finds records-denials.lua --args '{now_ms} {window_ms} {id}' --allowed-when '<=limit' -- \
    denied-write critical "'ZADD'"
}

@test "whole seconds: critical for a window of one, a warning for a window of a minute" {
  finds whole-seconds.lua --limit 10/1s --args '{now_s} {window_s} {limit} {id}' -- coarse-time critical "'ZADD'"
  finds whole-seconds.lua --args '{now_s} {window_s} {limit} {id}' -- coarse-time warning "'ZADD'"
  finds whole-seconds.lua --limit 5/1h --args '{now_s} {window_s} {limit} {id}' --
}

@test "seconds as text: lost digits, shared members, no TTL" {
  finds seconds-as-text.lua --limit 30000/1s --args '{now} {limit}' --allowed-when always --delay 'tonumber(r) s' -- \
    number-as-text warning "'ZADD'" non-unique-member critical "'ZADD'" no-ttl warning "'ZADD'"
}

@test "windows with an edge have no findings, but the command that searches for one" {
  finds minute-counter.lua --limit 3/60s --keys '{key}:{window_index}' --args '{limit} {window_s}' \
    --allowed-when nil --
  finds five-second-counter.lua --limit 10/5s --keys '{key}:{window_index}' --allowed-when '<=limit' --
  finds first-request-window.lua --limit 10/2s --args '{window_s}' --allowed-when '<=limit' --
  run -0 rlctl lint first-request-window.lua --limit 10/2s --args '{window_s}' --allowed-when '<=limit'
  local command=${lines[-1]#    }
  assert_equal "$command" "rlctl burst adversary --script first-request-window.lua --limit 10/2s --args '{window_s}' \
--allowed-when '<=limit'"
  run -0 bash -c "$command --tries 2000"
  assert_output --partial '1.90× the limit'
}

@test "semaphores: slots that are lost, and releases that free another's" {
  local leases=(--concurrency 2 --lease 10s)
  finds negative-counter.lua "${leases[@]}" --args '{event} {limit}' -- endless-lease critical - frees-another critical -
  finds dead-members.lua "${leases[@]}" --args '{event} {limit} {lease_ms} {holder}' -- lost-slot critical -
  finds frees-the-next.lua --concurrency 1 --lease 10s --args '{event} {lease_ms} {holder}' -- frees-another critical -
}

@test "budgets: units that are given back twice, and holds without an end" {
  local budget=(--limit 10/60s --reserve 10 --hold 10s)
  finds double-refund.lua "${budget[@]}" --settle double-refund-settle.lua \
    --args '{limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}' -- double-refund critical -
  finds dead-holds.lua "${budget[@]}" --args '{event} {limit} {window_ms} {now_ms} {reservation} {cost} {actual}' -- \
    endless-hold critical - no-ttl warning -
}

@test "each script of the folder is examined above" {
  local file
  for file in *.lua; do
    [[ $file != *-settle.lua ]] || continue
    grep -q "finds $file" "$BATS_TEST_FILENAME" || fail "$file is not"
  done
}
