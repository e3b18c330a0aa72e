#include "redis/tls.h"

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "redis/error.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace rlctl::redis {

namespace {

OpenSsl (*linked_openssl)() = nullptr;

// The library whose headers this was compiled with: another major version has another interface.
constexpr int kVersion = OPENSSL_SHLIB_VERSION;

[[noreturn]] void cannot_load() {
  const char* why = ::dlerror();
  throw Error(Failure::kUnreachable,
              fmt::format("TLS needs OpenSSL: {}", why == nullptr ? "it cannot be loaded" : why),
              kTlsCode,
              fmt::format("install libssl{} (Debian, Ubuntu) or openssl-libs (Fedora)", kVersion));
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  // libssl depends on libcrypto, so that the handle of libssl finds the names in libcrypto too.
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) cannot_load();
}

OpenSsl loaded_openssl() {
  const auto name = fmt::format("libssl.so.{}", kVersion);
  // Never closed: OpenSSL keeps data of its own for each thread.
  void* library = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) cannot_load();
  OpenSsl loaded;
#define RLCTL_FIND(name) find(library, #name, loaded.name);
  RLCTL_OPENSSL_FUNCTIONS(RLCTL_FIND)
#undef RLCTL_FIND
  return loaded;
}

OpenSsl initialized_openssl() {
  const auto functions = linked_openssl == nullptr ? loaded_openssl() : linked_openssl();
  // Without a handler for the end of the process, where threads may still use it.
  if (functions.OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr) != 1) {
    throw Error(Failure::kUnreachable, "OpenSSL cannot be initialized", kTlsCode,
                "see its configuration, openssl.cnf");
  }
  return functions;
}

}  // namespace

const OpenSsl& openssl() {
  static const OpenSsl kFunctions = initialized_openssl();
  return kFunctions;
}

void set_linked_openssl(OpenSsl (*linked)()) noexcept {
  linked_openssl = linked;
}

namespace {

struct FreeSession {
  void operator()(SSL* session) const noexcept { openssl().SSL_free(session); }
};

// What is known about the server of a TLS connection, to explain why it fails.
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

// ---- Errors ----

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

// Why the server's certificate is refused: OpenSSL's error, X509_V_ERR_...
Error untrusted(const TlsPeer& peer, int error) {
  const char* reason = openssl().X509_verify_cert_error_string(error);
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return cannot_connect(
          peer, fmt::format("its certificate is not for {}", escape(peer.name)),
          "another server may have answered; ask who runs it for the name to connect to");
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

// Why a call of OpenSSL failed, from its queue of errors.
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

// Says of an error of the connection, which ended the handshake, what is probably wrong.
Error handshake_ended(const TlsPeer& peer, const Error& error) {
  const char* hint = peer.first_bytes.empty() ? kWithoutTls : kSeeLog;
  if (!speaks_tls(peer.first_bytes)) return tls_failed(peer);
  if (error.failure() == Failure::kTimeout) return {error.failure(), error.what(), {}, hint};
  if (peer.wants_certificate && peer.tls.cert.empty()) return certificate_required(peer);
  return cannot_connect(peer, "the connection ended during the TLS handshake", hint);
}

// ---- The functions that OpenSSL calls ----

// What OpenSSL reads from and writes to: another transport.
class Wire {
 public:
  explicit Wire(std::unique_ptr<Transport> plain, TlsPeer& peer)
      : plain_(std::move(plain)), peer_(peer) {}

  Transport& plain() noexcept { return *plain_; }
  // Until when the next reads and writes may wait; std::nullopt: they do not.
  void set_deadline(std::optional<Deadline> deadline) noexcept {
    deadline_ = deadline;
    stalled_ = false;
  }
  // Whether a read or a write would have had to wait.
  bool stalled() const noexcept { return stalled_; }
  // Throws what a read or a write threw, which cannot pass through OpenSSL.
  void rethrow() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  // read() and write() return -1 if nothing was transferred.
  int read(char* buffer, int size) noexcept;
  int write(const char* bytes, int size) noexcept;

 private:
  std::unique_ptr<Transport> plain_;
  TlsPeer& peer_;
  std::optional<Deadline> deadline_;
  bool stalled_ = false;
  std::exception_ptr failure_;
};

int Wire::read(char* buffer, int size) noexcept {
  try {
    const auto room = static_cast<std::size_t>(size);
    const auto count =
        deadline_ ? plain_->read(buffer, room, *deadline_) : plain_->read_available(buffer, room);
    stalled_ = count == 0;
    if (!peer_.connected) {
      const auto missing = TlsPeer::kFirstBytes - peer_.first_bytes.size();
      peer_.first_bytes.append(buffer, std::min(count, missing));
    }
    return stalled_ ? -1 : static_cast<int>(count);
  } catch (...) {
    failure_ = std::current_exception();
    return -1;
  }
}

int Wire::write(const char* bytes, int size) noexcept {
  try {
    for (;;) {
      const auto count = plain_->write_some({bytes, static_cast<std::size_t>(size)});
      if (count > 0) return static_cast<int>(count);
      stalled_ = !deadline_;
      if (stalled_) return -1;
      plain_->wait(*deadline_);
    }
  } catch (const Error& error) {
    // The server's last message may say why it hung up, and reading fails without one.
    if (!peer_.connected && error.failure() == Failure::kUnreachable) return size;
    failure_ = std::current_exception();
  } catch (...) {
    failure_ = std::current_exception();
  }
  return -1;
}

Wire& wire_of(BIO* bio) {
  return *static_cast<Wire*>(openssl().BIO_get_data(bio));
}

int read_wire(BIO* bio, char* buffer, int size) {
  openssl().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const int count = wire_of(bio).read(buffer, size);
  if (count < 0) openssl().BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
  return count;
}

int write_wire(BIO* bio, const char* bytes, int size) {
  openssl().BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
  const int count = wire_of(bio).write(bytes, size);
  if (count < 0) openssl().BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
  return count;
}

long control_wire(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

const BIO_METHOD* wire_method() {
  static const BIO_METHOD* const kMethod = [] {
    const auto& ssl = openssl();
    BIO_METHOD* method = ssl.BIO_meth_new(BIO_TYPE_SOURCE_SINK, "transport");
    if (method == nullptr) throw std::bad_alloc();
    ssl.BIO_meth_set_read(method, read_wire);
    ssl.BIO_meth_set_write(method, write_wire);
    ssl.BIO_meth_set_ctrl(method, control_wire);
    return method;
  }();
  return kMethod;
}

// OpenSSL's application data of a session.
TlsPeer& peer_of(const SSL* session) {
  return *static_cast<TlsPeer*>(openssl().SSL_get_ex_data(session, 0));
}

// Called with each part of the server's certificates that was verified.
int on_verified(int is_good, X509_STORE_CTX* verification) {
  if (is_good == 1) return 1;
  const auto& ssl = openssl();
  const auto* session = static_cast<const SSL*>(
      ssl.X509_STORE_CTX_get_ex_data(verification, ssl.SSL_get_ex_data_X509_STORE_CTX_idx()));
  TlsPeer& peer = peer_of(session);
  peer.untrusted = untrusted(peer, ssl.X509_STORE_CTX_get_error(verification));
  return 0;
}

// Called when the server asks for the client's certificate.
int on_certificate_wanted(SSL* session, void*) {
  peer_of(session).wants_certificate = true;
  return 1;
}

// Called for the passphrase of a private key.
int no_passphrase(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

// ---- The transport ----

class TlsTransport final : public Transport {
 public:
  TlsTransport(std::unique_ptr<Transport> plain, SSL_CTX* context, TlsPeer peer);

  void shake_hands(Deadline deadline);

  std::size_t read(char* buffer, std::size_t size, Deadline deadline) override;
  std::size_t read_available(char* buffer, std::size_t size) override;
  std::size_t write_some(std::string_view bytes) override;
  void wait(Deadline deadline) override { wire_.plain().wait(deadline); }
  const std::string& name() const noexcept override { return peer_.server; }
  int fd() const noexcept override { return fd_; }

 private:
  void expect_name();
  // The bytes read; 0 if the call must be repeated.
  std::size_t read_record(char* buffer, std::size_t size);
  // Returns if a call with this result must be repeated later, else throws why it failed.
  void require_repeatable(int result);

  const OpenSsl& ssl_ = openssl();
  TlsPeer peer_;
  int fd_;
  Wire wire_;
  std::unique_ptr<SSL, FreeSession> session_;
};

TlsTransport::TlsTransport(std::unique_ptr<Transport> plain, SSL_CTX* context, TlsPeer peer)
    : peer_(std::move(peer)),
      fd_(plain->fd()),
      wire_(std::move(plain), peer_),
      session_(ssl_.SSL_new(context)) {
  BIO* bio = ssl_.BIO_new(wire_method());
  if (!session_ || bio == nullptr) throw std::bad_alloc();
  ssl_.BIO_set_data(bio, &wire_);
  ssl_.BIO_set_init(bio, 1);
  ssl_.SSL_set_bio(session_.get(), bio, bio);
  ssl_.SSL_set_ex_data(session_.get(), 0, &peer_);
  // A partial write tells that a record was sent; the caller repeats a call with bytes that moved.
  // Without SSL_MODE_AUTO_RETRY no call goes on for as long as the server sends messages of TLS.
  ssl_.SSL_ctrl(session_.get(), SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, nullptr);
  ssl_.SSL_ctrl(session_.get(), SSL_CTRL_MODE,
                SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, nullptr);
  expect_name();
}

// The name or address that the certificate must have. Only a name can be asked for (RFC 6066).
void TlsTransport::expect_name() {
  SSL* const session = session_.get();
  std::string name = peer_.name.substr(0, peer_.name.find('%'));  // fe80::1%eth0
  if (ssl_.X509_VERIFY_PARAM_set1_ip_asc(ssl_.SSL_get0_param(session), name.c_str()) == 1) return;
  ssl_.ERR_clear_error();
  name = peer_.name;
  if (name.ends_with('.')) name.pop_back();
  ssl_.SSL_set_hostflags(session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (ssl_.SSL_set1_host(session, name.c_str()) != 1 ||
      ssl_.SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                    name.data()) != 1) {
    throw Error(
        Failure::kUsage,
        fmt::format("'{}' is not a name that a certificate can have", escape(peer_.name, 80)), {},
        "name the server with --sni");
  }
}

void TlsTransport::shake_hands(Deadline deadline) {
  try {
    while (!peer_.connected) {
      wire_.set_deadline(deadline);
      ssl_.ERR_clear_error();
      const int result = ssl_.SSL_connect(session_.get());
      if (result != 1) require_repeatable(result);
      peer_.connected = result == 1;
    }
  } catch (const Error& error) {
    if (error.code() == kTlsCode) throw;  // OpenSSL's, not the connection's
    throw handshake_ended(peer_, error);
  }
}

std::size_t TlsTransport::read_record(char* buffer, std::size_t size) {
  ssl_.ERR_clear_error();
  const int count =
      ssl_.SSL_read(session_.get(), buffer, static_cast<int>(std::min(size, kRecordSize)));
  if (count > 0) {
    peer_.answered = true;
    return static_cast<std::size_t>(count);
  }
  require_repeatable(count);
  return 0;
}

std::size_t TlsTransport::read(char* buffer, std::size_t size, Deadline deadline) {
  for (;;) {
    wire_.set_deadline(deadline);
    if (const auto count = read_record(buffer, size); count > 0) return count;
    // A server that always sends messages of TLS would never make the wire wait.
    if (Clock::now() >= deadline) {
      throw no_answer(name());
    }
  }
}

std::size_t TlsTransport::read_available(char* buffer, std::size_t size) {
  constexpr int kMessagesAtOnce = 16;
  for (int i = 0; i < kMessagesAtOnce; ++i) {
    wire_.set_deadline(std::nullopt);
    if (const auto count = read_record(buffer, size); count > 0) return count;
    if (wire_.stalled()) return 0;
  }
  return 0;
}

std::size_t TlsTransport::write_some(std::string_view bytes) {
  if (bytes.empty()) return 0;
  wire_.set_deadline(std::nullopt);
  ssl_.ERR_clear_error();
  const int count = ssl_.SSL_write(session_.get(), bytes.data(),
                                   static_cast<int>(std::min(bytes.size(), kRecordSize)));
  if (count > 0) return static_cast<std::size_t>(count);
  require_repeatable(count);
  return 0;
}

void TlsTransport::require_repeatable(int result) {
  wire_.rethrow();
  switch (ssl_.SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    case SSL_ERROR_ZERO_RETURN:
      throw Error(Failure::kUnreachable, fmt::format("{} closed the connection", name()));
    default:
      throw tls_failed(peer_);
  }
}

// ---- The context ----

// Throws InputError unless the file can be read, and if it is a key that others can read. A pipe
// can be read only once, and each connection reads its files.
void require_file(std::string_view what, const std::string& file, bool is_key = false) {
  const auto fail = [&](const std::string& why) {
    throw InputError(fmt::format("cannot use the {} {}: {}", what, escape(file), why));
  };
  try {
    const FileDescriptor opened = open_file(file);
    struct stat status {};
    if (::fstat(opened.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
      fail("it is not a regular file");
    }
    if (!is_key) return;
    // Debian's group ssl-cert may read keys that root owns.
    const auto refusal =
        unsafe_file(opened, file, "holds a private key", FileContent::kGroupSecret);
    if (refusal) throw InputError(*refusal);
  } catch (const std::system_error& error) {
    fail(errno_text(error.code().value()));
  }
}

// The reason for which OpenSSL refused a file.
[[noreturn]] void bad_file(std::string_view what, const std::string& file) {
  const auto& ssl = openssl();
  const auto error = ssl.ERR_get_error();
  ssl.ERR_clear_error();
  const int library = ERR_GET_LIB(error);
  const int reason = ERR_GET_REASON(error);
  const bool is_other_key = library == ERR_LIB_X509 && (reason == X509_R_KEY_VALUES_MISMATCH ||
                                                        reason == X509_R_KEY_TYPE_MISMATCH);
  if (is_other_key) {
    throw InputError(
        fmt::format("the private key {} does not belong to the client certificate", escape(file)));
  }
  const char* text = ssl.ERR_reason_error_string(error);
  throw InputError(fmt::format("cannot use the {} {}: {}", what, escape(file),
                               text == nullptr ? "it is not in PEM format" : text),
                   fmt::format("is it in PEM format, with a line -----BEGIN {}-----?",
                               what.ends_with("key") ? "PRIVATE KEY" : "CERTIFICATE"));
}

// Where other systems keep what OpenSSL looks for in the folder that it was compiled with: a binary
// that is linked with OpenSSL may run on any of them.
constexpr std::array kBundles = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora, Red Hat
    "/etc/ssl/ca-bundle.pem",              // SUSE
    "/etc/ssl/cert.pem",                   // Alpine without its bundle, BSD
};

void use_system_authorities(SSL_CTX* context) {
  const auto& ssl = openssl();
  ssl.SSL_CTX_set_default_verify_paths(context);
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  const auto is_there = [](const char* path) { return ::access(path, R_OK) == 0; };
  if (is_set(ssl.X509_get_default_cert_file_env()) || is_set(ssl.X509_get_default_cert_dir_env()) ||
      is_there(ssl.X509_get_default_cert_file()) || is_there(ssl.X509_get_default_cert_dir())) {
    return;
  }
  for (const auto* bundle : kBundles) {
    if (is_there(bundle) && ssl.SSL_CTX_load_verify_file(context, bundle) == 1) return;
    ssl.ERR_clear_error();
  }
}

void use_authorities(SSL_CTX* context, const std::string& file) {
  constexpr std::string_view kAuthorities = "TLS certificate authorities";
  const auto& ssl = openssl();
  if (file.empty()) {
    use_system_authorities(context);
    return;
  }
  require_file(kAuthorities, file);
  if (ssl.SSL_CTX_load_verify_file(context, file.c_str()) != 1) bad_file(kAuthorities, file);
}

void use_certificate(SSL_CTX* context, const Tls& tls) {
  constexpr std::string_view kCertificate = "client certificate";
  constexpr std::string_view kKey = "private key";
  const auto& ssl = openssl();
  require_file(kCertificate, tls.cert);
  require_file(kKey, tls.key, true);
  bool has_passphrase = false;
  ssl.SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  ssl.SSL_CTX_set_default_passwd_cb_userdata(context, &has_passphrase);
  if (ssl.SSL_CTX_use_certificate_chain_file(context, tls.cert.c_str()) != 1) {
    bad_file(kCertificate, tls.cert);
  }
  const bool is_usable =
      ssl.SSL_CTX_use_PrivateKey_file(context, tls.key.c_str(), SSL_FILETYPE_PEM) == 1 &&
      ssl.SSL_CTX_check_private_key(context) == 1;
  ssl.SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (!is_usable) {
    if (has_passphrase) {
      throw InputError(
          fmt::format("cannot use the {} {}: it has a passphrase", kKey, escape(tls.key)),
          "make a copy without one: openssl pkey -in " + shell_quoted(tls.key) + " -out FILE");
    }
    bad_file(kKey, tls.key);
  }
}

}  // namespace

TlsContext make_tls_context(const Url& url) {
  const auto& ssl = openssl();
  const Tls& tls = *url.tls;
  TlsContext context(ssl.SSL_CTX_new(ssl.TLS_client_method()));
  if (!context) throw std::bad_alloc();
  // The system's configuration may ask for more.
  if (ssl.SSL_CTX_ctrl(context.get(), SSL_CTRL_GET_MIN_PROTO_VERSION, 0, nullptr) <
      TLS1_2_VERSION) {
    ssl.SSL_CTX_ctrl(context.get(), SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, nullptr);
  }
  ssl.SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  ssl.SSL_CTX_set_cert_cb(context.get(), on_certificate_wanted, nullptr);
  ssl.SSL_CTX_set_verify(context.get(), tls.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                         tls.insecure ? nullptr : on_verified);
  ssl.ERR_clear_error();
  use_authorities(context.get(), tls.cacert);
  if (!tls.cert.empty()) use_certificate(context.get(), tls);
  return context;
}

std::unique_ptr<Transport> start_tls(const Url& url, const TlsContext& context,
                                     std::unique_ptr<Transport> plain, Deadline deadline) {
  const Tls& tls = *url.tls;
  TlsPeer peer{.server = display(url), .name = tls.sni.empty() ? url.host : tls.sni, .tls = tls};
  auto transport = std::make_unique<TlsTransport>(std::move(plain), context.get(), std::move(peer));
  transport->shake_hands(deadline);
  return transport;
}

}  // namespace rlctl::redis
