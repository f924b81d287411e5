package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Map;
import javax.management.MBeanServer;
import javax.management.MBeanServerFactory;
import javax.management.ObjectName;
import javax.management.RuntimeMBeanException;
import javax.management.openmbean.TabularData;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The agent, asked from Java and through JMX. */
class ControlTest {
    @BeforeAll
    static void agent() {
        FakeAgent.install();
    }

    @Test
    void an_answer_is_what_the_agent_says_or_why_it_refuses() {
        FakeAgent.controlAnswer = "ok\nstate=running\nchanged=cpu=20ms (was 10ms)\nchanged=every=10s (was 60s)\n";
        Answer answer = VtProf.set("cpu=50hz\nstop");
        assertTrue(answer.isOk());
        assertNull(answer.error());
        assertEquals("running", answer.get("state"));
        assertEquals("cpu=20ms (was 10ms) every=10s (was 60s)", answer.get("changed"));
        List<String> requests = FakeAgent.requests();
        assertEquals("set cpu=50hz stop", requests.get(requests.size() - 1), "one line");

        FakeAgent.controlAnswer = "error sampling is stopped\n";
        Answer refused = VtProf.dump();
        assertFalse(refused.isOk());
        assertEquals("sampling is stopped", refused.error());
        assertEquals(Map.of(), refused.values());
    }

    @Test
    void the_bean_comes_with_the_platforms_server_and_not_before() throws Exception {
        ObjectName name = new ObjectName(Management.NAME);
        // One of the application's own is not the platform's.
        MBeanServer own = MBeanServerFactory.createMBeanServer("own");
        assertFalse(Native.manage(false));
        assertEquals(1, MBeanServerFactory.findMBeanServer(null).size(), "none is made");
        assertFalse(own.isRegistered(name));

        MBeanServer platform = ManagementFactory.getPlatformMBeanServer();
        assertTrue(Native.manage(false));
        assertTrue(Native.manage(true), "a second copy leaves the first in place");
        FakeAgent.controlAnswer = "ok\nversion=9.8.7\nstate=running\n";
        assertEquals(true, platform.getAttribute(name, "Running"));
        assertEquals("9.8.7", platform.getAttribute(name, "Version"));
        TabularData status = (TabularData) platform.getAttribute(name, "Status");
        assertEquals(2, status.size());
        FakeAgent.controlAnswer = "ok\nstate=stopped\n";
        platform.invoke(name, "stop", new Object[0], new String[0]);
        assertTrue(FakeAgent.requests().contains("stop"));
        assertEquals(false, platform.getAttribute(name, "Running"));
        FakeAgent.controlAnswer = "error no\n";
        RuntimeMBeanException refused = assertThrows(
                RuntimeMBeanException.class, () -> platform.invoke(name, "dump", new Object[0], new String[0]));
        assertEquals("no", refused.getCause().getMessage());
    }
}
