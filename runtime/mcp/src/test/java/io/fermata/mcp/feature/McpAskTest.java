package io.fermata.mcp.feature;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.flow.schema.Describe;
import io.fermata.flow.schema.Secret;
import jakarta.validation.constraints.Pattern;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Forms in the words that clients know, and the whole check of what was filled in. */
class McpAskTest {
  enum Size {
    S,
    M
  }

  record Order(
      Optional<String> note,
      @Nullable Size size,
      Optional<List<Size>> others,
      UUID id,
      Duration within,
      LocalDate day,
      @Describe("A postcode") @Pattern(regexp = "[0-9]{5}") String place) {}

  record Inner(String street) {}

  record Nested(Inner inner) {}

  record Listed(List<String> names) {}

  record Hidden(@Secret String pin) {}

  private static ObjectNode parsed(String json) {
    return (ObjectNode) Json.parse(json.replace('\'', '"'));
  }

  private static JsonNode sent(McpAsk ask) {
    return ask.params().path("requestedSchema");
  }

  @Test
  void aFormOfARecordHasOnlyTheWordsThatClientsKnow() {
    assertThat(sent(McpAsk.form("?", Order.class)))
        .isEqualTo(
            parsed(
                """
                {'type':'object','properties':{
                  'note':{'type':'string'},
                  'size':{'type':'string','enum':['S','M']},
                  'others':{'type':'array','items':{'type':'string','enum':['S','M']}},
                  'id':{'type':'string'},
                  'within':{'type':'string'},
                  'day':{'type':'string','format':'date'},
                  'place':{'type':'string','description':'A postcode'}},
                 'required':['id','within','day','place']}"""));
  }

  @Test
  void aReplyIsCheckedWithTheWholeSchema() {
    McpAsk ask = McpAsk.form("?", Order.class);
    String filled =
        "{'action':'accept','content':{'id':'%s','within':'PT1H','day':'2026-01-02','place':'%s'}}";
    String id = UUID.randomUUID().toString();

    assertThat(ask.fits(parsed(filled.formatted(id, "10115")))).isTrue();
    assertThat(ask.fits(parsed(filled.formatted("7", "10115")))).isFalse();
    assertThat(ask.fits(parsed(filled.formatted(id, "Berlin")))).isFalse();
  }

  @Test
  void whatFitsIntoNoFormIsRefusedByItsName() {
    assertThatThrownBy(() -> McpAsk.form("?", Nested.class))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("cannot ask for inner");
    assertThatThrownBy(() -> McpAsk.form("?", Listed.class)).hasMessageContaining("names");
    assertThatThrownBy(() -> McpAsk.form("?", Hidden.class)).hasMessageContaining("pin");
    assertThatThrownBy(
            () ->
                McpAsk.form(
                    "?",
                    parsed("{'type':'object','properties':{'n':{'type':['string','integer']}}}")))
        .hasMessageContaining("cannot ask for n");
  }

  @Test
  void theTitlesOfChoicesAreShown() {
    ObjectNode schema =
        parsed(
            """
            {'type':'object','properties':{
              'one':{'type':'string','oneOf':[{'const':'a','title':'A'}]},
              'old':{'type':'string','enum':['a'],'enumNames':['A']},
              'many':{'type':'array','items':{'anyOf':[{'const':'a','title':'A'}]}}}}""");

    assertThat(sent(McpAsk.form("?", schema))).isEqualTo(schema);
  }
}
