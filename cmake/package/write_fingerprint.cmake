# Run by `cmake --install`: the content of everything that the installed libraries are compiled from, as one hash.
file(GLOB_RECURSE files RELATIVE "${CPIZE_SOURCE}"
     "${CPIZE_SOURCE}/modules/*" "${CPIZE_SOURCE}/lifecycle/*" "${CPIZE_SOURCE}/parity/harness/*" "${CPIZE_SOURCE}/parity/phases/*"
     "${CPIZE_SOURCE}/profile/*")
list(FILTER files INCLUDE REGEX "[.](cpp|hpp|cu|cuh|json)$")
list(FILTER files EXCLUDE REGEX "/tests/")
list(SORT files)
set(all "")
foreach(file IN LISTS files)
  file(SHA256 "${CPIZE_SOURCE}/${file}" hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 fingerprint "${all}")
file(WRITE "${CPIZE_FINGERPRINT_FILE}" "# The content of CPize's libraries; the conductor puts it into the key of what links them.
set_property(GLOBAL PROPERTY CPIZE_FINGERPRINT ${fingerprint})\n")
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${CPIZE_FINGERPRINT_FILE}")
