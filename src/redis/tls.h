#pragma once

#include <memory>

#include "base/wait.h"
#include "redis/transport.h"
#include "redis/url.h"

namespace rlctl::redis {

/// What TLS connections to one server need: OpenSSL, and the certificates that the URL names.
class TlsClient {
 public:
  /// `url` must have `tls`. Throws InputError if a file of it cannot be used, and
  /// Error(kUnreachable) if OpenSSL is not installed.
  explicit TlsClient(const Url& url);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// Does the handshake over a connection to the server. The transport that it returns does all of
  /// its I/O and waiting through `plain`. Throws what a Transport throws; an error whose code() is
  /// kTlsCode may come from a later read: a server may refuse the client's certificate as late as
  /// that.
  [[nodiscard]] std::unique_ptr<Transport> start(std::unique_ptr<Transport> plain,
                                                 Deadline deadline) const;

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace rlctl::redis
