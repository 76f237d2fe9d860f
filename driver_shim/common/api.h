// How an entry point of a replacement library is declared: C linkage, and visible so that the library's version script
// can export it.
#pragma once

#define MAYA_API extern "C" __attribute__((visibility("default")))
