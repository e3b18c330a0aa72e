# needs: server
load ../support/common

# What `cmake --install` installs.

# expected_files: each file that is installed, relative to the prefix.
expected_files() {
  local page
  cd "$project"
  echo bin/rlctl
  printf 'share/doc/rlctl/%s\n' CHANGELOG.md LICENSE README.md
  find examples -type f -printf 'share/doc/rlctl/%p\n'
  printf 'share/rlctl/%s\n' lua/*.lua libraries.toml
  if [[ -d schema ]]; then find schema -type f -printf 'share/rlctl/%p\n'; fi
  echo share/bash-completion/completions/rlctl
  echo share/fish/vendor_completions.d/rlctl.fish
  echo share/zsh/vendor-completions/_rlctl
  for page in man/*.scd; do
    page=${page#man/} page=${page%.scd}
    echo "share/man/man${page##*.}/$page"
  done
}

installed_files() { (cd "$1" && find . ! -type d -printf '%P\n'); }

@test "cmake --install installs nothing but what is expected, it works from there, and a list of it removes it" {
  local prefix=$BATS_TEST_TMPDIR/prefix
  run -0 cmake --install "$RLCTL_BUILD" --prefix "$prefix"
  run -0 diff <(expected_files | sort) <(installed_files "$prefix" | sort)
  start_server
  cd /
  run -0 env -i PATH="$prefix/bin:/usr/bin:/bin" RLCTL_URL="$RLCTL_URL" rlctl check k --limit 1/60s
  run -0 mandoc -T lint -W error "$prefix"/share/man/man?/*
  run -0 cli --eval "$prefix/share/rlctl/lua/gcra.lua" other , 1 60e6
  # The examples that are programs can be executed.
  [[ -x $prefix/share/doc/rlctl/examples/shell/login ]]
  xargs -d '\n' rm <"$RLCTL_BUILD/install_manifest.txt"
  assert_equal "$(installed_files "$prefix")" ''
}

@test "cmake --install writes below DESTDIR only" {
  local prefix=$BATS_TEST_TMPDIR/prefix
  DESTDIR=$BATS_TEST_TMPDIR/root run -0 cmake --install "$RLCTL_BUILD" --prefix "$prefix"
  [[ ! -e $prefix ]]
  run -0 diff <(expected_files | sort) <(installed_files "$BATS_TEST_TMPDIR/root$prefix" | sort)
}
