package io.vtprof.otel;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Collects what the shim logs, at all levels. */
final class LogCapture extends Handler {
    private static final Logger LOGGER = Logger.getLogger("io.vtprof.otel");

    private final List<LogRecord> records = new CopyOnWriteArrayList<>();

    static LogCapture start() {
        LogCapture capture = new LogCapture();
        LOGGER.setLevel(Level.ALL);
        LOGGER.setUseParentHandlers(false);
        LOGGER.addHandler(capture);
        return capture;
    }

    List<String> at(Level level) {
        return records.stream().filter(r -> r.getLevel().equals(level)).map(LogRecord::getMessage).toList();
    }

    List<String> above(Level level) {
        return records.stream()
                .filter(r -> r.getLevel().intValue() > level.intValue())
                .map(LogRecord::getMessage)
                .toList();
    }

    @Override
    public void publish(LogRecord record) {
        records.add(record);
    }

    @Override
    public void flush() {}

    @Override
    public void close() {}
}
