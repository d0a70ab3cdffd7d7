# SPDX-License-Identifier: Apache-2.0
# The third-party libraries, each by pkg-config.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(microhttpd REQUIRED IMPORTED_TARGET libmicrohttpd>=0.9.75)
pkg_check_modules(curl REQUIRED IMPORTED_TARGET libcurl)
pkg_check_modules(nghttp2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(gnutls REQUIRED IMPORTED_TARGET gnutls)
pkg_check_modules(crypt REQUIRED IMPORTED_TARGET libcrypt)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(protobufc REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(deflate REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

# Loaded when a body first needs them (lib/late/library.h): the build needs only headers and file
# names.
function(file_of library out)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${library} OUTPUT_VARIABLE headers)
  string(REGEX MATCH "SONAME +([^\n]+)" soname "${headers}")
  set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()
pkg_check_modules(snappy REQUIRED snappy)
pkg_check_modules(lz4 REQUIRED liblz4)
find_library(SNAPPY_SHARED NAMES libsnappy.so HINTS ${snappy_LIBDIR} REQUIRED)
find_library(LZ4_SHARED NAMES liblz4.so HINTS ${lz4_LIBDIR} REQUIRED)
file_of(${SNAPPY_SHARED} SNAPPY_FILE)
file_of(${LZ4_SHARED} LZ4_FILE)
