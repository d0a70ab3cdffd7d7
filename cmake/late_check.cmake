# SPDX-License-Identifier: Apache-2.0
# Fails where something calls a function of a library that is loaded late (cmake/late.cmake) and
# that is not in its table. Run by cmake -P, before a program is linked with
#   NM, TABLE (late.S), BY_HAND (late.c) and ARCHIVES (joined by "|"), and after it with
#   NM and PROGRAM, which must not have such a library bound at its start.
set(prefix "(_*gnutls_|idn2_)")

if(PROGRAM)
  execute_process(COMMAND ${NM} -D --undefined-only ${PROGRAM} OUTPUT_VARIABLE text
    COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[UwWvV] ${prefix}[A-Za-z0-9_]+" names "${text}")
  list(TRANSFORM names REPLACE "^. " "")
  if(names)
    list(JOIN names ", " names)
    message(FATAL_ERROR "${PROGRAM} has ${names} bound at its start: the library is on the "
      "linker's command line, while cmake/late.cmake is to load it late")
  endif()
  return()
endif()

string(REPLACE "|" ";" archives "${ARCHIVES}")
execute_process(COMMAND ${NM} -u ${archives} OUTPUT_VARIABLE used ERROR_QUIET)
string(REGEX MATCHALL "[UwWvV] ${prefix}[A-Za-z0-9_]+" used "${used}")
list(TRANSFORM used REPLACE "^. " "")
list(REMOVE_DUPLICATES used)
file(READ ${TABLE} table)
file(READ ${BY_HAND} by_hand)
set(missing "")
foreach(name ${used})
  if(NOT table MATCHES ", ${name}, " AND NOT by_hand MATCHES "[ *]${name}[( ]")
    list(APPEND missing ${name})
  endif()
endforeach()
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "late loading does not know ${missing}. Functions that lib/net or an archive "
    "calls come into its table when the build is configured, so run cmake again. Data and what is "
    "called elsewhere do not: see cmake/late.cmake")
endif()
