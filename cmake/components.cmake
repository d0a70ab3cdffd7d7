# A component is a folder: receivers/otlp/ defines `const struct component receiver_otlp`. The table
# of all of them is written here from the folders found, so that adding one edits no shared file.
set(COMPONENT_SOURCES "")
set(declarations "")
set(rows "")
foreach(kind receiver processor exporter extension)
  file(GLOB folders CONFIGURE_DEPENDS LIST_DIRECTORIES true ${CMAKE_SOURCE_DIR}/${kind}s/*)
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
