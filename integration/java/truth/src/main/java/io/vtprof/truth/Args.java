package io.vtprof.truth;

import java.util.HashMap;
import java.util.Map;

/** {@code SCENARIO --key=value …}; an unknown key fails at {@link #finish}, so that a misspelt test cannot pass. */
final class Args {
  private final String scenario;
  private final Map<String, String> values = new HashMap<>();

  Args(String[] args) {
    if (args.length == 0) {
      throw new IllegalArgumentException("usage: truth SCENARIO [--key=value …]");
    }
    scenario = args[0];
    for (int i = 1; i < args.length; i++) {
      int equals = args[i].indexOf('=');
      if (!args[i].startsWith("--") || equals < 0) {
        throw new IllegalArgumentException("expected --key=value, got " + args[i]);
      }
      values.put(args[i].substring(2, equals), args[i].substring(equals + 1));
    }
  }

  String scenario() {
    return scenario;
  }

  String take(String key, String fallback) {
    String value = values.remove(key);
    return value == null ? fallback : value;
  }

  int take(String key, int fallback) {
    return Integer.parseInt(take(key, Integer.toString(fallback)));
  }

  long take(String key, long fallback) {
    return Long.parseLong(take(key, Long.toString(fallback)));
  }

  void finish() {
    if (!values.isEmpty()) {
      throw new IllegalArgumentException("unknown keys " + values.keySet());
    }
  }
}
