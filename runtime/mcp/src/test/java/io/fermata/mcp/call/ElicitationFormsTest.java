package io.fermata.mcp.call;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.flow.json.Json;
import io.fermata.mcp.feature.McpAsk;
import io.fermata.mcp.rpc.Revision;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Open questions as forms of the client, and submitted forms as answers. */
class ElicitationFormsTest {
  private static final Revision LATEST = Revision.V2026_07_28;

  private static ObjectNode parsed(String json) {
    return (ObjectNode) Json.parse(json.replace('\'', '"'));
  }

  private static ElicitationForms asking(String fieldSchema) {
    return ElicitationForms.of(
        parsed(
            "{'status':'interrupt','question':'How many?','field':'seats','fieldSchema':%s}"
                .formatted(fieldSchema)));
  }

  private static McpAsk ask(ElicitationForms forms, String key) {
    return Objects.requireNonNull(forms.asks().get(key));
  }

  private static JsonNode shown(ElicitationForms forms) {
    JsonNode schema = ask(forms, "seats").params().path("requestedSchema");
    assertThat(schema.path("required")).containsExactly(Json.tree("seats"));
    return schema.path("properties").path("seats");
  }

  @Test
  void aQuestionIsAFormOfOneFieldInTheWordsThatClientsKnow() {
    ElicitationForms forms =
        asking("{'type':'integer','description':'Number of seats','minimum':1,'multipleOf':2}");

    McpAsk ask = ask(forms, "seats");
    assertThat(ask.method()).isEqualTo("elicitation/create");
    assertThat(ask.params().path("message").asText()).isEqualTo("How many?");
    assertThat(shown(forms))
        .isEqualTo(parsed("{'minimum':1,'type':'integer','description':'Number of seats'}"));
  }

  @Test
  void choicesStayChoicesAndSuggestionsBindNobody() {
    assertThat(shown(asking("{'type':'string','enum':['1-10','51+']}")))
        .isEqualTo(parsed("{'enum':['1-10','51+'],'type':'string'}"));
    assertThat(
            shown(asking("{'type':'array','items':{'type':'string','enum':['a']},'minItems':1}")))
        .isEqualTo(parsed("{'minItems':1,'items':{'type':'string','enum':['a']},'type':'array'}"));
    assertThat(shown(asking("{'type':['string','null'],'oneOf':[{'const':'a','title':'A'}]}")))
        .isEqualTo(parsed("{'oneOf':[{'const':'a','title':'A'}],'type':'string'}"));
    ObjectNode suggested =
        parsed(
            "{'status':'interrupt','question':'?','field':'seats','suggestions':['two','ten'],"
                + "'fieldSchema':{'type':'string','format':'email','pattern':'x'}}");
    assertThat(shown(ElicitationForms.of(suggested)))
        .isEqualTo(
            parsed("{'format':'email','type':'string','description':'Suggestions: two, ten'}"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'type':'object','properties':{}}",
        "{'type':['string','integer']}",
        "{'type':'array','items':{'type':'string'}}",
        "{'type':'array','items':{'type':'integer','enum':[1]}}",
        "{'type':'number','enum':[1,2]}",
        "{'type':'string','writeOnly':true}",
        "{}"
      })
  void whatIsNotSimpleOrASecretIsNoForm(String fieldSchema) {
    assertThat(asking(fieldSchema).isEmpty()).isTrue();
  }

  @Test
  void whereOneOfTheQuestionsIsNoFormNoneIs() {
    ObjectNode body =
        parsed(
            "{'status':'interrupt','questions':["
                + "{'question':'Name?','field':'name','fieldSchema':{'type':'string'}},"
                + "{'question':'Driver?','field':'driver','fieldSchema':{'type':'object'}}]}");

    assertThat(ElicitationForms.of(body).isEmpty()).isTrue();
    assertThat(
            ElicitationForms.of(parsed("{'status':'widget','tool':'plans','field':'plan'}"))
                .isEmpty())
        .isTrue();
    assertThat(ElicitationForms.of(parsed("{'status':'complete'}")).isEmpty()).isTrue();
  }

  @Test
  void everyQuestionHasItsRequestAndSaysWhatWasWrongBefore() {
    ObjectNode body =
        parsed(
            "{'status':'error','code':'answer_rejected','error':'No.','field':'email',"
                + "'violations':[{'field':'email','message':'That is no email.'}],'questions':["
                + "{'question':'Name?','field':'name','fieldSchema':{'type':'string'}},"
                + "{'question':'Email?','field':'email','fieldSchema':{'type':'string'}}]}");

    ElicitationForms forms = ElicitationForms.of(body, field -> field + "@7");

    assertThat(forms.asks().keySet()).containsExactly("name@7", "email@7");
    assertThat(ask(forms, "name@7").params().path("message").asText()).isEqualTo("Name?");
    assertThat(ask(forms, "email@7").params().path("message").asText())
        .isEqualTo("That is no email.\nEmail?");
    assertThat(forms.supportedBy(parsed("{'elicitation':{}}"), LATEST)).isTrue();
    assertThat(forms.supportedBy(parsed("{'elicitation':{'url':{}}}"), LATEST)).isFalse();
    assertThat(forms.supportedBy(parsed("{}"), LATEST)).isFalse();
  }

  @Test
  void whatIsOptionalIsNotRequiredAndShowsItsDefault() {
    ObjectNode body =
        parsed(
            "{'status':'interrupt','questions':["
                + "{'question':'a?','field':'a','fieldSchema':{'type':'string'}},"
                + "{'question':'b?','field':'b','optional':true,"
                + "'fieldSchema':{'type':'integer','default':2}}]}");

    ElicitationForms forms = ElicitationForms.of(body);

    JsonNode all = forms.combined().params().path("requestedSchema");
    assertThat(all.path("required")).isEqualTo(Json.parse("[\"a\"]"));
    assertThat(all.at("/properties/b/default").asInt()).isEqualTo(2);
    assertThat(ask(forms, "b").params().path("requestedSchema").has("required")).isFalse();
    assertThat(forms.filled(parsed("{'b':{'action':'accept','content':{}}}")).answers())
        .isEqualTo(parsed("{'b':null}"));
    assertThat(forms.filled(parsed("{'b':{'action':'accept'}}")).answers())
        .isEqualTo(parsed("{'b':null}"));
    assertThat(forms.filled(parsed("{'a':{'action':'accept'}}")).unfit()).containsExactly("a");
  }

  @Test
  void submittedFormsBecomeAnswersAndOthersAreDistinguished() {
    ObjectNode body =
        parsed(
            "{'status':'interrupt','questions':["
                + "{'question':'a?','field':'a','fieldSchema':{'type':'string'}},"
                + "{'question':'b?','field':'b.c','fieldSchema':{'type':'boolean'}},"
                + "{'question':'d?','field':'d','fieldSchema':{'type':'string'}},"
                + "{'question':'e?','field':'e','fieldSchema':{'type':'integer'}},"
                + "{'question':'f?','field':'f','fieldSchema':{'type':'integer'}}]}");

    ElicitationForms.Filled filled =
        ElicitationForms.of(body, field -> "k-" + field)
            .filled(
                parsed(
                    "{'k-a':{'action':'accept','content':{'a':'x','more':1}},"
                        + "'k-b.c':{'action':'accept','content':{'b.c':false}},"
                        + "'k-d':{'action':'decline'},"
                        + "'k-e':{'action':'accept','content':{'e':'many'}},"
                        + "'k-f':{'action':'cancel'},"
                        + "'unknown':{'action':'accept','content':{}}}"));

    assertThat(filled.answers()).isEqualTo(parsed("{'a':'x','b.c':false}"));
    assertThat(filled.declined()).containsExactly("d");
    assertThat(filled.unfit()).containsExactly("k-e");
  }
}
