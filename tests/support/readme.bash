# readme_is_true README [FILTER…]: the commands in the README's blocks of the language "console" print what is shown
# there. A command begins with "$ " and continues after "> "; the filter removes what differs from run to run.
readme_is_true() {
  local line command commands=() here=$BATS_TEST_TMPDIR/readme
  local filter=("${@:2}")
  ((${#filter[@]})) || filter=(cat)
  mkdir "$here"
  awk '/^ *```$/ { on = 0 } on; /^ *```console$/ { on = 1 }' "$1" >"$here/shown"
  while IFS= read -r line; do
    case $line in
      '$ '*) commands+=("${line:2}") ;;
      '> '*) commands[-1]+=$'\n'${line:2} ;;
    esac
  done <"$here/shown"
  assert [ "${#commands[@]}" != 0 ]
  for command in "${commands[@]}"; do
    printf "cat <<'END-OF-SHOWN'\n%s\nEND-OF-SHOWN\n%s\n" "$(sed '1s/^/$ /; 2,$s/^/> /' <<<"$command")" "$command"
  done >"$here/session"
  bash "$here/session" >"$here/came" 2>&1 </dev/null || true
  diff <("${filter[@]}" <"$here/shown") <("${filter[@]}" <"$here/came")
}
