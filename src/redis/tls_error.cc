#include "redis/tls_error.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "redis/transport.h"

namespace rlctl::redis {

namespace {

constexpr const char* kWithoutTls = "use redis:// if the server has no TLS at that port";
constexpr const char* kNeedsCertificate = "the server needs another certificate";
constexpr const char* kSeeLog = "the server's log may say more";

Error cannot_connect(const TlsPeer& peer, const std::string& why, std::string hint) {
  return {Failure::kUnreachable, fmt::format("cannot connect to {}: {}", peer.server, why),
          kTlsCode, std::move(hint)};
}

// ---- The server's certificate ----

std::string text_of(const ASN1_STRING* text) {
  const auto& ssl = openssl();
  const auto* bytes = reinterpret_cast<const char*>(ssl.ASN1_STRING_get0_data(text));
  constexpr std::size_t kMax = 80;
  return escape({bytes, static_cast<std::size_t>(ssl.ASN1_STRING_length(text))}, kMax);
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const auto& ssl = openssl();
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ssl.ASN1_STRING_length(address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ssl.ASN1_STRING_length(address) != 16) return {};
  ::inet_ntop(family, ssl.ASN1_STRING_get0_data(address), text.data(), text.size());
  return text.data();
}

// The common name of a certificate's subject or issuer; empty if it has none.
std::string common_name(const X509_NAME* name) {
  std::array<char, 80> text{};
  const int size = openssl().X509_NAME_get_text_by_NID(name, NID_commonName, text.data(),
                                                       static_cast<int>(text.size()));
  return size <= 0 ? std::string() : escape(text.data());
}

// The names and addresses for which a certificate is valid.
std::vector<std::string> names_of(const X509* certificate) {
  const auto& ssl = openssl();
  std::vector<std::string> texts;
  auto* names = static_cast<GENERAL_NAMES*>(
      ssl.X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  const auto* stack = reinterpret_cast<const OPENSSL_STACK*>(names);
  for (int i = 0; names != nullptr && i < ssl.OPENSSL_sk_num(stack); ++i) {
    const auto* name = static_cast<const GENERAL_NAME*>(ssl.OPENSSL_sk_value(stack, i));
    if (name->type == GEN_DNS) texts.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_IPADD) texts.push_back(address_text(name->d.iPAddress));
  }
  ssl.GENERAL_NAMES_free(names);
  // As OpenSSL does, which accepts the subject only if there is no other name.
  if (texts.empty()) texts.push_back(common_name(ssl.X509_get_subject_name(certificate)));
  std::erase(texts, "");
  return texts;
}

// "a", "a and b", "a, b, c, d and 3 more"
std::string list(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 4;
  const auto count = std::min(names.size(), kMax);
  const auto more = names.size() - count;
  std::string text = names.front();
  for (std::size_t i = 1; i < count; ++i) {
    text += (i + 1 == count && more == 0 ? " and " : ", ") + names[i];
  }
  return more == 0 ? text : fmt::format("{} and {} more", text, more);
}

Error wrong_name(const TlsPeer& peer, const X509* certificate) {
  const auto names = names_of(certificate);
  const std::string why =
      names.empty()
          ? fmt::format("its certificate names no server; it should name {}", escape(peer.name))
          : fmt::format("its certificate is for {}, not for {}", list(names), escape(peer.name));
  return cannot_connect(peer, why,
                        names.empty() ? kNeedsCertificate
                                      : fmt::format("connect to {} name{}, or pass --sni {}",
                                                    names.size() == 1 ? "that" : "one of these",
                                                    plural(names.size()), names.front()));
}

std::string date_text(const ASN1_TIME* time) {
  std::tm date{};
  if (openssl().ASN1_TIME_to_tm(time, &date) != 1) return "an unknown date";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", date.tm_year + 1900, date.tm_mon + 1,
                     date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec);
}

Error wrong_date(const TlsPeer& peer, const X509* certificate, bool expired, bool is_authority) {
  const auto& ssl = openssl();
  const std::string whose = is_authority
                                ? fmt::format("the certificate of the authority '{}'",
                                              common_name(ssl.X509_get_subject_name(certificate)))
                                : "its certificate";
  if (expired) {
    return cannot_connect(
        peer,
        fmt::format("{} expired on {}", whose, date_text(ssl.X509_get0_notAfter(certificate))),
        "renew it, unless the clock of this machine is wrong");
  }
  return cannot_connect(peer,
                        fmt::format("{} is not valid before {}", whose,
                                    date_text(ssl.X509_get0_notBefore(certificate))),
                        "is the clock of this machine right?");
}

Error unknown_issuer(const TlsPeer& peer, const X509* certificate, bool self_signed) {
  const auto issuer = common_name(openssl().X509_get_issuer_name(certificate));
  const auto why = self_signed ? "its certificate is self-signed and not trusted"
                               : fmt::format(
                                     "its certificate is from the authority '{}', which is not "
                                     "trusted",
                                     issuer);
  if (peer.tls.cacert.empty()) {
    return cannot_connect(peer, why,
                          self_signed ? "trust it with --cacert FILE, a copy of it"
                                      : "trust it with --cacert FILE, the authority's certificate");
  }
  return cannot_connect(peer, why, escape(peer.tls.cacert) + " has no certificate of it");
}

// ---- Alerts ----

// The number of the alert that the server sent; 0 if it sent none. See RFC 8446, section 6.
int alert_of(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  const bool is_alert = ERR_GET_LIB(error) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET;
  return is_alert ? reason - SSL_AD_REASON_OFFSET : 0;
}

struct AlertRow {
  int alert;
  std::string_view meaning;
};

// The alerts by which a server refuses the client's certificate.
constexpr std::array<AlertRow, 9> kRefusals{{{SSL_AD_HANDSHAKE_FAILURE, "it gives no reason"},
                                             {SSL_AD_BAD_CERTIFICATE, "it is bad"},
                                             {SSL_AD_UNSUPPORTED_CERTIFICATE, "its type"},
                                             {SSL_AD_CERTIFICATE_REVOKED, "it was revoked"},
                                             {SSL_AD_CERTIFICATE_EXPIRED, "it has expired"},
                                             {SSL_AD_CERTIFICATE_UNKNOWN, "it gives no reason"},
                                             {SSL_AD_UNKNOWN_CA, "it does not know its issuer"},
                                             {SSL_AD_ACCESS_DENIED, "access is denied"},
                                             {SSL_AD_DECRYPT_ERROR, "its key does not match"}}};

Error certificate_refused(const TlsPeer& peer, std::string_view why) {
  return cannot_connect(
      peer,
      fmt::format("the server refuses the client certificate {}: {}", escape(peer.tls.cert), why),
      "use a certificate from an authority that the server trusts, and that is valid now");
}

Error certificate_required(const TlsPeer& peer) {
  return cannot_connect(peer, "the server requires a client certificate",
                        "pass it with --cert FILE and --key FILE");
}

Error alerted(const TlsPeer& peer, int alert, const char* text) {
  // What was sent before may have been executed.
  if (peer.answered) return connection_broke(peer.server, text);
  const auto* const row = std::ranges::find(kRefusals, alert, &AlertRow::alert);
  const bool is_refusal = row != kRefusals.end() && peer.wants_certificate;
  if (alert == SSL_AD_CERTIFICATE_REQUIRED || (is_refusal && peer.tls.cert.empty())) {
    return certificate_required(peer);
  }
  if (is_refusal) return certificate_refused(peer, row->meaning);
  if (alert == SSL_AD_UNRECOGNIZED_NAME) {
    return cannot_connect(peer,
                          fmt::format("the server has no certificate for {}", escape(peer.name)),
                          "name another with --sni");
  }
  return cannot_connect(peer, fmt::format("the server refuses TLS: {}", text), kSeeLog);
}

bool is_version(unsigned long error) {
  const int reason = ERR_GET_REASON(error);
  return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION ||
         alert_of(error) == SSL_AD_PROTOCOL_VERSION;
}

// Records of TLS begin with their type, 20 to 23, and the version 3.
bool speaks_tls(std::string_view bytes) {
  return bytes.size() < 2 || (bytes[0] >= 20 && bytes[0] <= 23 && bytes[1] == 3);
}

}  // namespace

Error untrusted(const TlsPeer& peer, X509_STORE_CTX* verification) {
  const auto& ssl = openssl();
  const X509* certificate = ssl.X509_STORE_CTX_get_current_cert(verification);
  const int error = ssl.X509_STORE_CTX_get_error(verification);
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return wrong_name(peer, certificate);
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return wrong_date(peer, certificate, error == X509_V_ERR_CERT_HAS_EXPIRED,
                        ssl.X509_STORE_CTX_get_error_depth(verification) > 0);
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return unknown_issuer(peer, certificate, true);
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return unknown_issuer(peer, certificate, false);
    default:
      return cannot_connect(
          peer,
          fmt::format("its certificate is not valid: {}", ssl.X509_verify_cert_error_string(error)),
          kNeedsCertificate);
  }
}

Error tls_failed(const TlsPeer& peer) {
  const auto& ssl = openssl();
  const auto error = ssl.ERR_get_error();
  ssl.ERR_clear_error();
  const char* reason = ssl.ERR_reason_error_string(error);
  const char* text = reason == nullptr ? "OpenSSL gives no reason" : reason;
  if (peer.untrusted) return *peer.untrusted;
  if (!speaks_tls(peer.first_bytes)) {
    return cannot_connect(peer,
                          fmt::format("the answer is not TLS: '{}'", escape(peer.first_bytes, 40)),
                          kWithoutTls);
  }
  if (is_version(error)) {
    return cannot_connect(peer, "the server does not offer TLS 1.2 or later",
                          "allow it on the server: tls-protocols \"TLSv1.2 TLSv1.3\"");
  }
  if (const int alert = alert_of(error); alert != 0) return alerted(peer, alert, text);
  if (!peer.connected) {
    return cannot_connect(peer, fmt::format("TLS failed: {}", text), kSeeLog);
  }
  return connection_broke(peer.server, text);
}

Error handshake_ended(const TlsPeer& peer, const Error& error) {
  const char* hint = peer.first_bytes.empty() ? kWithoutTls : kSeeLog;
  if (!speaks_tls(peer.first_bytes)) return tls_failed(peer);
  if (error.failure() == Failure::kTimeout) return {error.failure(), error.what(), {}, hint};
  if (peer.wants_certificate && peer.tls.cert.empty()) return certificate_required(peer);
  return cannot_connect(peer, "the connection ended during the TLS handshake", hint);
}

}  // namespace rlctl::redis
