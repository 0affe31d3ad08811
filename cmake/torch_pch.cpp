// The one translation unit that owns the shared precompiled header (see CPizeBuild.cmake).
