# readme_is_true README [FILTER…]: the commands in the README's blocks of the language "console" print what is shown
# there. A command begins with "$ " and continues after "> "; a last line "…" stands for the rest of its output. The filter
# removes what differs from run to run.
readme_is_true() {
  local line i commands=() shown=() is_cut=() here=$BATS_TEST_TMPDIR/readme
  local filter=("${@:2}")
  ((${#filter[@]})) || filter=(cat)
  mkdir "$here"
  awk '/^ *```$/ { on = 0 } on; /^ *```console$/ { on = 1 }' "$1" >"$here/shown"
  while IFS= read -r line; do
    case $line in
      '$ '*) commands+=("${line:2}") && shown+=(0) ;;
      '> '*) commands[-1]+=$'\n'${line:2} ;;
      '…') is_cut[${#commands[@]} - 1]=yes ;;
      *) shown[-1]=$((shown[-1] + 1)) ;;
    esac
  done <"$here/shown"
  assert [ "${#commands[@]}" != 0 ]
  for i in "${!commands[@]}"; do
    printf "cat <<'END-OF-SHOWN'\n%s\nEND-OF-SHOWN\n" "$(sed '1s/^/$ /; 2,$s/^/> /' <<<"${commands[i]}")"
    if [[ ${is_cut[i]-} ]]; then
      printf "{ %s\n} | awk 'NR <= %d; NR == %d + 1 { print \"…\" }'\n" "${commands[i]}" "${shown[i]}" "${shown[i]}"
    else
      printf '%s\n' "${commands[i]}"
    fi
  done >"$here/session"
  bash "$here/session" >"$here/came" 2>&1 </dev/null || true
  diff <("${filter[@]}" <"$here/shown") <("${filter[@]}" <"$here/came")
}

# A filter for readme_is_true: times depend on how long the commands take, and on when they run.
without_times() {
  sed -E 's/[0-9]+\.[0-9]{3}s/N.NNNs/g; s/[0-9]+\.[0-9]+ m?s/N.N s/g; s/[0-9.]+ s later/N s later/
    s/(;t=|^Retry-After: )[0-9]+/\1N/; s/has [0-9]+ seconds/has N seconds/; s/[0-9.]+% used .*resets.*/N% used/
    s/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/TIME/; s/[0-9]+ [A-Z][a-z]+ [0-9]{4}/DATE/'
}
