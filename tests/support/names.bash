# shellcheck shell=bash
# is_named FILE NAME…: whether a test file, by its path in tests/, is one of those that the user has named: by its
# path, or the end of its path, with or without suffix, or its folder, or a pattern. Without names, each is.
is_named() {
  local file=/tests/$1 name
  shift
  (($#)) || return 0
  for name; do
    name=${name%/}
    name=/${name#./}
    # A name may be a pattern.
    # shellcheck disable=SC2254
    case $file in *$name | *$name.bats | *$name.cc | *$name/*) return 0 ;; esac
  done
  return 1
}

# without_files FILES NAME…: the names that name none of the FILES, one to a line.
without_files() {
  local files=$1 file name
  shift
  for name; do
    for file in $files; do
      if is_named "$file" "$name"; then continue 2; fi
    done
    echo "$name"
  done
}
