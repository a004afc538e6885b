# Tests, fuzzers and benchmarks: adding a file adds it. They are built when asked for: targets all_tests, benches.
enable_testing()

# mpirun starts hundreds of times, and need not look for graphics cards each time, with plugins of hwloc's.
set(MOTLEY_TEST_ENVIRONMENT
  "MOTLEY=${CMAKE_BINARY_DIR}/motley" "MOTLEY_SOURCE=${CMAKE_SOURCE_DIR}" "MOTLEY_BUILD=${CMAKE_BINARY_DIR}"
  "MOTLEY_CC=${CMAKE_C_COMPILER}" "CMAKE=${CMAKE_COMMAND}" "HWLOC_PLUGINS_PATH=/nonexistent")

# A test's label is its room. Those that run threads are labelled `threads` too, for ThreadSanitizer: their source
# says so. The simulator's crew has its turn in test_sim and test_faults; other simulations would only be longer.
set(MOTLEY_RUNS_THREADS "DRIVER_THREADS|on_threads|pthread_create")
set(MOTLEY_CREW_TESTS "^test_(sim|faults|crew_threads|partition_threads|example_method)$")
# Those that look at the tree, at its pages, at what is installed, at shells, at a browser or at PyTorch's numbers learn
# nothing from a sanitizer, and are labelled `once`; fuzzers' seeds go through their fuzzer too, which has sanitizers
# (tools/check fuzz). So are scripts of methods over real MPI that the transport `loop` takes through the same code in one
# process (test_gossip_mean, test_coded, test_loop*); the other scripts of MPI show the sanitizer what only MPI does.
set(MOTLEY_ONCE "^test_(install|outside|docs|page_browser|completion|mpich|torch|pytorch)$")
string(APPEND MOTLEY_ONCE "|^test_(async_mpi|mpi_(coded|compress|crossover|dpsgd|sgp))$")
# Tests that wait for ranks, brokers or browsers, or are long, begin first, the longest before the others: then the last
# ones do not leave cores idle.
set(MOTLEY_LONGEST "budget|docs|kafka|mqtt|mpi_(coded|resume|start)$")
set(MOTLEY_FIRST "mpi|fault|asgrad|page|study|replay|same|torch|serve|race|store|one_run|default_rate|sgp|pushsum|help$")
function(motley_label name room source)
  set(labels ${room})
  if(room MATCHES "^(tools|budget|same|fuzz)$" OR name MATCHES "${MOTLEY_ONCE}")
    list(APPEND labels once)
  endif()
  if(name MATCHES "${MOTLEY_LONGEST}")
    set_tests_properties(${name} PROPERTIES COST 200)
  elseif(name MATCHES "${MOTLEY_FIRST}")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  file(STRINGS ${source} runs_threads REGEX "${MOTLEY_RUNS_THREADS}" LIMIT_COUNT 1)
  if(runs_threads OR name MATCHES "${MOTLEY_CREW_TESTS}")
    list(APPEND labels threads)
    if(TARGET ${name})
      set_property(GLOBAL APPEND PROPERTY MOTLEY_THREAD_TESTS ${name})
    endif()
  endif()
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT "${MOTLEY_TEST_ENVIRONMENT}")
endfunction()

# Under a sanitizer these tests have kernels that it looks at too: those that call every kernel for AddressSanitizer,
# and for ThreadSanitizer one or two of every kind of driver that computes on several threads. (test_early has large
# networks, and kernels that test_nets has too.)
if(CMAKE_C_FLAGS MATCHES "-fsanitize=thread")
  set(MOTLEY_CHECKED_TESTS
    "^(live/test_threads|run/test_(shards|decentralised)|sim/test_sim|partition/test_partition_threads)$")
else()
  set(MOTLEY_CHECKED_TESTS "^(math/.*|partition/test_(submodular|quality))$")
endif()

# What is measured is in the library. So a test is compiled without optimization, in a third of the time, unless it
# computes a lot itself.
set(MOTLEY_COMPUTING_TESTS "^(base|math|data|partition|compress|topology|code)/|^method/test_pushsum$")

# Two hundred programs are linked: gold, which comes with GNU's linker, takes two thirds of its time.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold MOTLEY_HAS_GOLD)
if(MOTLEY_HAS_GOLD AND NOT CMAKE_C_FLAGS MATCHES "-fsanitize")
  set(MOTLEY_TEST_LINKER -fuse-ld=gold)
endif()

# test/<room>/test_<what>.c sees the library's insides.
file(GLOB TEST_SOURCES CONFIGURE_DEPENDS test/*/test_*.c)
foreach(source ${TEST_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(room ${source} DIRECTORY)
  get_filename_component(room ${room} NAME)
  if(TARGET ${name})
    string(REPLACE "test_" "test_${room}_" name ${name})
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE test)
  if("${room}/${name}" MATCHES "${MOTLEY_COMPUTING_TESTS}")
    target_compile_options(${name} PRIVATE -O1)
  else()
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(TARGET motley_checked_kernels) # under a sanitizer, which is to look at the library
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(TARGET motley_checked_kernels AND "${room}/${name}" MATCHES "${MOTLEY_CHECKED_TESTS}"
      AND NOT name STREQUAL "test_early")
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:motley_checked_kernels>)
  endif()
  target_link_libraries(${name} PRIVATE motley_static)
  target_link_options(${name} PRIVATE ${MOTLEY_TEST_LINKER})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  motley_label(${name} ${room} ${source})
  list(APPEND MOTLEY_TESTS ${name})
endforeach()

# Runs of these are limited one by one (test/sim/patience.h); how many there are, MOTLEY_LONG says.
set_tests_properties(test_fault_sweep test_fault_storm PROPERTIES TIMEOUT 7200)

# test/<room>/test_<what>.sh sees what a user sees; 77 means skipped.
file(GLOB TEST_SCRIPTS CONFIGURE_DEPENDS test/*/test_*.sh)
foreach(source ${TEST_SCRIPTS})
  get_filename_component(name ${source} NAME_WE)
  get_filename_component(room ${source} DIRECTORY)
  get_filename_component(room ${room} NAME)
  if(TEST ${name})
    string(REPLACE "test_" "test_${room}_" name ${name})
  endif()
  add_test(NAME ${name} COMMAND bash ${source} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  motley_label(${name} ${room} ${source})
endforeach()
set_tests_properties(test_budget PROPERTIES TIMEOUT 1200) # a minute, but under valgrind on a busy machine

# What the tests need under a sanitizer, and what of it those of threads: no fuzzers, benchmarks or libraries to install.
add_custom_target(tests DEPENDS ${MOTLEY_TESTS})
add_dependencies(tests motley example_method) # which the scripts run
get_property(MOTLEY_THREAD_TESTS GLOBAL PROPERTY MOTLEY_THREAD_TESTS)
add_custom_target(thread_tests DEPENDS ${MOTLEY_THREAD_TESTS})
add_dependencies(thread_tests motley example_method)

# The brokers that test_source_kafka.sh talks to.
if(TARGET PkgConfig::RDKAFKA)
  add_executable(kafka_mock EXCLUDE_FROM_ALL test/stream/kafka_mock.c)
  target_link_libraries(kafka_mock PRIVATE PkgConfig::RDKAFKA)
  add_dependencies(tests kafka_mock)
endif()

# The rules of the source tree, as a test.
add_executable(tidy EXCLUDE_FROM_ALL tools/tidy.c)
target_compile_definitions(tidy PRIVATE TIDY_NM="${CMAKE_NM}")
add_test(NAME tidy COMMAND tidy ${CMAKE_SOURCE_DIR} $<TARGET_FILE:motley_shared>)
set_tests_properties(tidy PROPERTIES LABELS repo)

# fuzz/fuzz_<what>.c, each with its seeds in fuzz/corpus/<what>: under MOTLEY_FUZZ a
# libFuzzer program, else a test that feeds it the seeds.
file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS fuzz/fuzz_*.c)
add_custom_target(fuzzers)
foreach(source ${FUZZ_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" what ${name})
  if(MOTLEY_FUZZ)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} EXCLUDE_FROM_ALL ${source} tools/replay.c)
    add_test(NAME ${name}_seeds COMMAND ${name} ${CMAKE_SOURCE_DIR}/fuzz/corpus/${what})
    motley_label(${name}_seeds fuzz ${source})
  endif()
  add_dependencies(fuzzers ${name})
  target_include_directories(${name} PRIVATE fuzz test)
  target_link_libraries(${name} PRIVATE motley_static)
endforeach()

# The method of docs/writing-a-method.md, built as a user would: against the shared library and its headers.
add_executable(example_method EXCLUDE_FROM_ALL examples/method/main.c examples/method/local_sgd.c)
target_include_directories(example_method PRIVATE include)
target_link_libraries(example_method PRIVATE motley_shared)

# All that ctest runs, with what `cmake --install` needs, which test_install does.
add_custom_target(all_tests DEPENDS motley_shared)
add_dependencies(all_tests tests fuzzers tidy)
if(NOT MOTLEY_ONE_LIBRARY)
  add_dependencies(all_tests motley_static)
endif()
foreach(target man completions)
  if(TARGET ${target})
    add_dependencies(all_tests ${target})
    add_dependencies(tests ${target}) # test_plugin installs what there is, under the sanitizers too
  endif()
endforeach()

# bench/bench_<what>.c is built, not run.
add_custom_target(benches)
file(GLOB BENCH_SOURCES CONFIGURE_DEPENDS bench/bench_*.c)
foreach(source ${BENCH_SOURCES})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(${name} PRIVATE bench test)
  target_link_libraries(${name} PRIVATE motley_static)
  add_dependencies(benches ${name})
endforeach()
if(TARGET PkgConfig::RDKAFKA)
  set_property(SOURCE bench/bench_kafka.c APPEND PROPERTY COMPILE_DEFINITIONS MOTLEY_KAFKA=1)
  target_link_libraries(bench_kafka PRIVATE PkgConfig::RDKAFKA) # for its mock cluster
endif()

# Whole-tree checks: `ctest -C checks` runs them after the tests; `make test` does. What they need is built beside the
# tests, at the lowest priority: there is always one that waits for a rank, a broker or a browser.
foreach(build asan tsan fuzz)
  add_test(NAME build_${build} CONFIGURATIONS checks COMMAND bash ${CMAKE_SOURCE_DIR}/tools/check build ${build})
  set_tests_properties(build_${build} PROPERTIES LABELS check RESOURCE_LOCK builder COST 1000 TIMEOUT 3600
    SKIP_RETURN_CODE 77 ENVIRONMENT "${MOTLEY_TEST_ENVIRONMENT}")
endforeach()
foreach(check asan tsan valgrind fuzz)
  add_test(NAME check_${check} CONFIGURATIONS checks COMMAND bash ${CMAKE_SOURCE_DIR}/tools/check ${check})
  set_tests_properties(check_${check} PROPERTIES LABELS check RUN_SERIAL ON TIMEOUT 3600 SKIP_RETURN_CODE 77
    DEPENDS "build_asan;build_tsan;build_fuzz" ENVIRONMENT "${MOTLEY_TEST_ENVIRONMENT}")
endforeach()
