# The files of a release, which packaging/release has put into $RLCTL_TEST_PACKAGES, and systems to try them in.

# name_artefacts: sets the names of the files that are for this machine.
name_artefacts() {
  export deb tarball wheel
  [[ -n ${RLCTL_TEST_PACKAGES:-} ]] || return 0
  deb=$(echo "$RLCTL_TEST_PACKAGES"/rlctl_*_"$(dpkg --print-architecture)".deb)
  tarball=$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*-"$(uname -m)".tar.gz)
  wheel=$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*_"$(uname -m)".whl)
}

needs_artefacts() {
  [[ -n ${RLCTL_TEST_PACKAGES:-} ]] || skip 'needs a release, which .ci/run packages makes'
}

# needs_system SUITE PACKAGES [OPTION OF mmdebstrap…]: makes $root, a system of this suite, from $mirror if it is not Debian,
# with these packages, which commas separate; or skips the test. It is made once for all tests of a file and copied. A
# mirror may be slow: one system takes 10 to 100 s.
needs_system() {
  local kept
  root=$BATS_TEST_TMPDIR/root
  needs_root
  needs mmdebstrap
  kept=$BATS_FILE_TMPDIR/$1.tar
  if [[ ! -e $kept.log ]]; then
    timeout 400 mmdebstrap --variant=minbase --include="$2" "${@:3}" "$1" "$kept" \
      ${mirror:+"$mirror"} >"$kept.log" 2>&1 || {
      rm -f "$kept"
      sed 's/^/# /' "$kept.log" >&3
    }
  fi
  [[ -e $kept ]] || skip "needs a mirror of $1 from which mmdebstrap makes a system within 400 s"
  mkdir "$root"
  tar -C "$root" -xf "$kept"
}

# in_root COMMAND…: runs it in $root, where nothing of the environment is set.
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/root "$@"; }

# start_root_server: a Redis server in $root, at the socket /tmp/redis.socket there.
start_root_server() {
  start_bound chroot "$root" /usr/bin/redis-server --port 0 --unixsocket /tmp/redis.socket --save '' --appendonly no \
    >"$BATS_TEST_TMPDIR/server.log" 2>&1
  wait_until test -S "$root/tmp/redis.socket"
}

# ---- The rlctl in each file does what the one that was built does ----

# Ten commands, one to a line. Those of which a server is asked come first.
artefact_commands() {
  cat <<'END'
check k --limit 2/60s --now 1800000000000000
check k --limit 1/60s --now 1800000001000000 --json
check g --algorithm gcra --limit 10/s --burst 3 --cost 2 --now 1800000000000000
inspect k --limit 2/60s --now 1800000010000000
reset k --limit 2/60s
burst all --limit 1000/60s --json
adversary token-bucket --limit 5/60s --tries 2000 --json
lint -
debug gcra k --limit 1/60s --now 1800000000000000 --trace -q
scripts show budget
END
}

# What rlctl, called by these words, answers to the ten commands, and their statuses. What depends on a system's servers
# is left out.
answers_of() {
  local -a words
  cli FLUSHALL >/dev/null
  while read -ra words <&4; do
    "$@" "${words[@]}" <"$project/examples/pitfalls/minute-counter.lua" 2>&1 || echo "status $?"
  done 4< <(artefact_commands) |
    sed -E '/^now /d; s/"confirmation":\{[^}]*\}//; s/"bytes_per_key":(null|[0-9]+)//g; s/[0-9]+ bytes/bytes/; s/ttl .*//'
}

# runs_as_built COMMAND…: this rlctl answers what the built one answers, with the same server.
runs_as_built() {
  local -x LANG=C.UTF-8
  answers_of rlctl >"$BATS_TEST_TMPDIR/answers-of-built"
  answers_of "$@" >"$BATS_TEST_TMPDIR/answers"
  cmp "$BATS_TEST_TMPDIR/answers-of-built" "$BATS_TEST_TMPDIR/answers" ||
    fail "$(diff "$BATS_TEST_TMPDIR/answers-of-built" "$BATS_TEST_TMPDIR/answers" | head -n 20)"
}
