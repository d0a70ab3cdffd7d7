# SPDX-License-Identifier: Apache-2.0
# Toolchain of the preset arm64: Debian's cross compiler, the libraries that tools/sysroot.sh puts
# into build/arm64-sysroot, and qemu, if installed, to run programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)

get_filename_component(arm64_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-sysroot ABSOLUTE)
if(NOT EXISTS ${arm64_sysroot}/usr/include)
  message(FATAL_ERROR
    "there are no arm64 libraries in ${arm64_sysroot}; tools/sysroot.sh arm64 brings them")
endif()
set(CMAKE_SYSROOT ${arm64_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${arm64_sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${arm64_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig)

find_program(ARM64_EMULATOR qemu-aarch64)
if(ARM64_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ARM64_EMULATOR} -L ${arm64_sysroot})
endif()
