# SPDX-License-Identifier: Apache-2.0
# What `spanlink --version` prints besides the version: the commit, determined at every build, and
# the libraries. Included by CMakeLists.txt; with -P, COMMIT_FILE and SPANLINK_COMMIT it writes the
# commit.
if(CMAKE_SCRIPT_MODE_FILE)
  set(commit "${SPANLINK_COMMIT}")
  if(NOT commit)
    set(commit "$ENV{SPANLINK_COMMIT}")
  endif()
  if(NOT commit)
    set(commit unknown)
    execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --exclude=* --abbrev=12
      RESULT_VARIABLE failed OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    # Ignore the commit of a repository that merely contains this source tree.
    if(NOT failed AND EXISTS ${SOURCE_DIR}/.git)
      set(commit ${said})
    endif()
  endif()
  file(CONFIGURE OUTPUT ${COMMIT_FILE} CONTENT "#define SPANLINK_COMMIT \"${commit}\"\n" @ONLY)
  return()
endif()

set(SPANLINK_COMMIT "" CACHE STRING "the commit that --version prints; empty: SPANLINK_COMMIT of the environment, else git's")
add_custom_target(commit BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/commit.h
  COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DSPANLINK_COMMIT=${SPANLINK_COMMIT}
    -DCOMMIT_FILE=${CMAKE_BINARY_DIR}/generated/commit.h -P ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "" VERBATIM)

set(libraries "")
function(library name version how)
  set(libraries "${libraries}  ${name} ${version} (${how})\\n" PARENT_SCOPE)
endfunction()
set(curl_how shared)
set(microhttpd_how shared)
set(gnutls_how shared)
if(CURL_STATIC)
  set(curl_how static)
endif()
if(MICROHTTPD_ARCHIVE)
  set(microhttpd_how static)
endif()
if(LATE)
  set(gnutls_how "loaded when needed")
endif()
library(libcurl ${curl_VERSION} ${curl_how})
library(libmicrohttpd ${microhttpd_VERSION} ${microhttpd_how})
library(GnuTLS ${gnutls_VERSION} ${gnutls_how})
library(nghttp2 ${nghttp2_VERSION} shared)
library(jansson ${jansson_VERSION} shared)
library(libyaml ${yaml_VERSION} shared)
library(libcrypt ${crypt_VERSION} shared)
library(isa-l ${isal_VERSION} shared)
library(libdeflate ${deflate_VERSION} shared)
library(zstd ${zstd_VERSION} shared)
library(snappy ${snappy_VERSION} "loaded when needed")
library(lz4 ${lz4_VERSION} "loaded when needed")
library(pcre2 ${pcre2_VERSION} "loaded when needed")
library(librdkafka ${rdkafka_VERSION} "loaded when needed")
