package io.vtprof.demo.endpoint;

import io.vtprof.demo.Truth;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectOutputStream;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

/** {@code /report}: serialisation and compression, so much of its CPU is native code and allocation. */
public final class Report extends Endpoint {
  private static final int ROWS = 2_000;

  public Report(Truth truth) {
    super("/report", truth);
  }

  @Override
  String answer() throws IOException {
    return "bytes=" + burn(ROWS);
  }

  private static int burn(int rows) throws IOException {
    Map<String, String> table = new LinkedHashMap<>();
    for (int i = 0; i < rows; i++) {
      table.put("row-" + i, Integer.toString(i * 31, 36).repeat(4));
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(new GZIPOutputStream(bytes))) {
      out.writeObject(table);
    }
    return bytes.size();
  }
}
