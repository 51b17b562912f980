package io.fermata.mcp.call;

import static io.fermata.flow.Flow.END;
import static io.fermata.flow.Flow.START;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.agent.FlowTool;
import io.fermata.flow.Flow;
import io.fermata.flow.FlowBuilder;
import io.fermata.flow.event.Verdict;
import io.fermata.flow.route.Condition;
import io.fermata.flow.schema.Secret;
import io.fermata.mcp.Events;
import io.fermata.mcp.McpServer;
import io.fermata.mcp.Wired;
import io.fermata.persistence.Store;
import io.fermata.session.Fermata;
import io.fermata.session.HostBuilder;
import io.fermata.session.admin.DataKeys;
import jakarta.validation.constraints.Min;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Flows whose questions clients show as forms, on a real store and a real socket. */
@Timeout(60)
@Tag("slow")
class FormToolCallsTest {
  record Address(String street, String city) {}

  record Order(String name, String email, @Min(1) Integer seats, Address address) {}

  record Payment(@Secret String card) {}

  record Meal(String dish) {}

  private static final String FORMS = "{\"elicitation\":{\"form\":{}}}";
  private static final String KEYS = DataKeys.generate("k");

  private static FlowBuilder<Order> order() {
    return Flow.of("order", Order.class)
        .description("Asks.")
        .ask(
            "ask_contact",
            q ->
                q.question("name", "What is your name?")
                    .question(
                        "email", "What is your email?", s -> s.validate(FormToolCallsTest::checked))
                    .context("Both at once."))
        .ask("ask_seats", q -> q.question("seats", "How many seats?"))
        .ask("ask_address", q -> q.question("address", "Where to?"))
        .edge(START, "ask_contact")
        .edge("ask_contact", "ask_seats")
        .edge("ask_seats", "ask_address")
        .edge("ask_address", END)
        .result(order -> order);
  }

  private static Verdict checked(String email) {
    return email.contains("@")
        ? Verdict.accept(email.toLowerCase(Locale.ROOT))
        : Verdict.reject("That is no email.");
  }

  private static final Flow<Payment> PAY =
      Flow.of("pay", Payment.class)
          .description("Asks.")
          .forms()
          .ask("ask_card", q -> q.question("card", "Which card?"))
          .edge(START, "ask_card")
          .edge("ask_card", END)
          .compile();

  private static final Flow<Meal> TALK =
      Flow.of("talk", Meal.class)
          .description("Asks.")
          .ask("ask_dish", q -> q.question("dish", "What to eat?"))
          .edge(START, "ask_dish")
          .edge("ask_dish", END)
          .compile();

  private static final Flow<Meal> MENU =
      Flow.of("menu", Meal.class)
          .description("Asks twice.")
          .forms()
          .ask("ask_dish", q -> q.question("dish", "What to eat?"))
          .edge(START, "ask_dish")
          .decide(
              "ask_dish",
              d -> d.when(Condition.visits("ask_dish").lt(2)).to("ask_dish").otherwise(END))
          .result(meal -> meal)
          .compile();

  record Wish(String dish, String note, @Min(1) Integer seats) {}

  private static final Flow<Wish> WISH =
      Flow.of("wish", Wish.class)
          .description("Asks.")
          .forms()
          .ask(
              "ask_dish",
              q ->
                  q.question("dish", "What to eat?")
                      .question("note", "Any wishes?", o -> o.optional()))
          .ask("ask_seats", q -> q.question("seats", "For how many?", o -> o.defaultsTo(2)))
          .edge(START, "ask_dish")
          .edge("ask_dish", "ask_seats")
          .edge("ask_seats", END)
          .result(wish -> wish)
          .compile();

  enum Extra {
    BREAD,
    WINE
  }

  record Extras(List<Extra> extras) {}

  private static final Flow<Extras> EXTRAS =
      Flow.of("extras", Extras.class)
          .description("Asks.")
          .forms()
          .ask("ask_extras", q -> q.question("extras", "Which extras?"))
          .edge(START, "ask_extras")
          .edge("ask_extras", END)
          .compile();

  @TempDir Path folder;

  private final Semaphore reminded = new Semaphore(0);
  private Fermata host;
  private McpServer server;

  @BeforeEach
  void start() {
    start(host -> host.flow(order().forms().compile()));
  }

  private void start(UnaryOperator<HostBuilder> release) {
    Flow<Meal> late =
        Flow.of("late", Meal.class)
            .description("Asks.")
            .forms()
            .ask("ask_dish", q -> q.question("dish", "What to eat?"))
            .remind("ask_dish", Duration.ofMillis(100), 1, run -> reminded.release())
            .edge(START, "ask_dish")
            .edge("ask_dish", END)
            .result(meal -> meal)
            .compile();
    HostBuilder builder =
        Fermata.host().store(Store.sqlite(folder.resolve("forms.db"))).keys(DataKeys.parse(KEYS));
    host =
        release
            .apply(builder)
            .flow(PAY)
            .flow(TALK)
            .flow(MENU)
            .flow(WISH)
            .flow(EXTRAS)
            .flow(late)
            .start();
    server =
        McpServer.serving(host)
            .apiKey("ada", "key-of-ada")
            .apiKey("bob", "key-of-bob")
            .port(0)
            .start();
  }

  @AfterEach
  void stop() {
    server.close();
    host.close();
  }

  private static String json(String text) {
    return text.replace('\'', '"');
  }

  private static JsonNode content(Wired.Said said) {
    return said.result().path("structuredContent");
  }

  // --- clients of 2026-07-28 -------------------------------------------------------------------

  private Wired client(String principal) {
    return new Wired(server).with("Authorization", "Bearer key-of-" + principal);
  }

  private Wired.Said call(String principal, String flow, String members, String capabilities) {
    Wired client = client(principal);
    return client.send(
        client.modernMessage(
            "tools/call", flow, json("'name':'" + flow + "'," + members), capabilities));
  }

  private Wired.Said ada(String flow, String members) {
    return call("ada", flow, members, FORMS);
  }

  private static final String START_ORDER = "'arguments':{'action':'start','intent':'seats'}";

  private static String retry(String call, JsonNode asked, String reply) {
    String key = asked.path("inputRequests").fieldNames().next();
    return "%s,'requestState':'%s','inputResponses':{'%s':%s}"
        .formatted(call, asked.path("requestState").asText(), key, reply);
  }

  private static String filled(String content) {
    return "{'action':'accept','content':" + content + "}";
  }

  private static JsonNode form(JsonNode result) {
    assertThat(result.path("resultType").asText())
        .as(result.toString())
        .isEqualTo("input_required");
    assertThat(result.path("inputRequests")).hasSize(1);
    JsonNode request = result.path("inputRequests").elements().next();
    assertThat(request.path("method").asText()).isEqualTo("elicitation/create");
    return request.path("params");
  }

  private static String session(JsonNode asked) {
    return asked.at("/_meta").path("fermata/sessionId").asText();
  }

  private Wired.Said proceed(String flow, String session, String updates) {
    return call(
        "ada",
        flow,
        "'arguments':{'action':'continue','sessionId':'%s','stateUpdates':%s}"
            .formatted(session, updates),
        "{}");
  }

  private static final String CONTACT = "{'name':'Ada','email':'Ada@Acme.com'}";

  @Test
  void aStartThatEndsAnUnfinishedRunIsTheModelsBeforeAFormAsks() {
    JsonNode first = ada("order", START_ORDER).result();
    form(first);
    String again = START_ORDER.replace("}", ",'sessionId':'" + session(first) + "'}");
    assertThat(content(proceed("order", session(first), "{'name':'Ada'}")).path("status").asText())
        .isEqualTo("interrupt");
    JsonNode over = content(ada("order", again));
    assertThat(over.path("status").asText()).isEqualTo("interrupt");
    assertThat(over.path("context").asText())
        .contains("unfinished run", "{\"name\":\"Ada\"}", "Both at once.");
  }

  @Test
  void aFormAsksForAllOfAPauseAndWhatIsFilledInDrivesTheRunOn() {
    JsonNode first = ada("order", START_ORDER).result();
    JsonNode contact = form(first);
    assertThat(contact.path("message").asText())
        .isEqualTo("What is your name?\nWhat is your email?");
    assertThat(contact.at("/requestedSchema/properties").fieldNames())
        .toIterable()
        .containsExactly("name", "email");
    assertThat(first.at("/_meta").path("fermata/run").path("flow").asText()).isEqualTo("order");

    JsonNode second = ada("order", retry(START_ORDER, first, filled(CONTACT))).result();
    assertThat(form(second).at("/requestedSchema/properties/seats/minimum").asInt()).isEqualTo(1);

    // An address is more than a form can ask for, so the model asks.
    Wired.Said third = ada("order", retry(START_ORDER, second, filled("{'seats':3}")));
    assertThat(content(third).path("question").asText()).isEqualTo("Where to?");
    String session = content(third).path("sessionId").asText();
    assertThat(session).isEqualTo(session(second));

    Wired.Said last = proceed("order", session, "{'address':{'street':'S','city':'C'}}");
    assertThat(content(last).path("status").asText()).isEqualTo("complete");
    assertThat(content(last).path("result").toString())
        .contains("\"Ada\"", "ada@acme.com", "\"seats\":3", "\"city\":\"C\"");
  }

  @Test
  void anAnswerThatTheFlowRefusesIsAskedForAgainWithTheReason() {
    JsonNode first = ada("order", START_ORDER).result();

    JsonNode again =
        ada("order", retry(START_ORDER, first, filled("{'name':'Ada','email':'nope'}"))).result();

    assertThat(form(again).path("message").asText())
        .isEqualTo("That is no email.\nWhat is your email?");
    assertThat(form(again).at("/requestedSchema/required")).hasSize(1);
    JsonNode next = ada("order", retry(START_ORDER, again, filled("{'email':'a@b.c'}"))).result();
    assertThat(form(next).path("message").asText()).isEqualTo("How many seats?");
  }

  @ParameterizedTest
  @ValueSource(strings = {"{'name':'Ada','email':7}", "[]", "{'name':'Ada'}"})
  void whatDoesNotFitTheFormIsAskedForAgain(String content) {
    JsonNode first = ada("order", START_ORDER).result();

    JsonNode again = ada("order", retry(START_ORDER, first, filled(content))).result();

    assertThat(form(again).path("message").asText()).contains("What is your email?");
  }

  @Test
  void aReplyThatIsMissingIsAskedForAgain() {
    JsonNode first = ada("order", START_ORDER).result();
    String state = ",'requestState':'" + first.path("requestState").asText() + "'";

    JsonNode again = ada("order", START_ORDER + state).result();

    assertThat(form(again)).isEqualTo(form(first));
  }

  @ParameterizedTest
  @CsvSource({"decline, declined the form", "cancel, put off the form"})
  void whoDoesNotFillInAFormIsAskedInTheConversation(String action, String hint) {
    JsonNode first = ada("order", START_ORDER).result();

    Wired.Said said = ada("order", retry(START_ORDER, first, "{'action':'" + action + "'}"));

    assertThat(content(said).path("status").asText()).isEqualTo("interrupt");
    assertThat(content(said).path("questions")).hasSize(2);
    assertThat(content(said).path("context").asText()).contains(hint, "Both at once.");
    assertThat(said.result().at("/content/0/text").asText()).contains(hint);
    Wired.Said next = proceed("order", content(said).path("sessionId").asText(), CONTACT);
    assertThat(content(next).path("question").asText()).isEqualTo("How many seats?");
  }

  private static final String START_WISH = "'arguments':{'action':'start','intent':'hungry'}";

  @Test
  void whatIsOptionalMayStayEmptyInAForm() {
    JsonNode first = ada("wish", START_WISH).result();
    JsonNode schema = form(first).path("requestedSchema");
    assertThat(schema.at("/properties").fieldNames()).toIterable().containsExactly("dish", "note");
    assertThat(schema.path("required")).hasSize(1);

    JsonNode second = ada("wish", retry(START_WISH, first, filled("{'dish':'soup'}"))).result();
    JsonNode seats = form(second).path("requestedSchema");
    assertThat(seats.has("required")).isFalse();
    assertThat(seats.at("/properties/seats/default").asInt()).isEqualTo(2);

    JsonNode last = content(ada("wish", retry(START_WISH, second, filled("{}"))));
    assertThat(last.path("status").asText()).isEqualTo("complete");
    assertThat(last.path("result").toString()).isEqualTo("{\"dish\":\"soup\",\"seats\":2}");
  }

  @ParameterizedTest
  @ValueSource(strings = {"decline", "cancel"})
  void aFormThatIsNotFilledInPassesNothing(String action) {
    String start = START_WISH.replace("}", ",'stateUpdates':{'dish':'soup','note':'hot'}}");
    JsonNode first = ada("wish", start).result();
    form(first);

    JsonNode said = content(ada("wish", retry(start, first, "{'action':'" + action + "'}")));

    assertThat(said.path("status").asText()).isEqualTo("interrupt");
    assertThat(said.path("field").asText()).isEqualTo("seats");
    assertThat(said.path("optional").asBoolean()).isTrue();
    assertThat(said.has("run")).isFalse();
    JsonNode last = content(proceed("wish", said.path("sessionId").asText(), "{}"));
    assertThat(last.at("/result/seats").asInt()).isEqualTo(2);
  }

  @Test
  void aStateThatIsTamperedForeignOrReplayedDrivesNothing() {
    JsonNode first = ada("order", START_ORDER).result();
    String retry = retry(START_ORDER, first, filled(CONTACT));
    String state = first.path("requestState").asText();
    char other = state.charAt(20) == 'A' ? 'B' : 'A';

    Wired.Said tampered =
        ada("order", retry.replace(state, state.substring(0, 20) + other + state.substring(21)));
    assertThat(tampered.code()).isEqualTo(-32602);
    assertThat(call("bob", "order", retry, FORMS).code()).isEqualTo(-32602);
    assertThat(ada("order", retry.replace("'seats'", "'more seats'")).code()).isEqualTo(-32602);
    assertThat(ada("late", retry).code()).isEqualTo(-32602);
    assertThat(content(proceed("order", session(first), "{}")).path("questions")).hasSize(2);

    assertThat(form(ada("order", retry).result()).path("message").asText()).contains("seats");
    Wired.Said replayed = ada("order", retry);
    assertThat(replayed.code()).isEqualTo(-32602);
    assertThat(replayed.message()).contains("used before", "continue", session(first));
    assertThat(content(proceed("order", session(first), "{}")).path("question").asText())
        .isEqualTo("How many seats?");
  }

  @Test
  void aStateOfARunThatHasMovedOnIsStale() {
    JsonNode first = ada("order", START_ORDER).result();
    proceed("order", session(first), "{'name':'Bea','email':'bea@acme.com'}");

    Wired.Said said = ada("order", retry(START_ORDER, first, filled(CONTACT)));

    assertThat(said.result().path("isError").asBoolean()).isTrue();
    assertThat(content(said).path("code").asText()).isEqualTo("stale_call");
    assertThat(content(said).path("question").asText()).isEqualTo("How many seats?");
  }

  @Test
  void aFormAnswersTheQuestionItWasShownForAndNotTheSameOneAskedAgain() {
    String call = "'arguments':{'action':'start','intent':'lunch'}";
    JsonNode first = ada("menu", call).result();
    JsonNode again = content(proceed("menu", session(first), "{'dish':'soup'}"));
    assertThat(again.path("question").asText()).isEqualTo("What to eat?");

    Wired.Said late = ada("menu", retry(call, first, filled("{'dish':'fish'}")));

    assertThat(content(late).path("code").asText()).isEqualTo("stale_call");
    assertThat(content(late).path("question").asText()).isEqualTo("What to eat?");
    JsonNode last = content(proceed("menu", session(first), "{'dish':'cake'}"));
    assertThat(last.at("/result/dish").asText()).isEqualTo("cake");
  }

  @Test
  void aFormOfARunIsNotForTheNextOneOfItsSession() {
    String call = "'arguments':{'action':'start','intent':'lunch'}";
    JsonNode first = ada("menu", call).result();
    String again =
        "'arguments':{'action':'start','intent':'dinner','sessionId':'" + session(first) + "'}";
    JsonNode second = ada("menu", again).result();

    Wired.Said late = ada("menu", retry(call, first, filled("{'dish':'fish'}")));

    assertThat(content(late).path("code").asText()).isEqualTo("stale_call");
    JsonNode next = ada("menu", retry(again, second, filled("{'dish':'soup'}"))).result();
    assertThat(form(next).path("message").asText()).isEqualTo("What to eat?");
  }

  @Test
  void aFormIsStillGoodWhenSomebodyWasRemindedOfIt() throws Exception {
    String call = "'arguments':{'action':'start','intent':'dinner'}";
    JsonNode first = ada("late", call).result();
    long seq = first.at("/_meta").path("fermata/run").path("seq").asLong();
    assertThat(reminded.tryAcquire(60, TimeUnit.SECONDS)).isTrue();
    String status = "'arguments':{'action':'status','sessionId':'" + session(first) + "'}";
    long now = seq;
    while (now == seq) {
      now = ada("late", status).result().at("/_meta").path("fermata/run").path("seq").asLong();
    }

    Wired.Said said = ada("late", retry(call, first, filled("{'dish':'soup'}")));

    assertThat(content(said).at("/result/dish").asText()).isEqualTo("soup");
  }

  @Test
  void aFormOutlivesARestartOfTheServer() {
    JsonNode first = ada("order", START_ORDER).result();

    stop();
    start();

    JsonNode second = ada("order", retry(START_ORDER, first, filled(CONTACT))).result();
    assertThat(form(second).path("message").asText()).isEqualTo("How many seats?");
  }

  @Test
  void aFormOfAFlowThatHasNoneAnyMoreIsTakenByItsRunAndTheModelAsksFromThere() {
    JsonNode first = ada("order", START_ORDER).result();
    String retry = retry(START_ORDER, first, filled(CONTACT));
    stop();
    start(host -> host.flow(order().compile()));

    JsonNode next = content(ada("order", retry));

    assertThat(next.path("question").asText()).isEqualTo("How many seats?");
    JsonNode run = content(proceed("order", session(first), "{}"));
    assertThat(run.path("question").asText()).isEqualTo("How many seats?");
    assertThat(ada("order", retry).message()).contains("used before", session(first));
  }

  @Test
  void aFormOfAFlowThatIsAJobNowIsRefused() {
    JsonNode first = ada("order", START_ORDER).result();
    stop();
    start(host -> host.job(FlowTool.of("order", "Orders.", order().compile())));

    Wired.Said refused = ada("order", retry(START_ORDER, first, filled(CONTACT)));

    assertThat(refused.code()).isEqualTo(-32602);
    assertThat(refused.message()).contains("not issued", "make a new call");
  }

  @Test
  void theRunOfANamedConversationIsFoundAgainByItsForm() {
    String named = "'_meta':{'openai/session':'chat-1','fermata/callId':'once',";
    Wired client = client("ada");
    JsonNode first =
        client
            .send(
                client
                    .modernMessage(
                        "tools/call", "order", json("'name':'order'," + START_ORDER), FORMS)
                    .replace("\"_meta\":{", json(named)))
            .result();
    assertThat(session(first)).isEmpty();

    JsonNode second =
        client
            .send(
                client
                    .modernMessage(
                        "tools/call",
                        "order",
                        json("'name':'order'," + retry(START_ORDER, first, filled(CONTACT))),
                        FORMS)
                    .replace("\"_meta\":{", json("'_meta':{'fermata/callId':'once',")))
            .result();

    assertThat(form(second).path("message").asText()).isEqualTo("How many seats?");
  }

  @Test
  void theIdOfACallIsNotForAnotherRequest() {
    JsonNode first = identified(START_ORDER);
    assertThat(first.path("status").asText()).isEqualTo("interrupt");

    JsonNode other = identified("'arguments':{'action':'start','intent':'other seats'}");

    assertThat(other.path("code").asText()).isEqualTo("key_used");
    assertThat(other.path("error").asText()).contains("nothing was done", "with a new one");
    assertThat(other.path("questions")).isEqualTo(first.path("questions"));
    assertThat(identified(START_ORDER)).isEqualTo(first);
  }

  private JsonNode identified(String arguments) {
    Wired client = client("ada");
    String message =
        client.modernMessage("tools/call", "order", json("'name':'order'," + arguments), "{}");
    String meta = json("'_meta':{'openai/session':'chat-2','fermata/callId':'c-1',");
    return content(client.send(message.replace("\"_meta\":{", meta)));
  }

  @Test
  void noFormAsksForASecretNorWhereNobodyWantsForms() {
    String starting = "'arguments':{'action':'start','intent':'x'}";

    assertThat(content(ada("pay", starting)).path("field").asText()).isEqualTo("card");
    assertThat(content(ada("talk", starting)).path("field").asText()).isEqualTo("dish");
    assertThat(content(call("ada", "order", START_ORDER, "{}")).path("questions")).hasSize(2);
    assertThat(
            content(call("ada", "order", START_ORDER, "{\"elicitation\":{\"url\":{}}}"))
                .path("questions"))
        .hasSize(2);
    String session = session(ada("order", START_ORDER).result());
    Wired.Said status =
        ada("order", "'arguments':{'action':'status','sessionId':'" + session + "'}");
    assertThat(content(status).path("questions")).hasSize(2);
  }

  @Test
  void aModelIsNotifiedOfItsMistakes() {
    Wired.Said said =
        ada("order", "'arguments':{'action':'start','intent':'x','stateUpdates':{'nmae':'Ada'}}");

    assertThat(content(said).path("code").asText()).isEqualTo("invalid_updates");
  }

  // --- clients before --------------------------------------------------------------------------

  private Wired elder(String capabilities) {
    return client("ada").session("2025-11-25", capabilities);
  }

  private static Events ordering(Wired client) throws Exception {
    return calling(client, "order");
  }

  private static Events calling(Wired client, String flow) throws Exception {
    String call = "{'jsonrpc':'2.0','id':7,'method':'tools/call','params':{'name':'%s',%s}}";
    return client.listen(json(call.formatted(flow, START_ORDER))).get();
  }

  private static JsonNode asked(Events events) throws Exception {
    JsonNode asked = events.next();
    assertThat(asked.path("method").asText()).as(asked.toString()).isEqualTo("elicitation/create");
    return asked;
  }

  private static void reply(Wired client, JsonNode asked, String member) {
    client.send(json("{'jsonrpc':'2.0','id':" + asked.path("id") + "," + member + "}"));
  }

  @Test
  void anElderClientFillsInFormsWhileItsCallIsOpen() throws Exception {
    Wired client = elder(FORMS);
    Events events = ordering(client);

    JsonNode contact = asked(events);
    assertThat(contact.at("/params/requestedSchema/properties")).hasSize(2);
    reply(client, contact, "'result':" + filled("{'name':'Ada','email':'nope'}"));
    JsonNode again = asked(events);
    assertThat(again.at("/params/message").asText()).startsWith("That is no email.");
    reply(client, again, "'result':" + filled("{'email':'ada@acme.com'}"));
    reply(client, asked(events), "'result':" + filled("{'seats':2}"));

    JsonNode answer = events.next().at("/result/structuredContent");
    assertThat(answer.path("question").asText()).isEqualTo("Where to?");
    Wired.Said last =
        proceed(
            "order", answer.path("sessionId").asText(), "{'address':{'street':'S','city':'C'}}");
    assertThat(content(last).at("/result/seats").asInt()).isEqualTo(2);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "'result':{'action':'decline'} | declined the form",
        "'result':{'action':'cancel'} | put off the form",
        "'result':{'action':'accept','content':{'name':7}} | could not get the form",
        "'error':{'code':-1,'message':'No.'} | could not get the form"
      })
  void anElderClientThatFillsInNothingIsAskedInTheConversation(String reply, String hint)
      throws Exception {
    Wired client = elder(FORMS);
    Events events = ordering(client);

    reply(client, asked(events), reply);

    JsonNode answer = events.next().at("/result/structuredContent");
    assertThat(answer.path("questions")).hasSize(2);
    assertThat(answer.path("context").asText()).contains(hint);
  }

  @Test
  void anOlderClientWhoseServerShutsDownContinuesInTheConversation() throws Exception {
    Events events = ordering(elder(FORMS));
    asked(events);

    server.drain(Duration.ofMillis(50));

    JsonNode answer = events.next().at("/result/structuredContent");
    assertThat(answer.path("questions")).hasSize(2);
    assertThat(answer.path("context").asText()).contains("shutting down", "Both at once.");
  }

  @Test
  void anElderClientThatCannotBeAskedIsAskedInTheConversation() throws Exception {
    assertThat(ordering(elder("{}")).plain().at("/result/structuredContent/questions")).hasSize(2);
    assertThat(
            ordering(elder(FORMS).with("Accept", "application/json"))
                .plain()
                .at("/result/structuredContent/questions"))
        .hasSize(2);
  }

  @Test
  void aListIsAskedForInAFormOfAClientWhoseRevisionHasLists() throws Exception {
    JsonNode asked = asked(calling(elder(FORMS), "extras"));
    assertThat(asked.at("/params/requestedSchema/properties/extras/type").asText())
        .isEqualTo("array");

    Wired older = client("ada").session("2025-06-18", "{\"elicitation\":{}}");
    assertThat(calling(older, "extras").plain().at("/result/structuredContent/field").asText())
        .isEqualTo("extras");
  }
}
