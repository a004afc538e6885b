# What `cmake --install` puts where.
file(GLOB MOTLEY_HEADERS CONFIGURE_DEPENDS include/motley/*.h)
install(FILES ${MOTLEY_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/motley)
if(NOT MOTLEY_ONE_LIBRARY)
  install(TARGETS motley_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS motley_shared EXPORT motley-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# What README.md links to, so that its links work where it is installed.
file(GLOB MOTLEY_DOCS CONFIGURE_DEPENDS docs/*.md docs/*.svg)
install(FILES LICENSE README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${MOTLEY_DOCS} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  FILES_MATCHING PATTERN "*.yaml" PATTERN "*.[ch]" PATTERN "*.py" PATTERN __pycache__ EXCLUDE)

# The files for pkg-config and CMake find the rest from where they lie themselves, so
# that --prefix at install time, and moving the tree, both work.
file(RELATIVE_PATH MOTLEY_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" MOTLEY_PC_TO_PREFIX "${MOTLEY_PC_TO_PREFIX}")
configure_file(cmake/motley.pc.in motley.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/motley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(CMakePackageConfigHelpers)
install(EXPORT motley-targets NAMESPACE motley:: FILE motley-config.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/motley)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/motley-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/motley-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/motley)

# Man pages and completion come from the tables that the program itself parses with.
if(TARGET motley)
  install(TARGETS motley RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/.stamp
    COMMAND bash ${CMAKE_SOURCE_DIR}/tools/man-pages $<TARGET_FILE:motley> ${CMAKE_BINARY_DIR}/man
    DEPENDS motley ${CMAKE_SOURCE_DIR}/tools/man-pages VERBATIM COMMENT "Writing man pages")
  add_custom_target(man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/.stamp)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN "*.[15]")

  # Where each shell looks; zsh has /usr/local/share/zsh/site-functions, and Debian's packages vendor-completions.
  set(MOTLEY_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh's completion goes")
  set(completion ${CMAKE_BINARY_DIR}/completion)
  add_custom_command(OUTPUT ${completion}/motley.bash ${completion}/motley.zsh ${completion}/motley.fish
    COMMAND bash ${CMAKE_SOURCE_DIR}/tools/completions $<TARGET_FILE:motley> ${completion}
    DEPENDS motley ${CMAKE_SOURCE_DIR}/tools/completions VERBATIM COMMENT "Writing completion")
  add_custom_target(completions ALL DEPENDS ${completion}/motley.bash)
  install(FILES ${completion}/motley.bash RENAME motley
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${completion}/motley.zsh RENAME _motley DESTINATION ${MOTLEY_ZSH_DIR})
  install(FILES ${completion}/motley.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
