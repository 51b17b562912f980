package io.fermata.mcp.rpc;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.Wired;
import io.fermata.mcp.catalog.Desk;
import java.nio.file.Path;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Threads over plain HTTP, without MCP. */
@Timeout(120)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Tag("slow")
class ThreadsOverHttpTest {
  private Desk desk;
  private Desk.Client alice;

  @BeforeAll
  void start(@TempDir Path folder) {
    desk = new Desk(folder.resolve("desk.db"));
    alice = desk.alice();
  }

  @AfterAll
  void stop() {
    desk.close();
  }

  @Test
  void aThreadIsCreatedReadChangedAndDeleted() {
    Desk.Said created =
        alice
            .post(
                "/threads",
                """
                {"agent":"desk","tags":["vip","de"],"env":{"LANG":"de"},
                 "messages":[{"content":"Welcome.","role":"assistant"}]}""")
            .is(201);
    String thread = created.header("Location");
    assertThat(thread).isEqualTo("/threads/" + created.body().path("threadId").asText());
    assertThat(created.body().path("status").asText()).isEqualTo("resting");
    assertThat(created.body().path("tags")).hasSize(2);
    assertThat(created.body().has("env")).isFalse();

    assertThat(alice.get(thread).is(200).body().path("agent").asText()).isEqualTo("desk");
    assertThat(Desk.contents(alice.get(thread + "/messages").is(200).body().path("messages")))
        .containsExactly("Welcome.");

    JsonNode changed = alice.send("PATCH", thread, "{\"tags\":[\"done\"]}").is(200).body();
    assertThat(changed.path("tags").toString()).isEqualTo("[\"done\"]");

    assertThat(alice.send("DELETE", thread, null).is(204).raw().body()).isEmpty();
    assertThat(alice.get(thread).is(404).code()).isEqualTo("unknown_thread");
    assertThat(alice.get(thread + "/messages").status()).isEqualTo(404);
  }

  @Test
  void aMessageWaitsForItsOutcome() {
    String thread = alice.thread();

    JsonNode outcome = alice.says(thread, "hello");

    assertThat(outcome.path("repeated").asBoolean()).isFalse();
    assertThat(outcome.at("/thread/status").asText()).isEqualTo("resting");
    assertThat(outcome.at("/thread/code").asText()).isEqualTo("stop_on_response");
    assertThat(Desk.contents(outcome.path("messages"))).containsExactly("How can I help?");
    JsonNode message = outcome.at("/messages/0");
    assertThat(message.path("role").asText()).isEqualTo("assistant");
    assertThat(message.path("status").asText()).isEqualTo("completed");
    assertThat(message.path("created_at").asLong()).isPositive();
    assertThat(message.path("tool_calls").isNull()).isTrue();
    assertThat(message.has("log_id") && message.has("silent") && message.has("depth")).isTrue();
  }

  @Test
  void aMessageThatIsNotWaitedForIsAcceptedAtOnce() {
    String thread = alice.thread();

    JsonNode receipt = alice.post(thread + "/messages", "{\"content\":\"hi\"}").is(202).body();

    assertThat(receipt.path("messageId").asText()).isNotEmpty();
    assertThat(receipt.path("repeated").asBoolean()).isFalse();
  }

  @Test
  void aMessageThatSaysNothingIsRefused() {
    String thread = alice.thread();
    for (String content : List.of("{}", "{\"content\":\"\"}", "{\"content\":\" \\n\"}")) {
      assertThat(
              alice.post(thread + "/messages", content).is(400).body().at("/error/fields/0/field"))
          .hasToString("\"content\"");
    }
    String first = "{\"agent\":\"desk\",\"messages\":[{\"content\":\"\"}]}";
    assertThat(alice.post("/threads", first).is(400).code()).isEqualTo("invalid_fields");
  }

  @Test
  void aFieldThatIsNullIsAbsentAndANullWithinMetadataIsKept() {
    String first =
        "{\"agent\":\"desk\",\"tags\":null,\"messages\":[{\"content\":\"a\",\"role\":null,\"name\":null}]}";
    String thread = alice.post("/threads", first).is(201).header("Location");
    String second = "{\"content\":\"b\",\"silent\":null,\"metadata\":{\"a\":null,\"b\":[null]}}";

    alice.post(thread + "/messages?wait=30", second).is(200);

    assertThat(alice.get(thread + "/messages").body().path("messages").findValues("metadata"))
        .extracting(JsonNode::toString)
        .contains("{\"a\":null,\"b\":[null]}");
    assertThat(
            alice
                .post("/threads", "{\"agent\":\"desk\",\"env\":{\"A\":null}}")
                .is(400)
                .body()
                .at("/error/fields/0/field")
                .asText())
        .isEqualTo("env.A");
  }

  @Test
  void aVariableThatIsChangedToNullIsRemoved() {
    String thread =
        alice
            .post("/threads", "{\"agent\":\"other\",\"env\":{\"a\":\"1\",\"b\":\"2\"}}")
            .is(201)
            .header("Location");

    alice.send("PATCH", thread, "{\"env\":{\"a\":null,\"c\":\"3\"}}").is(200);

    assertThat(
            desk.host()
                .journals()
                .thread(id(thread))
                .readWithSecrets()
                .toCompletableFuture()
                .join()
                .state()
                .stored()
                .env())
        .containsOnly(Map.entry("b", "2"), Map.entry("c", "3"));
  }

  @Test
  void anUnknownAgentIsRefusedWithTheNearestOrElseWithAllThatClientsMayUse() {
    Map<String, String> refusals =
        Map.of(
            "desc", "There is no agent desc; did you mean desk?",
            "warehouse", "There is no agent warehouse; there are desk, other",
            "clerk", "There is no agent clerk; there are desk, other");
    refusals.forEach(
        (agent, refusal) ->
            assertThat(
                    alice
                        .post("/threads", "{\"agent\":\"%s\"}".formatted(agent))
                        .is(400)
                        .body()
                        .at("/error/fields/0/message")
                        .asText())
                .isEqualTo(refusal));
  }

  @Test
  void toolCallsAreAJsonTextAsTheyAreElsewhere() throws Exception {
    String thread = alice.thread();

    JsonNode messages = alice.says(thread, "take a note").path("messages");

    JsonNode calls = Wired.JSON.readTree(messages.at("/0/tool_calls").textValue());
    assertThat(calls.at("/0/function/name").asText()).isEqualTo("note");
    assertThat(calls.at("/0/function/arguments").isTextual()).isTrue();
    assertThat(messages.at("/1/tool_call_id")).isEqualTo(calls.at("/0/id"));
    assertThat(Desk.contents(messages)).endsWith("kept", "Noted.");
  }

  @Test
  void messagesAreListedPageByPageInTheOrderOfTheConversation() {
    String thread = alice.thread();
    for (int i = 0; i < 3; i++) {
      alice.says(thread, "hello " + i);
    }

    JsonNode latest = alice.get(thread + "/messages?limit=4").is(200).body();
    assertThat(Desk.contents(latest.path("messages")))
        .containsExactly("hello 1", "How can I help?", "hello 2", "How can I help?");
    JsonNode first =
        alice.get(thread + "/messages?limit=4&before=" + latest.path("before").asText()).body();
    assertThat(Desk.contents(first.path("messages"))).containsExactly("hello 0", "How can I help?");
    assertThat(first.path("before").isNull()).isTrue();
  }

  @Test
  void silentMessagesAreListedOnlyForThoseWhoAsk() {
    String thread = alice.thread();
    alice.post(thread + "/messages?wait=30", "{\"content\":\"psst\",\"silent\":true}").is(200);

    assertThat(Desk.contents(alice.get(thread + "/messages").body().path("messages")))
        .containsExactly("How can I help?");
    assertThat(Desk.contents(alice.get(thread + "/messages?silent=true").body().path("messages")))
        .containsExactly("psst", "How can I help?");
  }

  @Test
  void aPersonApprovesACallAndARepeatedAnswerCountsOnce() throws Exception {
    String thread = alice.thread();

    JsonNode asked = alice.says(thread, "a refund, please");
    assertThat(asked.at("/thread/status").asText()).isEqualTo("asking");
    JsonNode question = asked.at("/thread/questions/0");
    assertThat(question.path("tool").asText()).isEqualTo("refund");
    assertThat(question.path("approval").asBoolean()).isTrue();
    assertThat(question.at("/question/question").asText()).isEqualTo("Pay the money back?");

    String call = question.path("call").asText();
    assertThat(
            alice.post(thread + "/answers", "{\"call\":\"nope\",\"approved\":true}").is(409).code())
        .isEqualTo("no_open_question");
    assertThat(alice.post(thread + "/answers", "{\"call\":\"" + call + "\"}").is(400).code())
        .isEqualTo("missing_approval");
    String answer = "{\"call\":\"" + call + "\",\"approved\":true,\"reason\":\"fair\"}";
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "answer-1");
    keyed.post(thread + "/answers", answer).is(200);
    rests(thread);
    alice.says(thread, "and?");
    assertThat(alice.post(thread + "/answers", answer).is(409).code())
        .isEqualTo("no_open_question");
    assertThat(Desk.contents(alice.get(thread + "/messages").body().path("messages")))
        .contains("paid", "It is decided.");
  }

  @Test
  void aThreadThatWaitsForADecisionIsFoundByItsStatus() throws InterruptedException {
    String thread = alice.thread();
    JsonNode asked = alice.says(thread, "a refund, please");
    awaitListed(thread, "asking", true);
    assertThat(listed("resting")).doesNotContain(id(thread));

    String call = asked.at("/thread/questions/0/call").asText();
    alice.post(thread + "/answers", "{\"call\":\"" + call + "\",\"approved\":true}").is(200);

    awaitListed(thread, "asking", false);
    awaitListed(thread, "resting", true);
  }

  @Test
  void aTextIsLookedForInTheIdTheAgentAndTheTagsOfAThread() throws InterruptedException {
    String wanted = "{\"agent\":\"desk\",\"tags\":[\"vip\"]}";
    String thread = alice.post("/threads", wanted).is(201).header("Location");
    awaitListed(thread, "resting", true);

    for (String found : List.of(id(thread), "desk", "VIP")) {
      assertThat(listedBy("q=" + found)).contains(id(thread));
    }
    assertThat(listedBy("q=resting")).isEmpty();
  }

  private static String id(String thread) {
    return thread.substring(thread.lastIndexOf('/') + 1);
  }

  private List<String> listed(String status) {
    return listedBy("status=" + status);
  }

  private List<String> listedBy(String criterion) {
    return alice
        .get("/threads?limit=100&" + criterion)
        .is(200)
        .body()
        .path("threads")
        .findValuesAsText("threadId");
  }

  /** The list is up to a second behind. */
  private void awaitListed(String thread, String status, boolean there)
      throws InterruptedException {
    for (int look = 0; look < 1_200 && listed(status).contains(id(thread)) != there; look++) {
      Thread.sleep(50);
    }
    assertThat(listed(status).contains(id(thread))).isEqualTo(there);
  }

  /** Messages before the model's next step are answered together with the decision. */
  private void rests(String thread) throws InterruptedException {
    for (int look = 0; look < 1_200 && !status(thread).equals("resting"); look++) {
      Thread.sleep(50);
    }
    assertThat(status(thread)).isEqualTo("resting");
  }

  private String status(String thread) {
    return alice.get(thread).body().path("status").asText();
  }

  @Test
  void aThreadIsStoppedAndContinues() {
    String thread = alice.thread();
    alice.post(thread + "/messages", "{\"content\":\"work\"}").is(202);

    JsonNode stopped = alice.post(thread + "/stop", null).is(200).body();
    assertThat(stopped.path("status").asText()).isEqualTo("resting");
    assertThat(stopped.path("code").asText()).isEqualTo("aborted_by_user");

    alice.post(thread + "/continue", "{\"side\":\"a\"}").is(200);
    assertThat(
            desk.alice()
                .with("Idempotency-Key", "k")
                .post(thread + "/continue", null)
                .is(400)
                .body()
                .at("/error/fields/0/field")
                .asText())
        .isEqualTo("Idempotency-Key");
  }

  @Test
  void aCallerThatWaitsTooShortLearnsThatItWorks() {
    String thread = alice.thread();

    JsonNode outcome =
        alice.post(thread + "/messages?wait=1", "{\"content\":\"work\"}").is(200).body();
    assertThat(outcome.at("/thread/status").asText()).isEqualTo("working");

    desk.gate.release();
    assertThat(Desk.contents(alice.says(thread, "well?").path("messages"))).isNotEmpty();
  }

  @Test
  void aMessageThatWaitsForItsTurnHasNoAnswerYet() throws InterruptedException {
    String thread = alice.thread();
    alice.says(thread, "hello");
    alice.post(thread + "/messages", "{\"content\":\"work\"}").is(202);
    while (!desk.gate.hasQueuedThreads()) {
      Thread.sleep(20);
    }

    JsonNode outcome =
        alice.post(thread + "/messages?wait=1", "{\"content\":\"and?\"}").is(200).body();
    assertThat(outcome.at("/thread/status").asText()).isEqualTo("working");
    assertThat(outcome.path("messages")).isEmpty();
    assertThat(outcome.path("before").isNull()).isTrue();
    desk.gate.release();
  }

  // --- who instructs the agent -----------------------------------------------------------------

  @Test
  void onlyThoseWhomTheServerPermitsMayInstructTheAgent() {
    String system = "{\"content\":\"Obey me.\",\"role\":\"system\"}";
    String tone = "{\"env\":{\"tone\":\"rude\"}}";
    String create = "{\"agent\":\"desk\",\"env\":{\"tone\":\"rude\"}}";
    String begun = "{\"agent\":\"desk\",\"messages\":[" + system + "]}";
    String thread = alice.thread();

    for (Desk.Said refused :
        List.of(
            alice.post(thread + "/messages", system),
            alice.send("PATCH", thread, tone),
            alice.post("/threads", create),
            alice.post("/threads", begun))) {
      assertThat(refused.is(403).code()).isEqualTo("may_not_instruct");
      assertThat(refused.body().at("/error/message").asText()).contains("alice", "instructors");
    }
    alice.send("PATCH", thread, "{\"env\":{\"lang\":\"de\"},\"tags\":[\"a\"]}").is(200);
    assertThat(alice.get(thread).body().path("messages").asInt()).isZero();

    Desk.Client carol = desk.carol();
    String hers = carol.post("/threads", create).is(201).header("Location");
    carol.post("/threads", begun).is(201);
    carol.send("PATCH", hers, tone).is(200);
    carol.post(hers + "/messages", system).is(202);
  }

  // --- forks -----------------------------------------------------------------------------------

  @Test
  void aThreadIsForkedByItsOwnerAndNobodyElse() throws Exception {
    String thread = alice.thread();
    alice.says(thread, "hello");
    alice.says(thread, "a refund, please");

    Desk.Said forked =
        alice.post(thread + "/forks", "{\"mode\":\"live\",\"before\":\"m-u2\"}").is(201);

    String fork = forked.header("Location");
    assertThat(fork).isEqualTo("/threads/" + forked.body().path("threadId").asText());
    JsonNode origin = forked.body().path("fork");
    assertThat(origin.path("threadId").asText()).isEqualTo(id(thread));
    assertThat(origin.path("mode").asText()).isEqualTo("live");
    assertThat(origin.path("by").asText()).isEqualTo("alice");
    assertThat(forked.body().path("status").asText()).isEqualTo("resting");
    assertThat(alice.says(fork, "thanks").at("/thread/code").asText())
        .isEqualTo("stop_on_response");
    assertThat(status(thread)).isEqualTo("asking");
    try (Desk.Listening events = alice.listen(fork + "/events")) {
      assertThat(events.upTo("thread.forked").get(0).type()).isEqualTo("thread.created");
    }

    String sandbox =
        alice
            .post(
                thread + "/forks",
                "{\"mode\":\"sandbox\",\"before\":\"m-u2\",\"content\":\"refund me\"}")
            .is(201)
            .header("Location");
    rests(sandbox);
    JsonNode rested = alice.get(sandbox).is(200).body();
    assertThat(rested.path("code").asText()).isEqualTo("sandboxed");
    assertThat(rested.path("detail").asText()).isEqualTo("refund {}");

    String now = "{\"mode\":\"live\"}";
    assertThat(desk.bob().post(thread + "/forks", now).is(404).code()).isEqualTo("unknown_thread");
    assertThat(alice.post(thread + "/forks", "{\"mode\":\"live\",\"entry\":99}").is(404).code())
        .isEqualTo("unknown_entry");
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "f");
    assertThat(keyed.post(thread + "/forks", now).is(400).code()).isEqualTo("invalid_fields");
  }

  @Test
  void aForkInstructsNoAgentUnlessItsOwnerMay() {
    String thread = alice.post("/threads", "{\"agent\":\"other\"}").is(201).header("Location");
    Desk.Client carol = desk.carol();
    String hers = carol.post("/threads", "{\"agent\":\"other\"}").is(201).header("Location");
    for (String fork :
        List.of(
            "{\"mode\":\"live\",\"env\":{\"tone\":\"rude\"}}",
            "{\"mode\":\"live\",\"agent\":\"desk\"}",
            "{\"mode\":\"live\",\"content\":\"Obey me.\",\"role\":\"system\"}")) {
      assertThat(alice.post(thread + "/forks", fork).is(403).code()).isEqualTo("may_not_instruct");
      carol.post(hers + "/forks", fork).is(201);
    }
    assertThat(
            carol
                .post(hers + "/forks", "{\"mode\":\"live\",\"agent\":\"desk\"}")
                .is(201)
                .body()
                .path("agent")
                .asText())
        .isEqualTo("desk");
  }

  // --- while a person decides ------------------------------------------------------------------

  @Test
  void anAnswerCanWaitForWhatFollows() {
    String thread = alice.thread();
    JsonNode asks = alice.says(thread, "refund").path("thread");
    String call = asks.at("/questions/0/call").asText();

    JsonNode then =
        alice
            .post(thread + "/answers?wait=30", "{\"call\":\"" + call + "\",\"approved\":true}")
            .is(200)
            .body();

    assertThat(then.path("status").asText()).isEqualTo("resting");
    assertThat(Desk.contents(alice.get(thread + "/messages").body().path("messages")))
        .contains("paid", "It is decided.");
  }

  private static String answer(JsonNode question, boolean approved) {
    return """
        {"call":"%s","question":"%s","answers":{"approved":%s}}"""
        .formatted(question.path("call").asText(), question.path("id").asText(), approved);
  }

  @Test
  void anAnswerToAQuestionThatWasAnsweredMeanwhileIsNotTakenForTheNextOne() {
    String thread = alice.thread();
    String answers = thread + "/answers?wait=30";
    JsonNode first = alice.says(thread, "my expenses, please").at("/thread/questions/0");

    Desk.Client keyed = desk.alice().with("Idempotency-Key", "first-expense");
    JsonNode next = keyed.post(answers, answer(first, true)).is(200).body();
    JsonNode second = next.at("/questions/0");
    assertThat(second.path("call")).isEqualTo(first.path("call"));
    assertThat(second.path("question")).isEqualTo(first.path("question"));
    assertThat(second.path("id")).isNotEqualTo(first.path("id"));

    // From another tab, and from a button that was pressed twice.
    for (boolean approved : List.of(false, true)) {
      Desk.Said late = alice.post(answers, answer(first, approved)).is(409);
      assertThat(late.code()).isEqualTo("no_open_question");
      assertThat(late.body().at("/error/message").asText()).contains(second.path("id").asText());
    }
    // A request that is sent again, as its reply was lost, is the same answer.
    JsonNode repeated = keyed.post(answers, answer(first, true)).is(200).body();
    assertThat(repeated.path("questions")).isEqualTo(next.path("questions"));
    assertThat(alice.get(thread).body().path("offset")).isEqualTo(next.path("offset"));

    assertThat(alice.post(answers, answer(second, false)).is(200).body().path("status").asText())
        .isEqualTo("resting");
    assertThat(Desk.contents(alice.get(thread + "/messages").body().path("messages")))
        .contains("paid 1", "All are decided.");
  }

  @Test
  void whatDoesNotExistIsRefusedInsteadOfFindingNothing() {
    String thread = alice.thread();
    alice.says(thread, "hello");

    assertThat(alice.get(thread + "/messages?before=zzz").is(400).code())
        .isEqualTo("unknown_message");
    Desk.Client lost = desk.alice().with("Last-Event-ID", "99999.0");
    assertThat(lost.get(thread + "/events").is(400).code()).isEqualTo("unknown_event");
    assertThat(alice.get(thread + "/events?after=99999").is(400).code()).isEqualTo("unknown_event");
  }

  @Test
  void aKeyThatCreatedAThreadOfAnotherAgentIsRefused() {
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "mine");
    String thread = keyed.post("/threads", "{\"agent\":\"desk\"}").is(201).header("Location");

    Desk.Said refused = keyed.post("/threads", "{\"agent\":\"other\"}").is(409);

    assertThat(refused.code()).isEqualTo("key_used");
    assertThat(refused.body().at("/error/message").asText())
        .contains("mine", "new key")
        .as("the caller may not be permitted to use it")
        .doesNotContain("desk");
    assertThat(keyed.post("/threads", "{\"agent\":\"desk\"}").is(201).header("Location"))
        .isEqualTo(thread);
    desk.bob().with("Idempotency-Key", "mine").post("/threads", "{\"agent\":\"other\"}").is(201);
  }

  @Test
  void aKeyThatCreatedAThreadInAnotherWayIsRefused() {
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "tagged");
    String body = "{\"agent\":\"desk\",\"tags\":[\"%s\"],\"env\":{\"k\":\"%s\"},\"messages\":[%s]}";
    String hi = "{\"role\":\"user\",\"content\":\"hi\"}";
    String thread = keyed.post("/threads", body.formatted("a", "1", hi)).is(201).header("Location");
    alice.send("PATCH", thread, "{\"tags\":[\"b\"]}").is(200);
    alice.says(thread, "hello");

    for (String other :
        List.of(
            body.formatted("b", "1", hi),
            body.formatted("a", "2", hi),
            body.formatted("a", "1", ""),
            body.formatted("a", "1", hi + "," + hi),
            body.formatted("a", "1", hi.replace("hi", "bye")))) {
      Desk.Said refused = keyed.post("/threads", other).is(409);
      assertThat(refused.code()).isEqualTo("key_used");
    }
    Desk.Said again = keyed.post("/threads", body.formatted("a", "1", hi)).is(201);
    assertThat(again.header("Location")).isEqualTo(thread);
    assertThat(again.body().at("/tags/0").asText()).isEqualTo("b");
  }

  // --- once ------------------------------------------------------------------------------------

  @Test
  void aThreadThatIsCreatedTwiceAtOnceIsCreatedOnce() {
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "the one");

    Set<String> threads = new HashSet<>();
    at(8, () -> keyed.post("/threads", "{\"agent\":\"desk\"}").is(201))
        .forEach(said -> threads.add(said.header("Location")));

    assertThat(threads).hasSize(1);
    assertThat(keyed.post("/threads", "{\"agent\":\"desk\"}").is(201).header("Location"))
        .isEqualTo(threads.iterator().next());
    assertThat(
            desk.bob()
                .with("Idempotency-Key", "the one")
                .post("/threads", "{\"agent\":\"desk\"}")
                .is(201)
                .header("Location"))
        .isNotIn(threads);
  }

  @Test
  void aMessageThatIsPostedTwiceAtOnceCountsOnce() {
    String thread = alice.thread();
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "m-1");

    List<Desk.Said> all =
        at(8, () -> keyed.post(thread + "/messages?wait=30", "{\"content\":\"hi\"}").is(200));

    assertThat(all.stream().map(said -> said.body().path("messageId").asText()).distinct())
        .hasSize(1);
    assertThat(all.stream().filter(said -> !said.body().path("repeated").asBoolean())).hasSize(1);
    assertThat(all)
        .allSatisfy(
            said ->
                assertThat(Desk.contents(said.body().path("messages")))
                    .containsExactly("How can I help?"));
    assertThat(alice.get(thread).body().path("messages").asInt()).isEqualTo(2);
  }

  @Test
  void aKeyThatNamedAnotherMessageIsRefusedAndNothingIsLost() {
    String thread = alice.thread();
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "m-1");
    String id = keyed.says(thread, "hi").path("messageId").asText();

    Desk.Said refused = keyed.post(thread + "/messages", "{\"content\":\"bye\"}").is(409);

    assertThat(refused.code()).isEqualTo("key_used");
    assertThat(refused.body().at("/error/message").asText()).contains("m-1", id, "new key");
    String attached =
        "{\"content\":\"hi\",\"attachments\":[{\"name\":\"a.txt\",\"mimeType\":\"text/plain\",\"data\":\"aGk=\"}]}";
    keyed.post(thread + "/messages", attached).is(409);
    JsonNode again = keyed.post(thread + "/messages", "{\"content\":\"hi\"}").is(202).body();
    assertThat(again.path("repeated").asBoolean()).isTrue();
    assertThat(again.path("messageId").asText()).isEqualTo(id);
    assertThat(alice.get(thread).body().path("messages").asInt()).isEqualTo(2);

    Desk.Client files = desk.alice().with("Idempotency-Key", "m-2");
    files.post(thread + "/messages", attached).is(202);
    assertThat(
            files.post(thread + "/messages", attached).is(202).body().path("repeated").asBoolean())
        .isTrue();
  }

  @Test
  void aKeyThatNamedAMessageWithOtherFilesOrMetadataIsRefused() {
    String thread = alice.thread();
    Desk.Client keyed = desk.alice().with("Idempotency-Key", "m-1");
    String sent = message("aGk=", "text/plain", "1");
    JsonNode first = keyed.post(thread + "/messages?wait=30", sent).is(200).body();

    for (String other :
        List.of(
            message("Ynll", "text/plain", "1"),
            message("aGk=", "text/html", "1"),
            message("aGk=", "text/plain", "2"))) {
      assertThat(keyed.post(thread + "/messages", other).is(409).code()).isEqualTo("key_used");
    }
    JsonNode again = keyed.post(thread + "/messages", sent).is(202).body();
    assertThat(again.path("repeated").asBoolean()).isTrue();
    assertThat(again.path("messageId")).isEqualTo(first.path("messageId"));
  }

  @Test
  void aStopThatIsRepeatedDoesNotStopTheNextTurn() {
    String thread = alice.thread();
    for (String key : List.of("working", "resting")) {
      Desk.Client keyed = desk.alice().with("Idempotency-Key", key);
      if (key.equals("working")) {
        alice.post(thread + "/messages", "{\"content\":\"work\"}").is(202);
      }
      keyed.post(thread + "/stop", null).is(200);
      alice.post(thread + "/messages", "{\"content\":\"work\"}").is(202);

      JsonNode again = keyed.post(thread + "/stop", null).is(200).body();

      assertThat(again.path("status").asText()).as(key).isEqualTo("working");
      JsonNode other = alice.post(thread + "/stop", null).is(200).body();
      assertThat(other.path("code").asText()).as(key).isEqualTo("aborted_by_user");
    }
    assertThat(
            desk.alice()
                .with("Idempotency-Key", "k")
                .send("PATCH", thread, "{\"tags\":[]}")
                .is(400)
                .body()
                .at("/error/fields/0/field")
                .asText())
        .isEqualTo("Idempotency-Key");
  }

  private static String message(String data, String type, String order) {
    return """
        {"content":"hi","metadata":{"order":%s},
         "attachments":[{"name":"a.txt","mimeType":"%s","data":"%s"}]}"""
        .formatted(order, type, data);
  }

  private static List<Desk.Said> at(int times, Supplier<Desk.Said> call) {
    List<CompletableFuture<Desk.Said>> calls =
        IntStream.range(0, times).mapToObj(i -> CompletableFuture.supplyAsync(call)).toList();
    return calls.stream().map(CompletableFuture::join).toList();
  }

  // --- others ----------------------------------------------------------------------------------

  @Test
  void anotherPrincipalFindsNothing() {
    String thread = alice.thread();
    alice.says(thread, "take a note");
    Desk.Client bob = desk.bob();

    for (String path : List.of("", "/messages", "/events", "/files/notes/%E2%98%95%20a.txt")) {
      assertThat(bob.get(thread + path).is(404).code()).isEqualTo("unknown_thread");
    }
    assertThat(bob.post(thread + "/messages", "{\"content\":\"hi\"}").status()).isEqualTo(404);
    assertThat(bob.post(thread + "/stop", null).status()).isEqualTo(404);
    assertThat(bob.post(thread + "/continue", null).status()).isEqualTo(404);
    assertThat(bob.post(thread + "/answers", "{\"call\":\"c\",\"approved\":true}").status())
        .isEqualTo(404);
    assertThat(bob.send("PATCH", thread, "{\"tags\":[]}").status()).isEqualTo(404);
    assertThat(bob.send("DELETE", thread, null).status()).isEqualTo(404);
    assertThat(bob.get("/threads").body().toString()).doesNotContain(thread.substring(9));
    alice.get(thread).is(200);
  }

  @Test
  void threadsAreListedByTagAgentAndWords() {
    String thread =
        alice
            .post("/threads", "{\"agent\":\"desk\",\"tags\":[\"only-here\",\"x\"]}")
            .is(201)
            .header("Location");

    for (String query :
        List.of("?tag=only-here&tag=x", "?q=only-here", "?agent=desk&tag=only-here&sort=created")) {
      JsonNode body = alice.get("/threads" + query).is(200).body();
      assertThat(body.path("threads")).as(query).hasSize(1);
      assertThat(thread).endsWith(body.at("/threads/0/threadId").asText());
    }
    assertThat(alice.get("/threads?tag=only-here&tag=y").body().path("threads")).isEmpty();
    JsonNode page = alice.get("/threads?limit=1").is(200).body();
    assertThat(page.path("threads")).hasSize(1);
    alice.thread();
    assertThat(alice.get("/threads?limit=1").body().path("cursor").isTextual()).isTrue();
  }

  // --- files -----------------------------------------------------------------------------------

  @Test
  void filesOfMessagesAndToolsAreServedButNeverRun() {
    String thread = alice.thread();
    byte[] page = "<script>alert(1)</script>".getBytes(UTF_8);
    String data = Base64.getEncoder().encodeToString(page);
    JsonNode said =
        alice
            .post(
                thread + "/messages?wait=30",
                """
                {"content":"a note","attachments":
                 [{"name":"a b.html","mimeType":"text/html","data":"%s"}]}"""
                    .formatted(data))
            .is(200)
            .body();
    String path = "/files/attachments/" + said.path("messageId").asText() + "/a%20b.html";

    Desk.Said file = alice.get(thread + path).is(200);
    assertThat(file.raw().body()).isEqualTo(page);
    assertThat(file.header("Content-Type")).isEqualTo("text/html");
    assertThat(file.header("Content-Disposition"))
        .isEqualTo("attachment; filename*=UTF-8''a%20b.html");
    assertThat(file.header("Content-Security-Policy")).contains("sandbox");
    assertThat(file.header("X-Content-Type-Options")).isEqualTo("nosniff");

    assertThat(alice.get(thread + "/files/notes/%E2%98%95%20a.txt").is(200).raw().body())
        .isEqualTo("a note".getBytes(UTF_8));
    assertThat(alice.get(thread + "/files/notes/other").is(404).code()).isEqualTo("unknown_file");
  }

  // --- what is refused -------------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/threads | {} | agent",
        "/threads | {\"agent\":\"nobody\"} | agent",
        "/threads | {\"agent\":\"clerk\"} | agent",
        "/threads | {\"agent\":\"desk\",\"initial_messages\":[]} | initial_messages",
        "/threads | {\"agent\":\"desk\",\"tags\":\"vip\"} | tags",
        "/threads | {\"agent\":\"desk\",\"env\":{\"A\":1}} | env.A",
        "/threads | {\"agent\":\"desk\",\"messages\":[{\"content\":\"x\",\"role\":\"tool\"}]} | messages[0].role",
        "/threads | {\"agent\":\"desk\",\"messages\":[{\"content\":\"x\",\"id\":\"y\"}]} | messages[0].id",
        "/threads?x=1 | {\"agent\":\"desk\"} | x",
        "T/messages | {} | content",
        "T/messages | {\"content\":1} | content",
        "T/messages | {\"content\":\"x\",\"silent\":\"yes\"} | silent",
        "T/messages | {\"content\":\"x\",\"role\":\"tool\"} | role",
        "T/messages | {\"content\":\"x\",\"metadata\":[]} | metadata",
        "T/messages?wait=3600 | {\"content\":\"x\"} | wait",
        "T/messages?wait=soon | {\"content\":\"x\"} | wait",
        "T/messages | {\"content\":\"x\",\"attachments\":[{\"name\":\"../a\",\"mimeType\":\"text/plain\",\"data\":\"\"}]} | attachments[0].name",
        "T/messages | {\"content\":\"x\",\"attachments\":[{\"name\":\"a\",\"mimeType\":\"text\",\"data\":\"\"}]} | attachments[0].mimeType",
        "T/messages | {\"content\":\"x\",\"attachments\":[{\"name\":\"a\",\"mimeType\":\"text/plain\",\"data\":\"*\"}]} | attachments[0].data",
        "T/stop | {\"now\":true} | now",
        "T/continue | {\"side\":\"c\"} | side",
        "T/forks | {} | mode",
        "T/forks | {\"mode\":\"replay\"} | mode",
        "T/forks | {\"mode\":\"live\",\"entry\":\"1\"} | entry",
        "T/forks | {\"mode\":\"live\",\"entry\":1,\"before\":\"m-u1\"} | before",
        "T/forks | {\"mode\":\"live\",\"content\":\" \"} | content",
        "T/forks | {\"mode\":\"live\",\"agent\":\"nobody\"} | agent",
        "T/forks | {\"mode\":\"live\",\"agent\":\"clerk\"} | agent",
        "T/answers | {\"approved\":true} | call",
        "T/answers | {\"call\":\"x\",\"approved\":\"yes\"} | approved",
        "T/answers | {\"call\":\"x\",\"question\":1,\"approved\":true} | question"
      })
  void whatDoesNotFitIsRefusedByName(String path, String body, String field) {
    Desk.Said said = alice.post(path.replace("T/", alice.thread() + "/"), body).is(400);

    assertThat(said.code()).isEqualTo("invalid_fields");
    assertThat(said.body().at("/error/fields/0/field").asText()).isEqualTo(field);
    assertThat(said.body().at("/error/fields/0/message").asText()).isNotBlank();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{", "[]", "7", "{\"agent\":\"desk\"} {}"})
  void whatIsNoJsonObjectIsRefused(String body) {
    Desk.Said said = alice.post("/threads", body).is(400);

    assertThat(said.code()).isEqualTo("bad_request");
  }

  @ParameterizedTest
  @CsvSource({
    "/threads?limit=0",
    "/threads?limit=101",
    "/threads?limit=x",
    "/threads?sort=name",
    "/threads?status=ASKING",
    "/threads?nope=1",
    "/threads?q=a&q=b",
    "T/messages?depth=-1",
    "T/messages?silent=perhaps",
    "T/events?after=yesterday",
    "T/events?after=1.2.3.4"
  })
  void parametersThatDoNotFitAreRefused(String path) {
    assertThat(alice.get(path.replace("T/", alice.thread() + "/")).is(400).code())
        .isEqualTo("invalid_fields");
  }

  @ParameterizedTest
  @CsvSource({
    "PUT,/threads,'GET, POST'",
    "POST,/threads/x,'GET, PATCH, DELETE'",
    "DELETE,/threads/x/messages,'GET, POST'",
    "GET,/threads/x/stop,POST",
    "GET,/threads/x/answers,POST",
    "GET,/threads/x/forks,POST",
    "POST,/threads/x/events,GET",
    "POST,/threads/x/files/a,GET"
  })
  void otherMethodsAreRefusedWithTheAllowedOnes(String method, String path, String allowed) {
    Desk.Said said = alice.send(method, path, "{}").is(405);

    assertThat(said.code()).isEqualTo("method_not_allowed");
    assertThat(said.header("Allow")).isEqualTo(allowed);
  }

  @ParameterizedTest
  @CsvSource({
    "/threads/x/nothing",
    "/threads/x/messages/y",
    "/threads/x/files",
    "/threads/",
    "/threads/nobody-123",
    "/threads/%2e%2e"
  })
  void whatIsNotThereIsNotFound(String path) {
    assertThat(alice.get(path).is(404).body().at("/error/message").asText()).isNotBlank();
  }

  @Test
  void aCallerNeedsAKeyAndAnOriginThatIsAllowed() {
    Desk.Said unknown = desk.alice().without("Authorization").get("/threads").is(401);
    assertThat(unknown.code()).isEqualTo("unauthorized");
    assertThat(unknown.header("WWW-Authenticate")).isEqualTo("Bearer");

    Desk.Said lured = desk.alice().with("Origin", "https://evil.example").get("/threads").is(403);
    assertThat(lured.code()).isEqualTo("forbidden");
  }

  @Test
  void aBodyMustBeJsonAndNotTooLong() {
    assertThat(
            desk.alice().with("Content-Type", "text/plain").post("/threads", "{}").is(415).code())
        .isEqualTo("not_json");
    String thread = alice.thread();
    String tooLong = "{\"content\":\"" + "x".repeat(JsonRpcCodec.MAX_BYTES) + "\"}";
    assertThat(alice.post(thread + "/messages", tooLong).is(413).code()).isEqualTo("body_too_long");
    String tooMuch = "{\"content\":\"" + "x".repeat(300_000) + "\"}";
    assertThat(alice.post(thread + "/messages", tooMuch).is(413).code())
        .isEqualTo("message_too_long");
  }

  @Test
  void tooManyTagsAreRefused() {
    String tags = String.join("\",\"", IntStream.range(0, 40).mapToObj(i -> "t" + i).toList());

    assertThat(
            alice
                .post("/threads", "{\"agent\":\"desk\",\"tags\":[\"" + tags + "\"]}")
                .is(400)
                .code())
        .isEqualTo("invalid_tags");
  }

  @Test
  void aTagOfSeveralLinesIsRefusedAndCreatesNothing() {
    int before = alice.get("/threads").is(200).body().path("threads").size();
    for (String tag : List.of("x\\u0000", "x\\ny")) {
      assertThat(
              alice
                  .post("/threads", "{\"agent\":\"desk\",\"tags\":[\"" + tag + "\"]}")
                  .is(400)
                  .code())
          .isEqualTo("invalid_tags");
    }
    assertThat(alice.get("/threads").is(200).body().path("threads")).hasSize(before);
  }

  @Test
  void anIdThatNoThreadCanHaveIsNotLookedUp() {
    for (String id : List.of("desk.%00", "desk.a%0Ab", "desk.a%7Cb", "desk", "d%20k.a")) {
      assertThat(alice.get("/threads/" + id).is(404).code()).isEqualTo("unknown_thread");
    }
  }

  @Test
  void aThreadThatHasTooMuchToReadSaysWhenToComeAgain() {
    String thread = alice.thread();
    alice.post(thread + "/messages", "{\"content\":\"work\"}").is(202);

    Desk.Said said = alice.post(thread + "/messages", "{\"content\":\"more\"}");
    for (int i = 0; i < 100 && said.status() == 202; i++) {
      said = alice.post(thread + "/messages", "{\"content\":\"more\"}");
    }
    assertThat(said.is(429).code()).isEqualTo("busy");
    assertThat(said.header("Retry-After")).isNotEmpty();
    alice.post(thread + "/stop", null).is(200);
  }

  @Test
  void mcpIsServedBesideThreads() {
    Wired client = new Wired(desk.server()).with("Authorization", "Bearer alice-key");

    assertThat(client.request("ping", "").status()).isEqualTo(200);
  }
}
