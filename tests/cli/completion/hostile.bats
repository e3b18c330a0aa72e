load ../../support/common

# Policies of a file that others wrote: what gets on the line must be the name, or nothing.

@test "bash offers no policy in such a way that a part of its name is executed or changed" {
  local plain=('a0plain' 'a1{x' 'a2:ann' 'a3=v=w' 'a4@example.com' 'a5é') \
    special=('b0 blank' "b1\$(touch hit)" 'b2`touch hit`' "b3'quote" 'b4"quote' 'b5\back' 'b6{x,y}' 'b7{1..3}'
      'b8;touch hit' 'b9*' 'c0!x' 'c1&touch hit' 'c2|touch hit' 'c3>hit' 'c4~' 'c5#' '~d' '#e') \
    hidden=($'f1\xc2\x9b$(touch hit)' $'f2\n$(touch hit)' $'f3\xe2\x80\xae$(touch hit)'
      $'f4\e[2Jx' $'f5\tx')
  local name
  cd "$BATS_TEST_TMPDIR"
  for name in "${plain[@]}" "${special[@]}" "${hidden[@]}"; do
    printf '[policy.%s]\nkey = "k"\nlimit = "5/60s"\n' "$(gojq -Rs . <<<"$name" | sed 's/\\n"$/"/')"
  done >config.toml
  export RLCTL_CONFIG=$PWD/config.toml
  run -0 rlctl config check
  cat >offer <<'END'
source <(rlctl completion bash)
# offer QUOTE TYPED: the words that bash would take from the line if it were run with each completion.
offer() {
  COMP_LINE="rlctl check --policy $1$2" COMP_WORDS=(rlctl check --policy "$1$2") COMP_CWORD=3
  COMP_POINT=${#COMP_LINE}
  _rlctl rlctl
  local match words
  for match in "${COMPREPLY[@]}"; do
    eval "words=($1$match$1)"
    printf '<%s>' "${words[@]}"
    echo
  done
}
while IFS= read -r typed; do
  for quote in '' '"' "'"; do offer "$quote" "$typed"; done
done
END
  # Special ones are offered without a quote, and with one where they can stand in it as they are; hidden ones never.
  printf '%s\n' "${plain[@]}" "${special[@]}" f1 f2 f3 f4 f5 f | cut -c1-"$(scaled 1 2)" | sort -u >typed
  run -0 bash offer <typed
  for name in "${plain[@]}" "${special[@]}"; do assert_line "<$name>"; done
  run -1 grep -vxFf <(printf '<%s>\n' "${plain[@]}" "${special[@]}") <<<"$output"
  assert_output ''
  # A locale that cannot show a letter: bash would write it as $'…'.
  echo a5 >typed
  LC_ALL=C run -0 bash offer <typed
  refute_output --partial '$'
  assert [ ! -e hit ]
}
