import io.vtprof.otel.Answer;
import io.vtprof.otel.VtProf;
import java.lang.management.ManagementFactory;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;

/** Switches the agent from Java and through JMX, without OpenTelemetry on the class path, and says what came of it. */
public class Switches {
    public static void main(String[] arguments) throws Exception {
        say("state", VtProf.status().get("state"));
        // Some time to be profiled.
        long until = System.nanoTime() + 300_000_000L;
        long burnt = 0;
        while (System.nanoTime() < until) {
            burnt++;
        }
        say("dumped", VtProf.dump().get("files"));
        say("set", VtProf.set("cpu=20ms every=10s").get("changed"));
        say("refused", VtProf.set("lock=1ms").error());
        say("stopped", VtProf.stop().get("state"));
        say("undumped", VtProf.dump().error());
        say("started", VtProf.start().get("state"));

        say("servers", MBeanServerFactory.findMBeanServer(null).size());
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("io.vtprof:type=VtProf");
        while (!server.isRegistered(name)) {
            Thread.sleep(50);
        }
        say("running", server.getAttribute(name, "Running"));
        server.invoke(name, "stop", new Object[0], new String[0]);
        say("still", server.getAttribute(name, "Running"));
        Answer answer = VtProf.status();
        say("state_at_end", answer.get("state") + (burnt > 0 ? "" : "?"));
    }

    private static void say(String key, Object value) {
        System.out.println(key + "=" + value);
    }
}
