# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` lays down beside the binary: man pages and the shells' completion, which
# the binary itself is asked for, and the documents. What only the .deb has is in packaging/debian.
include(GNUInstallDirs)
set(doc_folder ${CMAKE_INSTALL_DATAROOTDIR}/doc/spanlink)
install(FILES README.md SECURITY.md DESTINATION ${doc_folder})
install(DIRECTORY docs configs DESTINATION ${doc_folder})

find_package(Python3 COMPONENTS Interpreter)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND Python3_FOUND AND
   (CMAKE_CROSSCOMPILING_EMULATOR OR NOT CMAKE_CROSSCOMPILING))
  set(manual ${CMAKE_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/spanlink.1
    COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tools/manual.py $<TARGET_FILE:spanlink>
      ${manual}
    COMMAND gzip -9nkf ${manual}/spanlink.1 ${manual}/spanlink.yaml.5
    DEPENDS spanlink ${CMAKE_SOURCE_DIR}/tools/manual.py
    COMMENT "Writing the man pages and the shells' completion" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/spanlink.1)
  set(data ${CMAKE_INSTALL_DATAROOTDIR})
  install(FILES ${manual}/spanlink.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${manual}/spanlink.yaml.5.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man5)
  install(FILES ${manual}/spanlink.bash DESTINATION ${data}/bash-completion/completions
    RENAME spanlink)
  install(FILES ${manual}/_spanlink DESTINATION ${data}/zsh/vendor-completions)
  install(FILES ${manual}/spanlink.fish DESTINATION ${data}/fish/vendor_completions.d)
endif()
