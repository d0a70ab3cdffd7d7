# SPDX-License-Identifier: Apache-2.0
# Libraries that are loaded when one of their functions is first called (lib/late/late.h). This
# requires static libmicrohttpd and libcurl, because their shared libraries load GnuTLS, and a page
# of assembler for the processor; otherwise everything is linked normally.
option(SPANLINK_LATE "load GnuTLS on first use" ON)

# Sets out to the functions of a shared library that our sources and the static libraries use.
function(names_used library out)
  file(GLOB_RECURSE own ${CMAKE_SOURCE_DIR}/lib/net/*.c)
  execute_process(COMMAND ${CMAKE_NM} -D --defined-only ${library} OUTPUT_VARIABLE has)
  execute_process(COMMAND ${CMAKE_NM} -u ${MICROHTTPD_ARCHIVE} ${CURL_ARCHIVE}
    OUTPUT_VARIABLE used ERROR_QUIET)
  foreach(file ${own})
    file(READ ${file} text)
    string(APPEND used "${text}")
  endforeach()
  string(REGEX MATCHALL " T [a-z0-9_]+@@" has "${has}")
  list(TRANSFORM has REPLACE " T (.*)@@" "\\1")
  list(FILTER has EXCLUDE REGEX "^gnutls_global_(de)?init$")
  string(REGEX MATCHALL "[a-z0-9_]+" used "${used}")
  list(REMOVE_DUPLICATES used)
  set(names "")
  foreach(name ${has})
    if(name IN_LIST used)
      list(APPEND names ${name})
    endif()
  endforeach()
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

# Appends the rows of a library to late_functions, and sets out to the file name for the loader.
macro(late_library name library out)
  names_used(${library} names)
  list(LENGTH names count)
  string(APPEND late_functions "        library ${name}, ${count}\n")
  set(index 0)
  foreach(function ${names})
    string(APPEND late_functions "        function ${name}, ${function}, ${index}\n")
    math(EXPR index "${index} + 1")
  endforeach()
  string(APPEND late_functions "        .asciz  \"\"\n")
  file_of(${library} ${out})
endmacro()

find_library(MICROHTTPD_ARCHIVE NAMES libmicrohttpd.a HINTS ${microhttpd_LIBDIR})
find_library(GNUTLS_SHARED NAMES libgnutls.so HINTS ${gnutls_LIBDIR})
find_library(IDN2_SHARED NAMES libidn2.so HINTS ${gnutls_LIBDIR})
set(LATE FALSE)
if(SPANLINK_LATE AND CURL_STATIC AND MICROHTTPD_ARCHIVE AND GNUTLS_SHARED AND IDN2_SHARED
   AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(LATE TRUE)
  enable_language(ASM)
  late_library(gnutls ${GNUTLS_SHARED} GNUTLS_FILE)
  late_library(idn2 ${IDN2_SHARED} IDN2_FILE)
  set(LATE_TABLE ${CMAKE_BINARY_DIR}/generated/late.S)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/late.S.in ${LATE_TABLE} @ONLY)
endif()
# The build fails where a program of these layers calls what the table does not have.
function(check_late program)
  set(archives ${MICROHTTPD_ARCHIVE} ${CURL_ARCHIVE})
  foreach(layer ${ARGN})
    list(APPEND archives $<TARGET_FILE:${layer}>)
  endforeach()
  list(JOIN archives "|" archives)
  set(check ${CMAKE_SOURCE_DIR}/cmake/late_check.cmake)
  add_custom_command(TARGET ${program} PRE_LINK COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
    -DTABLE=${LATE_TABLE} -DBY_HAND=${CMAKE_SOURCE_DIR}/lib/late/late.c "-DARCHIVES=${archives}"
    -P ${check} VERBATIM)
  add_custom_command(TARGET ${program} POST_BUILD COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM}
    -DPROGRAM=$<TARGET_FILE:${program}> -P ${check} VERBATIM)
endfunction()
message(STATUS "GnuTLS is loaded late: ${LATE}")

# tools/build.sh prints this text at the end of a build: why an idle spanlink uses more memory.
set(without "")
if(SPANLINK_STATIC_CURL AND NOT CURL_STATIC)
  set(without "libcurl is a shared library here, because ${CURL_SHARED_FOR}: an idle spanlink uses \
about 10 MiB of memory instead of 5\n")
elseif(SPANLINK_LATE AND NOT LATE)
  set(without "GnuTLS is loaded at startup, because loading it on first use requires x86-64 and \
libmicrohttpd.a: an idle spanlink uses about 2 MiB more memory\n")
endif()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/without.txt CONTENT "${without}" @ONLY)
