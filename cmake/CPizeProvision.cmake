# Everything CPize needs beyond a compiler, CMake, Ninja and Python 3: look for it, and fill the gaps.
#
#   Debian packages   apt-get when root, else the configure stops with the one command to run   provision/Debian.cmake
#   libtorch          the torch wheel without its dependencies                                   provision/Torch.cmake
#   gemmi             built from its source archive                                              provision/Gemmi.cmake
#
# CPIZE_PROVISION  whether gaps are filled; ON only where CPize itself is the top-level project. A consumer's configure
#                  finds what is there and never installs, downloads or builds anything.
# CPIZE_CACHE      the directory shared by all build trees that holds libtorch, gemmi and the Python environment that
#                  fetches them. The environment variable of this name wins, then -DCPIZE_CACHE, then the user's cache.
#
# One line says what became of each thing. Where everything is in place this costs some milliseconds and takes no lock.
include_guard(GLOBAL)

option(CPIZE_PROVISION "Install, download and build what is missing" ${PROJECT_IS_TOP_LEVEL})

if(DEFINED ENV{CPIZE_CACHE} AND NOT "$ENV{CPIZE_CACHE}" STREQUAL "")
  get_filename_component(CPIZE_CACHE "$ENV{CPIZE_CACHE}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  set(CPIZE_CACHE "${CPIZE_CACHE}" CACHE PATH "libtorch and gemmi, shared by all build trees" FORCE)
elseif(NOT CPIZE_CACHE)
  if(DEFINED ENV{XDG_CACHE_HOME} AND IS_ABSOLUTE "$ENV{XDG_CACHE_HOME}")
    set(CPIZE_CACHE "$ENV{XDG_CACHE_HOME}/cpize")
  elseif(IS_ABSOLUTE "$ENV{HOME}")
    set(CPIZE_CACHE "$ENV{HOME}/.cache/cpize")
  else()
    set(CPIZE_CACHE "${CMAKE_BINARY_DIR}/cpize-cache") # no home directory: at least this build tree works
  endif()
  set(CPIZE_CACHE "${CPIZE_CACHE}" CACHE PATH "libtorch and gemmi, shared by all build trees" FORCE)
endif()

include(provision/Cache)
include(provision/Debian)
include(provision/Torch)
include(provision/Gemmi)

cpize_find_torch()
cpize_find_gemmi()
if(CPIZE_PROVISION)
  cpize_provision_debian()
  cpize_provision_cache()
endif()
