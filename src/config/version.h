/* version.h -- the version, as CMake's project() says it. */
#ifndef MOT_CONFIG_VERSION_H
#define MOT_CONFIG_VERSION_H

#ifdef MOTLEY_VERSION
#define MOT_VERSION MOTLEY_VERSION
#else
#error "the build defines MOTLEY_VERSION"
#endif

#define MOT_VERSION_DATE "2026-11-15" /* of the manual */

#endif
