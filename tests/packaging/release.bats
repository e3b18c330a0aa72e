load ../support/common

# packaging/release itself: its usage, its errors, and what an interrupted one leaves. packages.bats tests what it
# makes.

# A copy whose packages are there and in which every build takes a minute.
setup() {
  export TMPDIR=$BATS_TEST_TMPDIR/tmp SOURCE_DATE_EPOCH=1800000000
  mkdir -p "$TMPDIR" "$BATS_TEST_TMPDIR/copy/cmake" "$BATS_TEST_TMPDIR/bin"
  cd "$BATS_TEST_TMPDIR/copy"
  cp -R "$project/packaging" "$project/CMakeLists.txt" "$project/CHANGELOG.md" .
  sed 's/^prepare() {/&\nreturn/' "$project/cmake/prepare.sh" >cmake/prepare.sh
  cp -R "$project/cmake/toolchains" cmake/
  printf '#!/bin/sh\nexec sleep 60\n' >../bin/cmake
  chmod +x ../bin/cmake
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# release_fails STATUS MESSAGE ARGUMENT…: packaging/release ends with this message and leaves nothing.
release_fails() {
  run "-$1" packaging/release "${@:3}"
  assert_output "packaging/release: $2"
  assert_equal "$(find "$TMPDIR" -mindepth 1)" ''
}

@test "--help prints how it is used; wrong usage is an error of status 2" {
  run -0 packaging/release --help
  assert_line '  packaging/release [--only-deb] [--only MACHINE] [--from URL] [--build FOLDER] [DIR]'
  release_fails 2 "unknown option '--dir'; see packaging/release --help" --dir
  release_fails 2 "unexpected argument 'b'; see packaging/release --help" a b
  release_fails 2 '--only needs a value; see packaging/release --help' --only
  release_fails 2 "there is no machine 'riscv64' in packaging/targets" --only riscv64
  [[ ! -e a && ! -e dist ]]
}

@test "without a date or a section in the change log, there is no release" {
  SOURCE_DATE_EPOCH=today release_fails 1 "SOURCE_DATE_EPOCH is 'today', but must be a number"
  unset SOURCE_DATE_EPOCH
  GIT_CEILING_DIRECTORIES=/ GIT_DIR=/nowhere release_fails 1 \
    "the sources are not in a git repository: set SOURCE_DATE_EPOCH, the release's date in seconds since 1970"
  sed -i '/^## /d' CHANGELOG.md
  release_fails 1 "CHANGELOG.md has no section '## $(rlctl --version | sed -n '1s/^rlctl //p') – YYYY-MM-DD'"
}

@test "a build that fails ends it with the build's messages and leaves nothing" {
  printf '#!/bin/sh\necho "no such compiler"\nexit 1\n' >../bin/cmake
  run -1 packaging/release
  assert_line 'no such compiler'
  assert_equal "$(find "$TMPDIR" dist -mindepth 1)" ''
}

@test "an interrupted release leaves nothing" {
  local signal release ended
  for signal in INT TERM HUP; do
    rm -f out
    # In its own process group, as on a terminal, and with the default SIGINT.
    perl -e 'setpgrp; $SIG{INT} = "DEFAULT"; exec @ARGV' packaging/release >out 2>&1 3>&- &
    release=$!
    wait_until eval 'pgrep -g "$release" -x sleep >/dev/null'
    kill "-$signal" -- "-$release"
    ended=0
    wait "$release" || ended=$?
    assert_equal "$ended" "$((128 + $(kill -l "$signal")))"
    assert_equal "$(find "$TMPDIR" dist -mindepth 1)" ''
  done
}

@test "the change log and the licence become Debian's" {
  mkdir -p doc man/man1
  cat >doc/CHANGELOG.md <<'END'
# Changes

## Unreleased

- A thing that no version has.

## 1.3.0 – not released yet

- A thing without a date.

## 1.2.0 – 2026-02-03

Two things changed.

- The first, which takes more words than fit into one line of Debian's change logs, so that it
  is wrapped.
- The second.

## 1.1.0 – 2025-12-31

- The beginning.
END
  cp "$project/LICENSE" doc/
  echo page >man/man1/rlctl.1
  run -0 packaging/debian-files doc man 'Some Body <somebody@example.org>'
  run -0 zcat doc/changelog.gz
  assert_output 'rlctl (1.3.0) stable; urgency=medium

  * A thing without a date.

 -- Some Body <somebody@example.org>  Fri, 15 Jan 2027 08:00:00 +0000

rlctl (1.2.0) stable; urgency=medium

  * Two things changed.
  * The first, which takes more words than fit into one line of Debian'"'"'s
    change logs, so that it is wrapped.
  * The second.

 -- Some Body <somebody@example.org>  Tue, 03 Feb 2026 00:00:00 +0000

rlctl (1.1.0) stable; urgency=medium

  * The beginning.

 -- Some Body <somebody@example.org>  Wed, 31 Dec 2025 00:00:00 +0000'
  run -0 cat doc/copyright
  assert_line 'Copyright: 2026 The rlctl authors'
  assert_line ' THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR'
  [[ ! -e doc/LICENSE && ! -e doc/CHANGELOG.md && -e man/man1/rlctl.1.gz ]]
}
