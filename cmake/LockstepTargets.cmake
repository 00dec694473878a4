# Compiler settings for every target, and the two functions that declare a library and a test.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# Results are bits, so the instruction set is chosen, never detected.
set(LOCKSTEP_ARCH "x86-64-v3" CACHE STRING "Value of -march for every target")
set(LOCKSTEP_SANITIZE "" CACHE STRING "Value of -fsanitize for every target, empty for none")

add_compile_options(-march=${LOCKSTEP_ARCH} -ffp-contract=off -Wall -Wextra -Wconversion -Wshadow -Werror)
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
if(LOCKSTEP_SANITIZE)
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
endif()

# lockstep_library(NAME SOURCES a.cpp ... DEPENDS lib ... PRIVATE lib ...)
function(lockstep_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
endfunction()

# lockstep_test(NAME SOURCES a_test.cpp ... DEPENDS lib ...): one executable, each TEST a ctest case.
function(lockstep_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  include(GoogleTest)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()
