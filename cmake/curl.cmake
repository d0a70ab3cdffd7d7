# SPDX-License-Identifier: Apache-2.0
# libcurl, linked statically if possible. Debian's shared library loads 18 others (Kerberos, LDAP,
# RTMP, SSH and with it OpenSSL, ...) for features that lib/net/http/http_client never uses. They
# took 3.0 of the 6.0 ms to readiness, 4.3 of 10.4 MiB resident and 0.7 of 1.4 MiB private dirty;
# the archive adds 0.6 MiB to the binary. curl_absent.c defines the functions that it needs from
# them. The drawback: a newer libcurl requires a rebuild. The shared library is used with OFF,
# without an archive, or if the archive does not link.
option(SPANLINK_STATIC_CURL "link libcurl from its archive, without what HTTP does not need" ON)

set(curl_absent ${CMAKE_BINARY_DIR}/generated/curl_absent.c)

function(write_curl_absent)
  set(others gss_ GSS_ libssh2_ ldap_ ber_ RTMP_ psl_ nettle_ Brotli inflate zlib ngtcp2_ nghttp3_)
  list(JOIN others "|" others)
  file(READ ${CMAKE_SOURCE_DIR}/cmake/curl_absent.c.in by_hand)
  execute_process(COMMAND ${CMAKE_NM} -u ${CURL_ARCHIVE} OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCHALL " U [A-Za-z0-9_]+" names "${text}")
  list(TRANSFORM names REPLACE " U " "")
  list(FILTER names INCLUDE REGEX "^(${others})")
  list(REMOVE_DUPLICATES names)
  set(absent_rest "")
  foreach(name ${names})
    if(NOT by_hand MATCHES "[ *]${name}\\(")
      string(APPEND absent_rest "void ${name}(void) __attribute__((alias(\"absent\")));\n")
    endif()
  endforeach()
  configure_file(${CMAKE_SOURCE_DIR}/cmake/curl_absent.c.in ${curl_absent} @ONLY)
endfunction()

if(SPANLINK_STATIC_CURL)
  find_library(CURL_ARCHIVE NAMES libcurl-gnutls.a HINTS ${curl_LIBDIR})
  pkg_check_modules(curl_below IMPORTED_TARGET libnghttp2 gnutls libidn2 libzstd)
  set(CURL_SHARED_FOR "libcurl-gnutls.a is not installed")
  if(CURL_ARCHIVE AND curl_below_FOUND)
    set(CURL_SHARED_FOR "${CURL_ARCHIVE} does not link (see ${CMAKE_BINARY_DIR}/CMakeFiles)")
    write_curl_absent()
    if(NOT CURL_ARCHIVE_LINKS) # do not reuse the results of an earlier libcurl
      unset(CURL_ARCHIVE_LINKS CACHE)
    endif()
    try_compile(CURL_ARCHIVE_LINKS ${CMAKE_BINARY_DIR}/generated/curl_probe
      SOURCES ${CMAKE_SOURCE_DIR}/cmake/curl_probe.c ${curl_absent}
      LINK_LIBRARIES ${CURL_ARCHIVE} PkgConfig::curl_below Threads::Threads)
  endif()
endif()

if(SPANLINK_STATIC_CURL AND CURL_ARCHIVE_LINKS)
  set(CURL_STATIC TRUE)
  add_library(curl_absent STATIC ${curl_absent})
  target_link_libraries(curl_absent PRIVATE compile_options)
  target_compile_options(curl_absent PRIVATE -w)
  set(CURL_LIBRARIES ${CURL_ARCHIVE} curl_absent PkgConfig::curl_below)
else()
  set(CURL_STATIC FALSE)
  set(CURL_LIBRARIES PkgConfig::curl)
endif()
message(STATUS "libcurl: ${CURL_LIBRARIES}")
