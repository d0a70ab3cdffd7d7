# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder as a C table (extensions/status/page.h). Run by the build:
#   cmake -DFOLDER=... -DOUT=... -P embed.cmake
# The order is that of the names and nothing else goes in, so that equal files make equal bytes.
# Lines lose their indentation by tabs, and comments that begin a line go: a sixth of the page. So do
# spaces and ends of lines beside a sign in CSS, where nothing depends on them, and spaces around
# signs of JavaScript that no text contains.
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
  if(ending MATCHES "^(js|css)$")
    file(READ ${FOLDER}/${name} text)
    string(REGEX REPLACE "\n\t*/\\*([^*]|\\*[^/])*\\*/" "" text "\n${text}")
    if(ending STREQUAL "css")
      foreach(sign ":" ";" "," "{")
        string(REPLACE "${sign} " "${sign}" text "${text}")
      endforeach()
      string(REPLACE " {" "{" text "${text}")
      string(REPLACE " }" "}" text "${text}")
      string(REGEX REPLACE "([,;{}])\n\t*" "\\1" text "${text}")
    else()
      foreach(sign "=>" "===" "!==" "=" "&&" "||" "??" "<" ">" ">=" "<=")
        string(REPLACE " ${sign} " "${sign}" text "${text}")
      endforeach()
    endif()
    string(HEX "${text}" hex)
  endif()
  file(SHA256 ${FOLDER}/${name} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  # That would change a template literal that goes over lines, and text in a pre element.
  string(REGEX REPLACE "0x([^60].|6[^0]|0[^a])," "" quotes "${bytes}")
  string(REGEX REPLACE "0x60,0x60," "" quotes "${quotes}")
  if(ending STREQUAL "js" AND quotes MATCHES "0x60")
    message(FATAL_ERROR "${FOLDER}/${name}: a template literal must end on its line")
  endif()
  if(bytes MATCHES "0x3c,0x70,0x72,0x65")
    message(FATAL_ERROR "${FOLDER}/${name}: <pre> would lose its indentation")
  endif()
  string(REGEX REPLACE "0x0a,(0x09,)+" "0x0a," bytes "${bytes}")
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 5")
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
