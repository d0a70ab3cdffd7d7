# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` installs besides the binary: man pages and shell completion, generated from
# the binary's own output, and the documentation. Files of the .deb only are in packaging/debian.
include(GNUInstallDirs)
set(doc_folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/spanlink)
install(FILES README.md SECURITY.md CHANGELOG.md LICENSE DESTINATION ${doc_folder})
install(DIRECTORY docs configs DESTINATION ${doc_folder})
# The pages link to these; they keep their places in the tree, so that the links hold.
install(DIRECTORY examples DESTINATION ${doc_folder} USE_SOURCE_PERMISSIONS
  PATTERN __pycache__ EXCLUDE)
install(DIRECTORY packaging/kubernetes DESTINATION ${doc_folder}/packaging)
file(GLOB linked CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} receivers/*/README.md
  processors/*/README.md exporters/*/README.md extensions/*/README.md tests/field/arrangements.*)
foreach(file ${linked} bench/README.md bench/held.c packaging/config.yaml packaging/rootfs.sh
    tests/e2e/apps/README.md tests/field/README.md tools/manual.py tools/sbom.py)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${file} DESTINATION ${doc_folder}/${folder})
endforeach()

find_package(Python3 COMPONENTS Interpreter)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND Python3_FOUND AND
   (CMAKE_CROSSCOMPILING_EMULATOR OR NOT CMAKE_CROSSCOMPILING))
  set(manual ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/spanlink.1
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/manual.py ${manual}
      ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:spanlink>
    COMMAND gzip -9nkf ${manual}/spanlink.1 ${manual}/spanlink.yaml.5
    DEPENDS spanlink ${CMAKE_SOURCE_DIR}/tools/manual.py
    COMMENT "Writing the man pages and the shells' completion" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/spanlink.1)
  set(data ${CMAKE_INSTALL_DATAROOTDIR})
  install(FILES ${manual}/spanlink.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${manual}/spanlink.yaml.5.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  install(FILES ${manual}/spanlink.bash DESTINATION ${data}/bash-completion/completions
    RENAME spanlink)
  install(FILES ${manual}/_spanlink DESTINATION ${data}/zsh/vendor-completions)
  install(FILES ${manual}/spanlink.fish DESTINATION ${data}/fish/vendor_completions.d)
endif()

# The .deb, built by tools/package.sh.
set(debian ${CMAKE_SOURCE_DIR}/packaging/debian)
set(made ${CMAKE_BINARY_DIR}/debian)
# The package's unit is the one for manual installation, but with a permanent user.
file(READ configs/systemd/spanlink.service unit)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS configs/systemd/spanlink.service)
string(REGEX REPLACE "^(#[^\n]*\n)+" "" unit "${unit}")
foreach(pair "/usr/local/bin/|/usr/bin/" "DynamicUser=yes|User=spanlink"
    "file:/usr/local/share/|man:spanlink(1) file:/usr/share/")
  string(REPLACE "|" ";" pair "${pair}")
  list(GET pair 0 from)
  list(GET pair 1 to)
  string(FIND "${unit}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "configs/systemd/spanlink.service no longer has ${from}")
  endif()
  string(REPLACE "${from}" "${to}" unit "${unit}")
endforeach()
file(CONFIGURE OUTPUT ${made}/spanlink.service CONTENT "${unit}" @ONLY)
set(for_debian COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${made}/spanlink.service DESTINATION lib/systemd/system ${for_debian})
install(FILES ${debian}/sysusers.conf DESTINATION lib/sysusers.d RENAME spanlink.conf ${for_debian})
install(FILES ${debian}/tmpfiles.conf DESTINATION lib/tmpfiles.d RENAME spanlink.conf ${for_debian})
install(FILES ${debian}/config.yaml DESTINATION /etc/spanlink ${for_debian})
install(FILES ${debian}/environment DESTINATION /etc/spanlink ${for_debian}
  PERMISSIONS OWNER_READ OWNER_WRITE)
install(FILES ${debian}/copyright DESTINATION ${doc_folder} ${for_debian})
install(FILES ${made}/changelog.gz DESTINATION ${doc_folder} ${for_debian})

# The packages of libraries loaded on first use, which dpkg-shlibdeps cannot see.
function(package_of library out)
  get_filename_component(file "${library}" REALPATH)
  get_filename_component(name "${file}" NAME)
  execute_process(COMMAND dpkg-query -S "*/${name}" OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX REPLACE "[:,].*" "" said "${said}")
  set(${out} "${said}" PARENT_SCOPE)
endfunction()
package_of("${SNAPPY_SHARED}" snappy_package)
package_of("${LZ4_SHARED}" lz4_package)
package_of("${PCRE2_SHARED}" pcre2_package)
package_of("${RDKAFKA_SHARED}" rdkafka_package)
package_of("${GNUTLS_SHARED}" gnutls_package)
package_of("${IDN2_SHARED}" idn2_package)
set(late_packages ", ${gnutls_package}, ${idn2_package}")

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS
  "${CMAKE_BINARY_DIR};spanlink;ALL;/;${CMAKE_BINARY_DIR};spanlink;debian;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES TRUE)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "telemetry sidecar that links spans with profiles")
set(CPACK_PACKAGE_DESCRIPTION
  "Takes OpenTelemetry traces, metrics, logs and profiles and Pyroscope profiles,
links spans with the profiles taken while they ran, and sends all to backends
such as Tempo and Pyroscope. Configured as the OpenTelemetry Collector is.")
set(CPACK_PACKAGE_CONTACT "The authors of spanlink <spanlink@localhost>")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ
  GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/package_times.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
if(NOT CMAKE_CROSSCOMPILING) # else tools/package.sh says what the package depends on
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, \
systemd | systemd-standalone-tmpfiles${late_packages}")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates, ${snappy_package}, ${lz4_package}, \
${pcre2_package}")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "${rdkafka_package}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${debian}/postinst ${debian}/prerm
  ${debian}/postrm)
include(CPack)
