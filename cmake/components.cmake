# SPDX-License-Identifier: Apache-2.0
# A component is a folder: receivers/otlp/ defines `const struct component receiver_otlp`. This file
# generates the table of all components from the folders, so that adding one changes no shared file.
set(SPANLINK_COMPONENTS "" CACHE STRING
  "folders with your own components in receivers/, processors/, exporters/, extensions/")
set(COMPONENT_FOLDERS ${CMAKE_SOURCE_DIR})
foreach(folder ${SPANLINK_COMPONENTS})
  get_filename_component(folder ${folder} ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  file(GLOB found ${folder}/receivers/* ${folder}/processors/* ${folder}/exporters/*
    ${folder}/extensions/*)
  if(NOT found)
    message(FATAL_ERROR "SPANLINK_COMPONENTS: ${folder} has no receivers/NAME, processors/NAME, "
      "exporters/NAME or extensions/NAME")
  endif()
  list(APPEND COMPONENT_FOLDERS ${folder})
endforeach()
set(COMPONENT_SOURCES "")
set(declarations "")
set(rows "")
foreach(kind receiver processor exporter extension)
  list(TRANSFORM COMPONENT_FOLDERS APPEND /${kind}s/* OUTPUT_VARIABLE patterns)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${patterns})
  foreach(folder ${folders})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.c)
    if(sources)
      get_filename_component(name ${folder} NAME)
      list(APPEND COMPONENT_SOURCES ${sources})
      string(APPEND declarations "extern const struct component ${kind}_${name};\n")
      string(APPEND rows "    &${kind}_${name},\n")
    endif()
  endforeach()
endforeach()
set(table ${CMAKE_BINARY_DIR}/generated/components.c)
file(CONFIGURE OUTPUT ${table} CONTENT
"/* Written by cmake/components.cmake. */
#include \"pipeline/component.h\"

${declarations}
const struct component *const component_table[] = {
${rows}    NULL,
};
" @ONLY)
list(APPEND COMPONENT_SOURCES ${table})
