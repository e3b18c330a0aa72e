#include "redis/tls_error.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/text.h"
#include "redis/transport.h"

namespace rlctl::redis {

namespace {

constexpr const char* kWithoutTls = "use redis:// if the server has no TLS at that port";
constexpr const char* kSeeLog = "the server's log may say more";

Error cannot_connect(const TlsPeer& peer, const std::string& why, std::string hint) {
  return {Failure::kUnreachable, fmt::format("cannot connect to {}: {}", peer.server, why),
          kTlsCode, std::move(hint)};
}

Error not_trusted(const TlsPeer& peer, const char* reason, std::string_view what) {
  return cannot_connect(peer, fmt::format("its certificate is not trusted: {}", reason),
                        peer.tls.cacert.empty()
                            ? fmt::format("trust it with --cacert FILE, {}", what)
                            : escape(peer.tls.cacert) + " has no certificate of it");
}

Error certificate_required(const TlsPeer& peer) {
  return cannot_connect(peer, "the server requires a client certificate",
                        "pass it with --cert FILE and --key FILE");
}

// A server refuses the client's certificate, or the lack of one, by an alert. See RFC 8446,
// section 6.
bool is_alert(unsigned long error) {
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) > SSL_AD_REASON_OFFSET;
}

// Records of TLS begin with their type, 20 to 23, and the version 3.
bool speaks_tls(std::string_view bytes) {
  return bytes.size() < 2 || (bytes[0] >= 20 && bytes[0] <= 23 && bytes[1] == 3);
}

}  // namespace

Error untrusted(const TlsPeer& peer, int error) {
  const char* reason = openssl().X509_verify_cert_error_string(error);
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return cannot_connect(peer, fmt::format("its certificate is not for {}", escape(peer.name)),
                            "connect to a name that the certificate has, or pass that as --sni");
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return cannot_connect(peer, "its certificate has expired",
                            "renew it, unless the clock of this machine is wrong");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return cannot_connect(peer, "its certificate is not valid yet",
                            "is the clock of this machine right?");
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return not_trusted(peer, reason, "a copy of it");
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return not_trusted(peer, reason, "the authority's certificate");
    default:
      return cannot_connect(peer, fmt::format("its certificate is not valid: {}", reason),
                            "the server needs another certificate");
  }
}

Error tls_failed(const TlsPeer& peer) {
  const auto& ssl = openssl();
  const auto error = ssl.ERR_get_error();
  ssl.ERR_clear_error();
  const char* text = ssl.ERR_reason_error_string(error);
  const char* reason = text == nullptr ? "OpenSSL gives no reason" : text;
  if (peer.untrusted) return *peer.untrusted;
  if (!speaks_tls(peer.first_bytes)) {
    return cannot_connect(peer,
                          fmt::format("the answer is not TLS: '{}'", escape(peer.first_bytes, 40)),
                          kWithoutTls);
  }
  const bool is_refusal = is_alert(error) && peer.wants_certificate;
  // What was sent before may have been executed.
  if (peer.answered || (peer.connected && !is_refusal))
    return connection_broke(peer.server, reason);
  if (!is_refusal) return cannot_connect(peer, fmt::format("TLS failed: {}", reason), kSeeLog);
  if (peer.tls.cert.empty()) return certificate_required(peer);
  return cannot_connect(
      peer,
      fmt::format("the server refuses the client certificate {}: {}", escape(peer.tls.cert),
                  reason),
      "use a certificate from an authority that the server trusts, and that is valid now");
}

Error handshake_ended(const TlsPeer& peer, const Error& error) {
  const char* hint = peer.first_bytes.empty() ? kWithoutTls : kSeeLog;
  if (!speaks_tls(peer.first_bytes)) return tls_failed(peer);
  if (error.failure() == Failure::kTimeout) return {error.failure(), error.what(), {}, hint};
  if (peer.wants_certificate && peer.tls.cert.empty()) return certificate_required(peer);
  return cannot_connect(peer, "the connection ended during the TLS handshake", hint);
}

}  // namespace rlctl::redis
