# needs: server
load ../support/common
load ../support/tls

# TLS and its options. The messages about certificates and handshakes are those of tests/redis/tls_test.cc; tls.t has
# what needs no server.

setup_file() { start_tls_server; }
setup() {
  cli FLUSHALL
  ca=(--cacert "$certificates/ca.pem")
}

configure() {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  { echo 'timeout = "120s"' && cat; } >"$RLCTL_CONFIG"
}

# --- commands ---------------------------------------------------------------------------------------

@test "check, inspect, quota and reset work over TLS" {
  run -0 rlctl "${ca[@]}" check k --limit 2/60s
  run -0 rlctl "${ca[@]}" check k --limit 2/60s
  run -1 rlctl "${ca[@]}" check k --limit 2/60s
  run -0 rlctl "${ca[@]}" inspect k --limit 2/60s
  assert_line --partial '2 of 2'
  run -2 rlctl "${ca[@]}" quota k --limit 2/60s
  assert_output --partial 'CRITICAL'
  run -0 rlctl "${ca[@]}" reset k
  assert_equal "$(cli EXISTS k)" 0
}

@test "a batch of many requests is answered in order" {
  local count
  count=$(scaled 20000 100000)
  seq "$count" >"$BATS_TEST_TMPDIR/keys"
  rlctl "${ca[@]}" check --batch --limit 5/60s <"$BATS_TEST_TMPDIR/keys" >"$BATS_TEST_TMPDIR/answers"
  run -0 cmp <(sed 's/.* key=\([0-9]*\) .*/\1/' "$BATS_TEST_TMPDIR/answers") "$BATS_TEST_TMPDIR/keys"
  assert_equal "$(cli DBSIZE)" "$count"
}

@test "burst sends real traffic over TLS" {
  run -0 --separate-stderr rlctl "${ca[@]}" -u "$RLCTL_URL" burst steady --clock real --limit 50/200ms \
    --json
  run -0 gojq -e '.runs[0].sent > 0 and .runs[0].sent == .runs[0].allowed + .runs[0].denied' <<<"$output"
}

@test "a fork of the server cannot be debugged over TLS" {
  run -2 --separate-stderr rlctl "${ca[@]}" debug --ldb gcra k --limit 5/60s --attach
  assert_regex "${stderr_lines[0]}" '--attach: a fork of the server cannot be reached over TLS'
  run -0 rlctl "${ca[@]}" debug gcra k --limit 5/60s --trace
}

@test "a hint at another server names it with TLS" {
  cli REPLICAOF 127.0.0.1 1
  run --separate-stderr rlctl "${ca[@]}" check k --limit 9/60s
  cli REPLICAOF NO ONE
  assert_equal "$status" 5
  assert_equal "${stderr_lines[1]}" \
    '  hint: the server is a replica; name its master instead: --url rediss://127.0.0.1:1'
}

@test "a Cluster is reached with TLS" {
  needs_localhost
  start_tls_server server --cluster-enabled yes --tls-cluster yes
  # shellcheck disable=SC2046 # a list
  cli CLUSTER ADDSLOTS $(seq 0 16383)
  is_up() { cli CLUSTER INFO | grep -q '^cluster_state:ok'; }
  wait_until is_up
  run -0 rlctl "${ca[@]}" -u "rediss+cluster://127.0.0.1:$tls_port" check k --limit 9/60s
  run -0 rlctl "${ca[@]}" --tls -u "redis+cluster://localhost:$tls_port" check k --limit 9/60s
  assert_equal "$(cli LLEN k)" 2
}

# --- options ----------------------------------------------------------------------------------------

@test "TLS is used for rediss://, and with --tls for any host" {
  needs_localhost
  run -0 rlctl "${ca[@]}" -u "valkeys://localhost:$tls_port" check k --limit 9/60s
  run -0 rlctl "${ca[@]}" -u "redis://localhost:$tls_port" --tls check k --limit 9/60s
  unset RLCTL_URL
  run -0 rlctl "${ca[@]}" --tls -H localhost -p "$tls_port" check k --limit 9/60s
  assert_equal "$(cli LLEN k)" 3
}

@test "without --cacert, the system's authorities are trusted" {
  fails 3 "cannot connect to $RLCTL_URL: its certificate is not trusted: self-signed certificate in certificate chain
  hint: trust it with --cacert FILE, the authority's certificate" rlctl check k --limit 9/60s
  SSL_CERT_FILE=$certificates/ca.pem rlctl check -q k --limit 9/60s
}

@test "--sni is the name that the certificate must have, and --insecure accepts any certificate" {
  run -3 rlctl "${ca[@]}" --sni elsewhere check k --limit 9/60s
  run -0 rlctl "${ca[@]}" --sni localhost check k --limit 9/60s
  run -0 --separate-stderr rlctl --insecure check k --limit 9/60s
  assert_equal "$stderr" ''
}

@test "--cert and --key identify the client" {
  start_tls_server server --tls-auth-clients yes
  fails 3 "check: cannot connect to $RLCTL_URL: the server requires a client certificate
  hint: pass it with --cert FILE and --key FILE" rlctl "${ca[@]}" check k --limit 9/60s
  run -0 rlctl "${ca[@]}" --cert "$certificates/client.pem" --key "$certificates/client.key" check k --limit 9/60s
}

@test "the group may read root's private key, and a key of another user is refused" {
  local key=$BATS_TEST_TMPDIR/client.key
  local check=(rlctl "${ca[@]}" check k --limit 9/60s --cert "$certificates/client.pem" --key "$key")
  cp "$certificates/client.key" "$key"
  chmod 640 "$key"
  if ((EUID == 0)); then
    run -0 "${check[@]}"
    chown 65534 "$key"
    run -2 "${check[@]}"
    assert_output --partial "$key holds a private key, but belongs to another user (UID 65534)"
  else
    fails 2 "check: $key holds a private key, and its group can read it (mode 0640)"$'\n  hint: chmod 600 '"$key" "${check[@]}"
  fi
}

# --- the configuration file -------------------------------------------------------------------------

@test "the configuration sets TLS, with files relative to its folder" {
  unset RLCTL_URL
  cp "$certificates/ca.pem" "$BATS_TEST_TMPDIR/authority.pem"
  configure <<<"url = 'redis://127.0.0.1:$tls_port'
tls = true
cacert = 'authority.pem'"
  cd /
  run -0 rlctl check k --limit 9/60s
  run -0 rlctl config check
  run -0 rlctl config show
  assert_line --regexp "^cacert +$BATS_TEST_TMPDIR/authority.pem$"
  run -3 rlctl --cacert "$certificates/other-ca.pem" check k --limit 9/60s
  run -0 rlctl -s "$socket" check k --limit 9/60s
}

@test "the configuration's name and trust are of its server, its certificates of any" {
  configure <<<"sni = 'elsewhere'
insecure = true
cacert = '$certificates/ca.pem'
cert = '$certificates/client.pem'
key = '$certificates/client.key'"
  run -0 rlctl config show --json
  run -0 gojq -r '[.cacert, .cert, .key, .sni, .insecure | tostring] | join(" ")' <<<"$output"
  assert_output "$certificates/ca.pem $certificates/client.pem $certificates/client.key null false"
  run -0 rlctl check k --limit 9/60s
  { cat "$RLCTL_CONFIG" && echo "url = '$RLCTL_URL'"; } >"$RLCTL_CONFIG.2"
  unset RLCTL_URL
  run -0 rlctl --config "$RLCTL_CONFIG.2" config show --json
  run -0 gojq -r '"\(.sni) \(.insecure)"' <<<"$output"
  assert_output 'elsewhere true'
}

# --- repeating a run --------------------------------------------------------------------------------

@test "the command line that repeats a run has the options of TLS" {
  run -0 --separate-stderr rlctl -u "$RLCTL_URL" "${ca[@]}" --sni localhost burst steady --clock real \
    --rate 100/s --duration 50ms --json
  assert_output --partial "--cacert $certificates/ca.pem --sni localhost"
  echo 'return 1' >"$BATS_TEST_TMPDIR/one.lua"
  run -0 rlctl "${ca[@]}" --cert "$certificates/client.pem" --key "$certificates/client.key" --sni localhost \
    --insecure debug "$BATS_TEST_TMPDIR/one.lua" k --print-command
  assert_output "redis-cli -h 127.0.0.1 -p $tls_port --tls --cacert $certificates/ca.pem \
--cert $certificates/client.pem --key $certificates/client.key --sni localhost --insecure \
--ldb --eval $BATS_TEST_TMPDIR/one.lua k"
}

# --- the library ------------------------------------------------------------------------------------

@test "OpenSSL is loaded only for TLS" {
  local loaded=(env LD_DEBUG=files rlctl "${ca[@]}" check -q k --limit 9/60s)
  run -0 "${loaded[@]}"
  assert_output --partial libssl.so
  loaded=(env LD_DEBUG=files rlctl -s "$socket" check -q k --limit 9/60s)
  run -0 "${loaded[@]}"
  refute_output --partial libssl.so
  refute_output --partial libcrypto.so
}
