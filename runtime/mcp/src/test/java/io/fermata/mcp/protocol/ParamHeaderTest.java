package io.fermata.mcp.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which schemas may have arguments repeated in headers, so that clients accept their tools. */
class ParamHeaderTest {
  private static List<ParamHeader> of(String schema) throws JsonProcessingException {
    return ParamHeader.of("route", (ObjectNode) Json.MAPPER.readTree(schema.replace('\'', '"')));
  }

  @Test
  void propertiesOfPropertiesMayBeRepeated() throws Exception {
    assertThat(
            of(
                "{'properties':{'zone':{'type':'integer','x-mcp-header':'Zone'},"
                    + "'to':{'type':'object','properties':{'fast':{'type':'boolean','x-mcp-header':'Fast'}}}}}"))
        .containsExactly(
            new ParamHeader("Mcp-Param-Zone", JsonPointer.valueOf("/zone")),
            new ParamHeader("Mcp-Param-Fast", JsonPointer.valueOf("/to/fast")));
  }

  @ParameterizedTest
  @ValueSource(strings = {"'number'", "'object'", "'array'", "'null'", "['string','null']"})
  void aNumberOrWhatHasPartsIsNotRepeated(String type) {
    assertThatThrownBy(
            () -> of("{'properties':{'a':{'type':%s,'x-mcp-header':'A'}}}".formatted(type)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a string, an integer or a boolean");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "%s",
        "{'properties':{'a':{'type':'array','items':%s}}}",
        "{'properties':{'a':{'type':'array','items':{'properties':{'b':%s}}}}}",
        "{'properties':{'a':{'type':'array','prefixItems':[%s]}}}",
        "{'properties':{'a':{'oneOf':[{'type':'null'},%s]}}}",
        "{'allOf':[{'properties':{'a':%s}}]}",
        "{'if':{'properties':{'a':%s}}}",
        "{'not':%s}",
        "{'additionalProperties':%s}",
        "{'patternProperties':{'^a':%s}}",
        "{'dependentSchemas':{'a':{'properties':{'b':%s}}}}",
        "{'properties':{'a':{'$ref':'#/$defs/a'}},'$defs':{'a':%s}}",
        "{'definitions':{'properties':%s}}"
      })
  void whatIsNotReachedByPropertiesAloneIsNotRepeated(String schema) {
    assertThatThrownBy(() -> of(schema.formatted("{'type':'string','x-mcp-header':'A'}")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("route")
        .hasMessageContaining("properties");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'properties':{'x-mcp-header':{'type':'string'}}}",
        "{'$defs':{'x-mcp-header':{'type':'string'}}}",
        "{'properties':{'a':{'const':{'x-mcp-header':'A'}}}}",
        "{'properties':{'a':{'enum':[{'x-mcp-header':'A'}]}}}",
        "{'properties':{'a':{'default':{'x-mcp-header':'A'}}},'examples':[{'x-mcp-header':'A'}]}"
      })
  void aNameOrAValueIsNoAnnotation(String schema) throws Exception {
    assertThat(of(schema)).isEmpty();
  }
}
