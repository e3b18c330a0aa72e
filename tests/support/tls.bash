# Helpers for the tests in bats that need TLS. A test file begins with
#
#     load ../support/common
#     load ../support/tls
#
#   start_tls_server [CERTIFICATE [OPTION…]]
#                     start_server with these options, and with TLS on a free port of 127.0.0.1. Sets $tls_port,
#                     and $RLCTL_URL to rediss://127.0.0.1:PORT; $socket is the same server's, without TLS.
#   $certificates     The folder with the certificates; support/make_certificates tells which there are.

export certificates=$BATS_RUN_TMPDIR/certificates

make_certificates() {
  local folder
  [[ ! -d $certificates ]] || return 0
  # Another test file may be making them too.
  folder=$(mktemp -d "$BATS_RUN_TMPDIR/certificates.XXXXXX")
  "$project/tests/support/make_certificates" "$folder"
  mv -T "$folder" "$certificates" 2>/dev/null || [[ -d $certificates ]]
}

start_tls_server() {
  local name=${1:-server} tries=0
  make_certificates
  while :; do
    # Below the ports that the kernel gives to clients.
    export tls_port=$((10000 + RANDOM % 20000))
    if start_server --tls-port "$tls_port" --bind 127.0.0.1 --tls-auth-clients no \
      --tls-cert-file "$certificates/$name.pem" --tls-key-file "$certificates/$name.key" \
      --tls-ca-cert-file "$certificates/ca.pem" "${@:2}" 2>"$BATS_RUN_TMPDIR/no-tls-start"; then
      break
    fi
    ((++tries < 20)) || { cat "$BATS_RUN_TMPDIR/no-tls-start" >&2 && return 1; }
  done
  export RLCTL_URL=rediss://127.0.0.1:$tls_port
}
