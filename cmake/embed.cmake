# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder as a C table (extensions/status/page.h). Run by the build:
#   cmake -DFOLDER=... -DOUT=... -P embed.cmake
# The order is that of the names and nothing else goes in, so that equal files make equal bytes.
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
list(SORT files)
set(types_html "text/html; charset=utf-8")
set(types_css "text/css; charset=utf-8")
set(types_js "text/javascript; charset=utf-8")
set(types_svg "image/svg+xml")
set(types_png "image/png")
set(types_ico "image/x-icon")
set(types_json "application/json")
set(arrays "")
set(rows "")
set(number 0)
foreach(name ${files})
  string(REGEX MATCH "[^.]*$" ending "${name}")
  if(NOT DEFINED types_${ending} OR IS_DIRECTORY ${FOLDER}/${name})
    message(FATAL_ERROR "${FOLDER}/${name}: cmake/embed.cmake knows no type for it")
  endif()
  file(READ ${FOLDER}/${name} hex HEX)
  file(SHA256 ${FOLDER}/${name} hash)
  file(SIZE ${FOLDER}/${name} size)
  string(SUBSTRING ${hash} 0 16 hash)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REPEAT "0x..," 16 line)
  string(REGEX REPLACE "(${line})" "\\1\n" bytes "${bytes}")
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND arrays "static const unsigned char file_${number}[] = {\n${bytes}0};\n")
  string(APPEND rows
    "    {\"${path}\", \"${types_${ending}}\", \"\\\"${hash}\\\"\", file_${number}, ${size}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "/* Written by cmake/embed.cmake. */
#include \"extensions/status/page.h\"

${arrays}
const struct page_file page_files[] = {
${rows}    {0},
};
")
