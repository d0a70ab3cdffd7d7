# SPDX-License-Identifier: Apache-2.0
# The page of the extension status, embedded in the binary.
file(GLOB page_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/extensions/status/page/*)
set(STATUS_PAGE ${CMAKE_BINARY_DIR}/generated/status_page.c)
add_custom_command(OUTPUT ${STATUS_PAGE}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_SOURCE_DIR}/extensions/status/page
    -DOUT=${STATUS_PAGE} -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
