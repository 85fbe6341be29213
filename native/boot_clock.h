// CLOCK_BOOTTIME: goes on through suspend, never goes back, the same for every process of the machine.
#pragma once

#include <time.h>

namespace dsbc {

inline double BootTimeMs() {
#ifdef CLOCK_BOOTTIME
  const clockid_t clock = CLOCK_BOOTTIME;
#else
  const clockid_t clock = CLOCK_MONOTONIC;
#endif
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

}  // namespace dsbc
