# SPDX-License-Identifier: Apache-2.0
# Writes the files of a folder as a C table (extensions/status/page.h). Run by the build:
#   cmake -DFOLDER=... -DOUT=... -P embed.cmake
# The order is that of the names and nothing else goes in, so that equal files make equal bytes.
# Lines lose their indentation by tabs, and comments that begin a line go: a sixth of the page. So
# do spaces and ends of lines beside a sign in CSS and JavaScript, where nothing depends on them, the
# semicolon at the end of a block, and parentheses around a single parameter; `const` becomes `let`.
# In JavaScript this is done outside of "texts" and `templates`, and not in a line with several of
# the latter. Every statement that does not end in a block needs its semicolon. A regular expression
# writes a space as \s.
# tests/browser/made.test.mjs compares what is left with the files.
# Control characters stand for the signs that mean something in a list of CMake.
string(ASCII 1 semicolon)
string(ASCII 2 bracket_open)
string(ASCII 3 bracket_close)
string(ASCII 4 backslash)

# Sets out to JavaScript without spaces and ends of lines beside its signs.
function(tighten text out)
  string(REPLACE "\\" "${backslash}" text "${text}")
  string(REPLACE ";" "${semicolon}" text "${text}")
  string(REPLACE "[" "${bracket_open}" text "${text}")
  string(REPLACE "]" "${bracket_close}" text "${text}")
  string(REGEX REPLACE "\n[\n\t]*" ";" lines "${text}")
  set(all "")
  foreach(line IN LISTS lines)
    set(short "")
    string(REGEX MATCHALL "\"[^\"]*\"|`[^`]*`|[^\"`]+" parts "${line}")
    string(REPLACE ";" "" whole "${parts}")
    if(line MATCHES "^//")
      continue()
    elseif(line MATCHES "[^:\"]//")
      message(FATAL_ERROR "a comment needs a line of its own: ${line}")
    elseif(line MATCHES "`[^`]*`[^`]*`" OR line MATCHES "${backslash}\"" OR NOT whole STREQUAL line)
      # Templates, one of which may be in another, a quote that is escaped, and an odd one, as in a
      # regular expression.
      set(parts "")
      set(short "${line}")
    endif()
    foreach(part IN LISTS parts)
      if(NOT part MATCHES "^[\"`]")
        string(REGEX REPLACE "([,:?(){}${semicolon}${bracket_open}${bracket_close}]) " "\\1" part
          "${part}")
        string(REGEX REPLACE " ([:?(){}${bracket_open}${bracket_close}])" "\\1" part "${part}")
        # Without the space, two signs beside each other would be one.
        string(REGEX REPLACE "([^+]) \\+ ([^+])" "\\1+\\2" part "${part}")
        string(REGEX REPLACE "([^-]) - ([^-])" "\\1-\\2" part "${part}")
        string(REGEX REPLACE " ([*/]) " "\\1" part "${part}")
        string(REGEX REPLACE "(^|[ ({${semicolon}])const " "\\1let " part "${part}")
        string(REGEX REPLACE "([,(:=])\\(([a-zA-Z]+)\\)=>" "\\1\\2=>" part "${part}")
      endif()
      string(APPEND short "${part}")
    endforeach()
    string(APPEND all "${short}\n")
  endforeach()
  string(REGEX REPLACE "([,{}(:?.|&=${semicolon}])\n" "\\1" all "${all}")
  string(REGEX REPLACE "\n([]})?:.|&]|${bracket_close})" "\\1" all "${all}")
  string(REPLACE "${semicolon}}" "}" all "${all}")
  string(REPLACE "${backslash}" "\\" all "${all}")
  string(REPLACE "${semicolon}" ";" all "${all}")
  string(REPLACE "${bracket_open}" "[" all "${all}")
  string(REPLACE "${bracket_close}" "]" all "${all}")
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

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
      string(REPLACE ";}" "}" text "${text}")
    else()
      foreach(sign "=>" "===" "!==" "=" "&&" "||" "??" "<" ">" ">=" "<=")
        string(REPLACE " ${sign} " "${sign}" text "${text}")
      endforeach()
      tighten("${text}" text)
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
