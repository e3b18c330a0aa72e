load ../support/common

# version_text: what --version prints.
version_text() {
  printf '%s\n' 'rlctl [0-9]+\.[0-9]+\.[0-9]+' 'MIT licence; [A-Za-z]+ build by [A-Za-z]+ [0-9.]+' 'Scripts:'
  (cd "$project/lua" && sha1sum -- *.lua) | awk '{ sub(/\.lua$/, "", $2); printf "  %-24s%s\n", $2, $1 }' | LC_ALL=C sort
}

@test "the version has the licence, the build and the SHA1 of each script" {
  run -0 rlctl version
  local text=$output i version
  assert_equal "${#lines[@]}" "$(version_text | wc -l)"
  for i in 0 1 2; do assert_line --index "$i" --regexp "^$(version_text | sed -n "$((i + 1))p")\$"; done
  run -0 diff <(version_text | sed 1,3d) <(sed 1,4d <<<"$text" | LC_ALL=C sort)
  version=$(sed -n '1s/rlctl //p' <<<"$text")
  run -0 rlctl version --json
  assert_equal "$(jq -r 'keys_unsorted, .version | @text' <<<"$output")" \
    "[\"version\",\"licence\",\"build\",\"scripts\"]"$'\n'"$version"
  assert_equal "$(gojq -r '.scripts | to_entries[] | "\(.value)  \(.key).lua"' <<<"$output" | LC_ALL=C sort -k2)" \
    "$(cd "$project/lua" && sha1sum -- *.lua)"
}
