# needs: server
load ../support/common
load ../support/tls
load artefact

# The files of a release, which packaging/release has put into $RLCTL_TEST_PACKAGES, in systems of their own.
# `.ci/run packages` makes them and runs these tests.

setup_file() { name_artefacts; }

setup() { needs_artefacts; }

# files_in_root: all files with their type, mode, owner and contents, but not the logs and caches of dpkg.
files_in_root() {
  (
    cd "$root"
    find . \( -path './var/lib/dpkg/*-old' -o -path './var/log/*' -o -path './var/cache/*' \) -prune \
      -o \( -type f -printf '%p %m %u %g ' -exec sha256sum {} \; \) -o -printf '%p %y %m %u %g %l\n'
  ) | sort
}

@test "SHA256SUMS is right and complete" {
  cd "$RLCTL_TEST_PACKAGES"
  run -0 sha256sum --check --strict SHA256SUMS
  run -0 diff <(awk '{ print $2 }' SHA256SUMS | sort) <(find . ! -name SHA256SUMS -type f -printf '%P\n' | sort)
}

@test "the files in the packages belong to root, and all in the tarball have the date of the release" {
  run -0 tar --numeric-owner --utc --full-time -tvzf "$tarball"
  assert_equal "$(awk '{ print $2, $4, $5 }' <<<"$output" | sort -u | wc -l)" 1
  assert_line --regexp '^-rwxr-xr-x 0/0 .*/bin/rlctl$'
  dpkg-deb --fsys-tarfile "$deb" >"$BATS_TEST_TMPDIR/data.tar"
  run -0 tar --numeric-owner -tvf "$BATS_TEST_TMPDIR/data.tar"
  assert_equal "$(awk '{ print $2 }' <<<"$output" | sort -u)" 0/0
}

@test "the extension is the one that packaging/vsix makes, with the date of the release" {
  run -0 python3 -m zipfile -l "$(echo "$RLCTL_TEST_PACKAGES"/rlctl-*.vsix)"
  refute_output --partial 1980
  "$project/packaging/vsix" "$BATS_TEST_TMPDIR/again.vsix"
  cmp "$RLCTL_TEST_PACKAGES"/rlctl-*.vsix "$BATS_TEST_TMPDIR/again.vsix"
}

@test "lintian finds no error and no warning in the Debian packages" {
  needs lintian
  run -0 lintian --no-cfg --fail-on error,warning "$RLCTL_TEST_PACKAGES"/rlctl_*.deb
}

@test "the Debian package is installed, each command runs, and purging it leaves no trace" {
  # shellcheck source=/dev/null
  needs_system "$(. /etc/os-release && echo "$VERSION_CODENAME")" redis-server,libssl3,mandoc
  files_in_root >"$BATS_TEST_TMPDIR/before"
  cp "$deb" "$root/rlctl.deb"
  run -0 in_root dpkg -i /rlctl.deb
  rm "$root/rlctl.deb"
  run -0 in_root rlctl --version


  local command commands page
  mapfile -t commands < <(in_root rlctl --help | sed -n '/^Commands/,/^$/s/^  \([a-z]\+\) .*/\1/p')
  ((${#commands[@]} >= 13))
  for command in "${commands[@]}"; do run -0 in_root rlctl help "$command"; done
  for page in "$project"/man/*.scd; do
    page=${page##*/} page=${page%.scd}
    in_root mandoc -T ascii "/usr/share/man/man${page##*.}/$page.gz" >"$BATS_TEST_TMPDIR/page"
    # Bold letters are printed twice, with a step back.
    run -0 grep -c '^N.NA.AM.ME.E$' "$BATS_TEST_TMPDIR/page"
  done

  start_root_server
  local url=unix:///tmp/redis.socket
  run -0 in_root rlctl -u "$url" check k --limit 1/60s
  run -1 in_root rlctl -u "$url" check k --limit 1/60s
  run -0 in_root rlctl -u "$url" run job --limit 1/60s -- true
  run -0 in_root rlctl -u "$url" inspect k --limit 1/60s
  run -0 in_root rlctl -u "$url" list
  run -0 in_root rlctl -u "$url" audit
  run -2 in_root rlctl -u "$url" quota k --limit 1/60s
  run -0 in_root rlctl -u "$url" doctor
  run -0 in_root rlctl -u "$url" scripts load
  run -0 in_root rlctl -u "$url" reset k
  run -1 in_root rlctl config check # there is none
  run -0 in_root rlctl burst
  run -0 in_root rlctl lint /usr/share/rlctl/lua/gcra.lua
  run -0 in_root rlctl debug gcra k --limit 1/60s --trace
  stop_servers
  rm "$root/tmp/redis.socket"

  run -0 in_root dpkg --purge rlctl
  files_in_root >"$BATS_TEST_TMPDIR/after"
  run -0 diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}

# --- the tarball ------------------------------------------------------------------------------------

# Debian 11 has the oldest C library (2.31) of all systems that rlctl is for. Names are to be looked up as on a
# desktop, with modules that the binary must not load.
old_system() {
  needs_system bullseye redis-server,ncurses-base
  tar -C "$root" --strip-components=1 --one-top-level=opt/rlctl -xzf "$tarball"
  ln -s /opt/rlctl/bin/rlctl "$root/usr/bin/rlctl"
  echo '127.0.0.1 localhost' >"$root/etc/hosts"
  echo 'hosts: files mdns4_minimal [NOTFOUND=return] resolve dns myhostname' >"$root/etc/nsswitch.conf"
}

@test "the binary in the tarball needs no shared library" {
  tar -C "$BATS_TEST_TMPDIR" --strip-components=1 -xzf "$tarball"
  run -0 readelf --program-headers --dynamic "$BATS_TEST_TMPDIR/bin/rlctl"
  refute_output --partial INTERP
  refute_output --partial NEEDED
  run -0 diff <(cd "$project" && cat LICENSE README.md) <(cd "$BATS_TEST_TMPDIR" && cat LICENSE README.md)
}

@test "on Debian 11, the binary in the tarball runs each command" {
  old_system
  run -0 in_root rlctl --version
  start_root_server
  local url=unix:///tmp/redis.socket
  run -0 in_root rlctl -u "$url" check k --limit 1/60s
  run -1 in_root rlctl -u "$url" check k --limit 1/60s
  run -0 in_root rlctl -u "$url" run job --limit 1/60s -- true
  run -0 in_root rlctl -u "$url" inspect k --limit 1/60s
  run -0 in_root rlctl burst
  run -0 in_root rlctl adversary gcra
  run -0 in_root rlctl lint /opt/rlctl/share/rlctl/lua/gcra.lua
  run -0 in_root rlctl debug gcra k --limit 1/60s --trace
}

@test "on Debian 11, it finds hosts in /etc/hosts and DNS, and loads no module for that" {
  old_system
  start_tls_server
  cp "$certificates/ca.pem" "$root/ca.pem"
  local url=rediss://localhost:$tls_port
  run -0 in_root rlctl -u "$url" --cacert /ca.pem check k --limit 2/60s
  # DNS, which may not be available here, is asked for a host that is not in /etc/hosts.
  url=redis://no-such-host.invalid
  run -3 in_root rlctl -u "$url" --timeout 30s check k --limit 2/60s
  assert_output --partial 'no-such-host.invalid:6379'
  local trace=$BATS_TEST_TMPDIR/trace
  run -3 strace -f -e trace=openat,open -o "$trace" \
    env -i /usr/sbin/chroot "$root" /usr/bin/rlctl -u "$url" --timeout 30s check k --limit 2/60s
  # Before, env and chroot have loaded their libraries.
  run -0 sed -n '/nsswitch.conf/,$p' "$trace"
  assert_output --partial '/etc/hosts'
  refute_output --partial .so
}

@test "on a system that keeps certificate authorities elsewhere, TLS trusts them, and no other server" {
  old_system
  start_tls_server
  local url=rediss://localhost:$tls_port bundle
  # Fedora's and SUSE's; Debian 11 without OpenSSL's program has neither OpenSSL's own folder nor these.
  [[ ! -e $root/usr/lib/ssl ]]
  run -3 in_root rlctl -u "$url" check k --limit 9/60s
  assert_output --partial 'not trusted'
  for bundle in etc/pki/tls/certs/ca-bundle.crt etc/ssl/ca-bundle.pem; do
    mkdir -p "$root/${bundle%/*}"
    cp "$certificates/ca.pem" "$root/$bundle"
    run -0 in_root rlctl -u "$url" check k --limit 9/60s
    # What the user says comes first.
    run -3 in_root env SSL_CERT_FILE=/nowhere rlctl -u "$url" check k --limit 9/60s
    rm "$root/$bundle"
  done
}

@test "on Debian 11, typed lines can be edited in the debugger" {
  needs_terminal
  old_system
  # A letter too many, and a step back over it; the language of the locale is not UTF-8.
  TERM=xterm run -0 at_terminal '
    wait_until grep -q "debug>" "$screen"; printf "hx\177elp\r"
    wait_until grep -q "continue" "$screen"; printf "quit\r"' \
    "chroot '$root' /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root TERM=xterm LANG=ja_JP.eucjp \
      rlctl debug gcra k --limit 1/60s"
}
