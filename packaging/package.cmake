# What CPack's Debian package is. packaging/release builds it; nothing here is needed to build or install rlctl.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME "${PROJECT_NAME}")
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
# A domain that nobody can own: the project has no address, and the format requires one.
set(CPACK_PACKAGE_CONTACT "The rlctl authors <rlctl@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "rate limiter for the shell, on a Redis or Valkey server")
set(CPACK_PACKAGE_DESCRIPTION
  "rlctl asks a Redis or Valkey server whether a request is within a limit and
reports the answer as an exit status. Eight Lua scripts make the decisions
inside the server; other programs can call them as well.
.
Other commands show what a key holds, reset it, report its use to Nagios, cron
and Prometheus, step through a script, replay an access log, and search for the
requests with which a limiter allows the most.")
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# OpenSSL is loaded when TLS is used, which dpkg-shlibdeps does not see. redis-tools contains a server, which
# burst, debug and lint start.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libssl${OPENSSL_VERSION_MAJOR}, ca-certificates, redis-tools | valkey-tools, tzdata")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "redis-server | valkey-server")

# What only a Debian package has or requires.
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/stage_debian.cmake")
set(CPACK_RLCTL_SOURCE_DIR "${PROJECT_SOURCE_DIR}")
set(CPACK_RLCTL_DOCDIR "${CMAKE_INSTALL_DOCDIR}")
set(CPACK_RLCTL_MANDIR "${CMAKE_INSTALL_MANDIR}")
include(CPack)
