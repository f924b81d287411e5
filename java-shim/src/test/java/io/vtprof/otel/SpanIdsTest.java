package io.vtprof.otel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

class SpanIdsTest {
    @Test
    void ids_survive_the_way_to_a_number_and_back() {
        Random random = new Random(7);
        for (int i = 0; i < 10_000; i++) {
            long id = random.nextLong();
            assertEquals(id, SpanIds.parse(SpanIds.format(id), 0));
            assertEquals(String.format("%016x", id), SpanIds.format(id));
        }
        assertEquals(-1, SpanIds.parse("ffffffffffffffff", 0));
        assertEquals(0x02468ace13579bdfL, SpanIds.parse("0123456789abcdef02468ace13579bdf", 16));
    }

    @Test
    void what_is_no_id_is_refused_by_name() {
        for (String bad : new String[] {"", "123456789abcdef", "0123456789ABCDEF", "0123456789abcdeg", "0123456789abcde "}) {
            IllegalArgumentException refused =
                    assertThrows(IllegalArgumentException.class, () -> SpanIds.parse(bad, 0));
            assertTrue(refused.getMessage().contains("'" + bad + "'"));
        }
    }
}
