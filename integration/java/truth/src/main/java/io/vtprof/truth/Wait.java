package io.vtprof.truth;

/** The ways to block. */
enum Wait {
  SLEEP,
  PARK,
  LOCK,
  MONITOR,
  OBJECT_WAIT,
  QUEUE,
  SOCKET,
  FUTURE,
  YIELD
}
