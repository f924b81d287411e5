package io.vtprof.demo.endpoint;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.vtprof.demo.Truth;

/** {@code /json}: a real library at work; its frames lie above {@code Json.burn}. */
public final class Json extends Endpoint {
  private static final int ORDERS = 2_000;

  private final ObjectMapper mapper = new ObjectMapper();

  public Json(Truth truth) {
    super("/json", truth);
  }

  @Override
  String answer() throws JsonProcessingException {
    return burn(ORDERS);
  }

  private String burn(int orders) throws JsonProcessingException {
    ArrayNode list = mapper.createArrayNode();
    for (int i = 0; i < orders; i++) {
      ObjectNode order = list.addObject();
      order.put("id", i).put("item", "item-" + i % 17).put("amount", i * 1.25);
    }
    JsonNode copy = mapper.readTree(mapper.writeValueAsString(list));
    double sum = 0;
    for (JsonNode order : copy) {
      sum += order.get("amount").asDouble();
    }
    return mapper.writeValueAsString(mapper.createObjectNode().put("orders", copy.size()).put("sum", sum));
  }
}
