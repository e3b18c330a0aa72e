# Run by CPack on what `cmake --install` put into the package's folder.

set(prefix "${CPACK_TEMPORARY_INSTALL_DIRECTORY}${CPACK_PACKAGING_INSTALL_PREFIX}")
execute_process(
  COMMAND "${CPACK_RLCTL_SOURCE_DIR}/packaging/debian-files"
    "${prefix}/${CPACK_RLCTL_DOCDIR}" "${prefix}/${CPACK_RLCTL_MANDIR}"
    "${CPACK_PACKAGE_CONTACT}"
  COMMAND_ERROR_IS_FATAL ANY)
