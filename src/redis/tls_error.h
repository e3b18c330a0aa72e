#pragma once

#include <optional>
#include <string>

#include "redis/error.h"
#include "redis/openssl.h"
#include "redis/url.h"

namespace rlctl::redis {

/// What is known about the server of a TLS connection, to explain why it fails.
struct TlsPeer {
  std::string server = {};  ///< its name for messages
  std::string name = {};    ///< the name that it must prove
  Tls tls = {};
  std::string first_bytes = {};         ///< what it sent first, at most kFirstBytes
  bool wants_certificate = false;       ///< it asked for the client's certificate
  std::optional<Error> untrusted = {};  ///< why its certificate was refused
  bool connected = false;               ///< the handshake is done
  bool answered = false;                ///< the server has sent data since

  static constexpr std::size_t kFirstBytes = 40;
};

/// Why the server's certificate is refused: OpenSSL's error, X509_V_ERR_...
[[nodiscard]] Error untrusted(const TlsPeer& peer, int error);

/// Why a call of OpenSSL failed, from its queue of errors.
[[nodiscard]] Error tls_failed(const TlsPeer& peer);

/// The same error of the connection below, which ended the handshake.
[[nodiscard]] Error handshake_ended(const TlsPeer& peer, const Error& error);

}  // namespace rlctl::redis
