# What `ctest -S cmake/CPizeDashboard.cmake` and other dashboard clients know of this project. No server is named: say which one with
# -DCTEST_DROP_SITE=<host> (docs/dashboard.md).
set(CTEST_PROJECT_NAME CPize)
set(CTEST_NIGHTLY_START_TIME "01:00:00 UTC")
set(CTEST_LABELS_FOR_SUBPROJECTS phase0 phase1 phase2 phase3 phase4 phase5 phase6 phase7)
