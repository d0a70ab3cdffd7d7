# SPDX-License-Identifier: Apache-2.0
# What the build's check of late loading lets through (cmake/late_check.cmake). Run by cmake -P with
# CC, AR, NM, GNUTLS (its shared library), SOURCE (the checkout) and FOLDER to work in.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
file(WRITE ${FOLDER}/caller.c "int gnutls_known(void);\nint gnutls_unknown(void);\n"
  "int call(void) { return gnutls_known() + gnutls_unknown(); }\n")
file(WRITE ${FOLDER}/bound.c "const char *gnutls_check_version(const char *);\n"
  "int main(void) { return !gnutls_check_version(0); }\n")
file(WRITE ${FOLDER}/free.c "int main(void) { return 0; }\n")
file(WRITE ${FOLDER}/one.S "        function gnutls, gnutls_known, 0\n")
file(WRITE ${FOLDER}/both.S "        function gnutls, gnutls_known, 0\n"
  "        function gnutls, gnutls_unknown, 1\n")
file(WRITE ${FOLDER}/none.c "")
file(WRITE ${FOLDER}/by_hand.c "int gnutls_unknown(void)\n{\n    return 0;\n}\n")

function(must)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs the check; with expected "" it passes, else it fails and says that.
function(expect expected)
  execute_process(COMMAND ${CMAKE_COMMAND} -DNM=${NM} ${ARGN} -P ${SOURCE}/cmake/late_check.cmake
    RESULT_VARIABLE result ERROR_VARIABLE text)
  string(REGEX REPLACE "[ \n]+" " " text "${text}")
  if(expected STREQUAL "" AND NOT result EQUAL 0)
    message(SEND_ERROR "${ARGN} fails: ${text}")
  elseif(NOT expected STREQUAL "" AND (result EQUAL 0 OR NOT text MATCHES "${expected}"))
    message(SEND_ERROR "${ARGN} does not fail with \"${expected}\" (${result}): ${text}")
  endif()
endfunction()

must(${CC} -c caller.c -o caller.o)
must(${AR} rc libcaller.a caller.o)
set(archives -DARCHIVES=${FOLDER}/libcaller.a|${FOLDER}/libcaller.a)
expect("late loading does not know gnutls_unknown\\." ${archives} -DTABLE=${FOLDER}/one.S
  -DBY_HAND=${FOLDER}/none.c)
expect("" ${archives} -DTABLE=${FOLDER}/both.S -DBY_HAND=${FOLDER}/none.c)
expect("" ${archives} -DTABLE=${FOLDER}/one.S -DBY_HAND=${FOLDER}/by_hand.c)

must(${CC} bound.c ${GNUTLS} -o bound)
must(${CC} free.c -o free)
expect("has gnutls_check_version bound at its start" -DPROGRAM=${FOLDER}/bound)
expect("" -DPROGRAM=${FOLDER}/free)
