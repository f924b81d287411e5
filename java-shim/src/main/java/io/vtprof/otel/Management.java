package io.vtprof.otel;

import java.lang.management.ManagementFactory;
import java.util.Map;
import javax.management.InstanceAlreadyExistsException;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;

/**
 * Registers the MXBean with the platform's MBean server, once that is there.
 *
 * <p>It is not made for this: who makes it first runs {@code javax.management.builder.initial} and sets up logging, which
 * the application may want to come before. So servers that are there are looked at, until one is the platform's. Of several
 * copies of the shim the first has the name.
 */
final class Management {
    static final String NAME = "io.vtprof:type=VtProf";
    /** Every platform MBean server has it. */
    private static final String PLATFORM = "java.lang:type=Runtime";

    /** @return whether there is nothing to be done any more; false where the server is not there yet */
    static boolean register(boolean forced) {
        try {
            MBeanServer server = forced ? ManagementFactory.getPlatformMBeanServer() : platformServer();
            if (server == null) {
                return false;
            }
            server.registerMBean(new Bean(), new ObjectName(NAME));
            return true;
        } catch (InstanceAlreadyExistsException another) {
            return true;
        } catch (NoClassDefFoundError noManagement) {
            // A runtime without the module java.management.
            return true;
        } catch (Throwable failed) {
            Log.warn("vtprof: there is no MXBean " + NAME + ": " + failed);
            return true;
        }
    }

    private static MBeanServer platformServer() throws Exception {
        ObjectName platform = new ObjectName(PLATFORM);
        for (MBeanServer server : MBeanServerFactory.findMBeanServer(null)) {
            if (server.isRegistered(platform)) {
                return server;
            }
        }
        return null;
    }

    private static final class Bean implements VtProfMXBean {
        @Override
        public boolean isRunning() {
            return "running".equals(VtProf.status().get("state"));
        }

        @Override
        public String getVersion() {
            return VtProf.status().get("version");
        }

        @Override
        public Map<String, String> getStatus() {
            return valuesOf(VtProf.status());
        }

        @Override
        public Map<String, String> start() {
            return valuesOf(VtProf.start());
        }

        @Override
        public Map<String, String> stop() {
            return valuesOf(VtProf.stop());
        }

        @Override
        public Map<String, String> dump() {
            return valuesOf(VtProf.dump());
        }

        @Override
        public Map<String, String> set(String rates) {
            return valuesOf(VtProf.set(rates));
        }

        private static Map<String, String> valuesOf(Answer answer) {
            if (!answer.isOk()) {
                throw new IllegalStateException(answer.error());
            }
            return answer.values();
        }
    }

    private Management() {}
}
