# motley_on_demand(CHOICE LIBRARY INCLUDES SOURCE...): these sources call a library that is loaded when it is first
# used (src/base/ondemand.h). They get CHOICE defined as the name that a linker would have noted: the library's own.
function(motley_on_demand choice library includes)
  execute_process(COMMAND ${CMAKE_READELF} -d ${library} OUTPUT_VARIABLE says ERROR_QUIET)
  if(NOT says MATCHES "soname: \\[([^]]+)\\]")
    message(FATAL_ERROR "${library} is not a shared library; cmake -D${choice}=OFF builds without it")
  endif()
  set(name ${CMAKE_MATCH_1})
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS "${choice}=\"${name}\"")
  list(TRANSFORM includes PREPEND -isystem)
  set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS ${includes})
  # In a folder that the loader does not search, what is built finds it all the same, as if it were linked.
  foreach(folder ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES})
    if(EXISTS ${folder}/${name})
      return()
    endif()
  endforeach()
  get_filename_component(folder ${library} DIRECTORY)
  set(CMAKE_BUILD_RPATH ${CMAKE_BUILD_RPATH} ${folder} PARENT_SCOPE)
endfunction()

# The same for what pkg_check_modules found as PREFIX.
macro(motley_on_demand_pkg choice prefix)
  get_target_property(libraries PkgConfig::${prefix} INTERFACE_LINK_LIBRARIES)
  list(GET libraries 0 libraries)
  motley_on_demand(${choice} ${libraries} "${${prefix}_INCLUDE_DIRS}" ${ARGN})
endmacro()
