#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

#include "base/wait.h"
#include "redis/transport.h"
#include "redis/url.h"

// TLS over a Transport, with OpenSSL. connect() in redis/transport.cc calls it for a URL with
// `tls`; cli/static_main.cc hands over the functions of OpenSSL if the binary is linked with it.

namespace rlctl::redis {

// The functions of OpenSSL that TLS needs; a macro of OpenSSL needs the function behind it.
#define RLCTL_OPENSSL_FUNCTIONS(X)          \
  X(BIO_clear_flags)                        \
  X(BIO_get_data)                           \
  X(BIO_meth_new)                           \
  X(BIO_meth_set_ctrl)                      \
  X(BIO_meth_set_read)                      \
  X(BIO_meth_set_write)                     \
  X(BIO_new)                                \
  X(BIO_set_data)                           \
  X(BIO_set_flags)                          \
  X(BIO_set_init)                           \
  X(ERR_clear_error)                        \
  X(ERR_get_error)                          \
  X(ERR_reason_error_string)                \
  X(OPENSSL_init_ssl)                       \
  X(SSL_CTX_check_private_key)              \
  X(SSL_CTX_ctrl)                           \
  X(SSL_CTX_free)                           \
  X(SSL_CTX_load_verify_file)               \
  X(SSL_CTX_new)                            \
  X(SSL_CTX_set_cert_cb)                    \
  X(SSL_CTX_set_default_passwd_cb)          \
  X(SSL_CTX_set_default_passwd_cb_userdata) \
  X(SSL_CTX_set_default_verify_paths)       \
  X(SSL_CTX_set_options)                    \
  X(SSL_CTX_set_verify)                     \
  X(SSL_CTX_use_PrivateKey_file)            \
  X(SSL_CTX_use_certificate_chain_file)     \
  X(SSL_connect)                            \
  X(SSL_ctrl)                               \
  X(SSL_free)                               \
  X(SSL_get0_param)                         \
  X(SSL_get_error)                          \
  X(SSL_get_ex_data)                        \
  X(SSL_get_ex_data_X509_STORE_CTX_idx)     \
  X(SSL_new)                                \
  X(SSL_read)                               \
  X(SSL_set1_host)                          \
  X(SSL_set_bio)                            \
  X(SSL_set_ex_data)                        \
  X(SSL_set_hostflags)                      \
  X(SSL_write)                              \
  X(TLS_client_method)                      \
  X(X509_STORE_CTX_get_error)               \
  X(X509_STORE_CTX_get_ex_data)             \
  X(X509_VERIFY_PARAM_set1_ip_asc)          \
  X(X509_get_default_cert_dir)              \
  X(X509_get_default_cert_dir_env)          \
  X(X509_get_default_cert_file)             \
  X(X509_get_default_cert_file_env)         \
  X(X509_verify_cert_error_string)

/// OpenSSL, loaded when the first connection with TLS needs it: a process without TLS starts sooner
/// if it does not load the library.
struct OpenSsl {
#define RLCTL_OPENSSL_MEMBER(name) decltype(&::name) name = nullptr;
  RLCTL_OPENSSL_FUNCTIONS(RLCTL_OPENSSL_MEMBER)
#undef RLCTL_OPENSSL_MEMBER
};

/// Throws Error(kUnreachable) if the library is not installed or lacks a function.
const OpenSsl& openssl();

/// For a binary that is linked with OpenSSL: openssl() takes the functions from here instead of
/// loading a library. Call it before openssl().
void set_linked_openssl(OpenSsl (*linked)()) noexcept;

struct FreeContext {
  void operator()(SSL_CTX* context) const noexcept { openssl().SSL_CTX_free(context); }
};
using TlsContext = std::unique_ptr<SSL_CTX, FreeContext>;

/// Reads the certificates that the URL, which must have `tls`, names. Throws InputError if a file
/// cannot be used, and Error(kUnreachable) if OpenSSL is not installed.
TlsContext make_tls_context(const Url& url);

/// Does the handshake over a connection to the URL's server. The transport that it returns does all
/// of its I/O and waiting through `plain`. Throws what a Transport throws; an error whose code() is
/// kTlsCode may come from a later read, since a server may refuse the client's certificate as late
/// as that.
std::unique_ptr<Transport> start_tls(const Url& url, const TlsContext& context,
                                     std::unique_ptr<Transport> plain, Deadline deadline);

}  // namespace rlctl::redis
