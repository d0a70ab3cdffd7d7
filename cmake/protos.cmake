# SPDX-License-Identifier: Apache-2.0
# Generates C from our .proto files with protoc-c, in the build folder.
find_program(PROTOC_C protoc-c REQUIRED)
file(GLOB_RECURSE proto_files CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/lib/protos
  ${CMAKE_SOURCE_DIR}/lib/protos/*.proto)
set(proto_dir ${CMAKE_BINARY_DIR}/generated/proto)
file(MAKE_DIRECTORY ${proto_dir})
set(proto_sources "")
foreach(file ${proto_files})
  string(REGEX REPLACE "\\.proto$" ".pb-c" stem ${file})
  add_custom_command(
    OUTPUT ${proto_dir}/${stem}.c ${proto_dir}/${stem}.h
    COMMAND ${PROTOC_C} --c_out=${proto_dir} -I${CMAKE_SOURCE_DIR}/lib/protos
            ${CMAKE_SOURCE_DIR}/lib/protos/${file}
    DEPENDS ${CMAKE_SOURCE_DIR}/lib/protos/${file}
    VERBATIM)
  list(APPEND proto_sources ${proto_dir}/${stem}.c)
endforeach()
add_library(protos STATIC ${proto_sources})
target_include_directories(protos PUBLIC ${proto_dir})
target_link_libraries(protos PUBLIC PkgConfig::protobufc)
target_compile_options(protos PRIVATE -w)
