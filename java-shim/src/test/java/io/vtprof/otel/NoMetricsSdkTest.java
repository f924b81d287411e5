package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** OpenTelemetry without its metrics SDK: everything but the figures is as ever. */
class NoMetricsSdkTest {
    /** Defines all of OpenTelemetry and the shim anew, but no class of the metrics SDK. */
    private static final class WithoutMetrics extends ClassLoader {
        WithoutMetrics() {
            super(NoMetricsSdkTest.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("io.opentelemetry.sdk.metrics.")) {
                throw new ClassNotFoundException(name);
            }
            if (!name.startsWith("io.opentelemetry.") && !name.startsWith("io.vtprof.otel.")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                return known == null ? define(name) : known;
            }
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                if (in == null) {
                    throw new ClassNotFoundException(name);
                }
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    @Test
    void the_span_processor_is_there_without_a_metrics_sdk() throws Exception {
        ClassLoader loader = new WithoutMetrics();
        assertThrows(
                ClassNotFoundException.class,
                () -> Class.forName("io.opentelemetry.sdk.metrics.SdkMeterProviderBuilder", false, loader));
        Class<?> shim = Class.forName("io.vtprof.otel.VtProf", true, loader);
        Object processor = shim.getMethod("spanProcessor").invoke(null);
        assertEquals("io.vtprof.otel.TaggingSpanProcessor", processor.getClass().getName());
    }

    @Test
    void the_customizer_adds_its_processor_without_a_metrics_sdk() throws Exception {
        ClassLoader loader = new WithoutMetrics();
        Class<?> autoConfiguration =
                Class.forName("io.opentelemetry.sdk.autoconfigure.spi.AutoConfigurationCustomizer", true, loader);
        List<String> called = new ArrayList<>();
        Object proxy = Proxy.newProxyInstance(loader, new Class<?>[] {autoConfiguration}, (self, method, arguments) -> {
            called.add(method.getName());
            return self;
        });
        Object customizer = Class.forName("io.vtprof.otel.VtProfCustomizer", true, loader)
                .getDeclaredConstructor()
                .newInstance();
        try {
            customizer.getClass().getMethod("customize", autoConfiguration).invoke(customizer, proxy);
        } catch (InvocationTargetException e) {
            throw new AssertionError(e.getCause());
        }
        assertEquals("addTracerProviderCustomizer", called.get(0));
    }
}
