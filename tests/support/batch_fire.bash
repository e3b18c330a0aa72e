# Helpers for tests that check a batch while its servers move slots, fail over or die. A test feeds the batch in
# portions, so that events come between its lines however fast the machine is.
#
#   start_batch OPTION…   Starts `rlctl check --batch` in the background. $lines lines name $keys keys in turn.
#   feed SHARE            Feeds it so many hundredths of the lines; returns once it has read most of them.
#   wait_for_connections  Waits until it has answered a line of each key, so that it is connected to all nodes.
#   end_batch             Feeds the rest, waits for the end, and sets $status.
#   check_answers         Every line is answered once, in order: by a decision, or by an error that says that
#                         it may have been counted or that it was not sent. Writes a row for each key to $counts:
#                         KEY ASKED ALLOWED DENIED IN-DOUBT NOT-SENT.
#   add_units SOCKET…     Adds to each row how many units its key holds, in a server that has it.
#   every CONDITION       Whether the condition, in awk, is true of every row; variables are asked, allowed,
#                         denied, doubt, unsent, units and limit. Prints those for which it is not.

lines=$(scaled 40000 100000) keys=400 limit=$((lines / 1000))

start_batch() {
  input=$BATS_TEST_TMPDIR/input answers=$BATS_TEST_TMPDIR/answers counts=$BATS_TEST_TMPDIR/counts
  seq "$lines" | awk -v keys="$keys" '{ print "key:" $1 % keys }' >"$input"
  mkfifo "$BATS_TEST_TMPDIR/pipe"
  bound rlctl check --limit "$limit/1000h" "$@" --batch "$BATS_TEST_TMPDIR/pipe" >"$answers" \
    2>"$BATS_TEST_TMPDIR/stderr" 3>&- &
  batch=$!
  exec {to_batch}>"$BATS_TEST_TMPDIR/pipe" {from_input}<"$input"
}

# head leaves a file's offset after the last line that it has printed.
feed() { head -n $((lines * $1 / 100)) <&"$from_input" >&"$to_batch"; }

wait_for_connections() { wait_until eval '(($(wc -l <"$answers") > keys))'; }

end_batch() {
  cat <&"$from_input" >&"$to_batch"
  exec {to_batch}>&- {from_input}<&-
  # For the test.
  # shellcheck disable=SC2034
  status=0
  # shellcheck disable=SC2034
  wait "$batch" || status=$?
}

check_answers() {
  awk '
    NR == FNR { key[++n] = $1; asked[$1]++; next }
    function bad(why) { print why ": " FNR ": " $0; failed = 1; exit 1 }
    {
      answers = FNR
      k = key[FNR]
      if ($1 == "allowed" || $1 == "denied") {
        if ($2 != "key=" k) bad("not the answer for " k)
        if ($1 == "allowed") allowed[k]++; else denied[k]++
      } else if ($1 == "error") {
        if ($2 != "line=" FNR) bad("not in order")
        if (/may have been counted/) doubt[k]++
        else if (/not sent|not asked/) unsent[k]++
        else bad("a wrong error")
      } else bad("no answer")
    }
    END {
      if (failed) exit 1
      if (answers != n) { print answers " answers for " n " lines"; exit 1 }
      for (k in asked) print k, asked[k], allowed[k] + 0, denied[k] + 0, doubt[k] + 0, unsent[k] + 0
    }' "$input" "$answers" | sort >"$counts"
  ((PIPESTATUS[0] == 0)) || { cat "$counts" >&2 && return 1; }
}

add_units() {
  local server
  for server; do
    # Blank lines follow errors.
    cut -d' ' -f1 "$counts" | sed "s/.*/LLEN ${units_key:-&}/" | redis-cli -s "$server" | grep . |
      paste -d' ' <(cut -d' ' -f1 "$counts") - | awk 'NF == 2 && $2 ~ /^[0-9]+$/'
  done | sort >"$counts.units"
  join "$counts" "$counts.units" >"$counts.all"
  assert_equal "$(wc -l <"$counts.all")" "$(wc -l <"$counts")"
  mv "$counts.all" "$counts"
}

every() {
  awk -v limit="$limit" '{
    asked = $2; allowed = $3; denied = $4; doubt = $5; unsent = $6; units = $7
    least = asked < limit ? asked : limit
    if (!('"$1"')) { print; failed = 1 }
  } END { exit failed }' "$counts" >&2
}
