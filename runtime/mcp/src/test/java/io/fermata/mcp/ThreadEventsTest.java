package io.fermata.mcp;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.mcp.catalog.Desk;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The event stream of a thread, live and after a client was disconnected. */
@Timeout(120)
@Tag("slow")
class ThreadEventsTest {
  private @TempDir Path folder;
  private Desk desk;
  private Desk.Client alice;

  @BeforeEach
  void start() {
    desk = new Desk(folder.resolve("desk.db"), server -> server.maxStreams(2));
    alice = desk.alice();
  }

  @AfterEach
  void stop() {
    desk.close();
  }

  private static List<String> types(List<Desk.StreamEvent> events) {
    return events.stream().map(Desk.StreamEvent::type).toList();
  }

  private static List<String> ids(List<Desk.StreamEvent> events) {
    return events.stream().map(Desk.StreamEvent::id).toList();
  }

  private List<Desk.StreamEvent> story(String thread) {
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      return listening.upTo("stopped");
    }
  }

  @Test
  void aTurnIsStreamedAsItHappens() {
    String thread = alice.thread();
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      alice.says(thread, "hello");

      List<Desk.StreamEvent> events = listening.upTo("stopped");
      assertThat(types(events))
          .containsSubsequence(
              "thread.created",
              "message.received",
              "message.created",
              "step.began",
              "message.created",
              "step.ended",
              "stopped");
      Desk.StreamEvent step =
          events.stream().filter(it -> it.type().equals("step.ended")).findFirst().orElseThrow();
      assertThat(step.data().path("model").asText()).isEqualTo("scripted");
      assertThat(step.data().at("/usage/outputTokens").asLong()).isPositive();
      assertThat(step.data().at("/usage").has("cost")).isTrue();
      assertThat(ids(events)).doesNotHaveDuplicates();
    }
  }

  @Test
  void aTurnIsStreamedByAServerWithoutAnIdleTimeout() {
    desk.close();
    desk = new Desk(folder.resolve("desk.db"), server -> server.idleTimeout(Duration.ZERO));
    alice = desk.alice();
    String thread = alice.thread();
    alice.says(thread, "hello");

    assertThat(types(story(thread))).startsWith("thread.created").endsWith("stopped");
  }

  @Test
  void aModelsTextIsStreamedWhileItIsWritten() {
    String thread = alice.thread();
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      // Text is streamed to a client that has received all events before it.
      assertThat(listening.next()).isNotNull();
      alice.says(thread, "hello");

      StringBuilder said = new StringBuilder();
      String messageId = "";
      Desk.StreamEvent next = listening.next();
      while (next != null && !next.type().equals("stopped")) {
        if (next.type().equals("delta")) {
          assertThat(next.id()).isEmpty();
          assertThat(next.data().path("kind").asText()).isEqualTo("text");
          said.append(next.data().path("text").asText());
          messageId = next.data().path("messageId").asText();
        } else if (next.type().equals("message.created")
            && next.data().at("/message/role").asText().equals("assistant")) {
          assertThat(next.data().at("/message/id").asText()).isEqualTo(messageId);
        }
        next = listening.next();
      }
      assertThat(said.toString()).isEqualTo("How can I help?");
    }
  }

  @Test
  void whatAnApiAcceptsAsAnAnswerCanBeStreamedToWhoeverFollowsTheThread() {
    for (String number :
        List.of("1e999", "1e1000", "-1e999", "1e-999", "1e-1000", "1.5e-999", "1e999999999")) {
      String thread = alice.thread();
      JsonNode asked = alice.says(thread, "my expenses, please").at("/thread/questions/0");
      String answer =
          """
          {"call":"%s","question":"%s","answers":{"approved":true,"n":%s}}\
          """
              .formatted(asked.path("call").asText(), asked.path("id").asText(), number);

      boolean accepted = alice.post(thread + "/answers", answer).status() == 200;

      if (accepted) {
        try (Desk.Listening listening = alice.listen(thread + "/events")) {
          JsonNode given = event(listening, "call.answered").data();
          assertThat(given.at("/answers/n").isNumber()).as(number).isTrue();
        }
      }
      assertThat(accepted).as(number).isEqualTo(number.endsWith("e999") || number.equals("1e-999"));
    }
  }

  private static Desk.StreamEvent event(Desk.Listening listening, String type) {
    List<Desk.StreamEvent> events = listening.upTo(type);
    return events.get(events.size() - 1);
  }

  @Test
  void aClientThatDisconnectsAnywhereReceivesExactlyTheRest() {
    String thread = alice.thread();
    alice.says(thread, "take a note");
    List<Desk.StreamEvent> all = story(thread);

    for (int i = 0; i < all.size() - 1; i++) {
      Desk.Client back = desk.alice().with("Last-Event-ID", all.get(i).id());
      try (Desk.Listening listening = back.listen(thread + "/events?after=now")) {
        assertThat(listening.upTo("stopped")).isEqualTo(all.subList(i + 1, all.size()));
      }
    }
  }

  @Test
  void aClientThatWasAwayMissesNothingEvenOverARestart() {
    String thread = alice.thread();
    List<Desk.StreamEvent> events = new ArrayList<>();
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      alice.says(thread, "hello");
      for (int i = 0; i < 4; i++) {
        events.add(nextOfJournal(listening));
      }
    }
    alice.says(thread, "take a note");
    desk.restart();
    alice = desk.alice();
    alice.says(thread, "hello again");

    String last = events.get(events.size() - 1).id();
    try (Desk.Listening listening =
        desk.alice().with("Last-Event-ID", last).listen(thread + "/events")) {
      for (int turns = 0; turns < 3; turns++) {
        events.addAll(listening.upTo("stopped"));
      }
    }
    List<Desk.StreamEvent> whole = new ArrayList<>();
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      for (int turns = 0; turns < 3; turns++) {
        whole.addAll(listening.upTo("stopped"));
      }
    }
    assertThat(events).isEqualTo(whole);
    assertThat(messages(whole)).isEqualTo(listed(thread));
  }

  private static Desk.StreamEvent nextOfJournal(Desk.Listening listening) {
    Desk.StreamEvent next = Objects.requireNonNull(listening.next());
    while (next.id().isEmpty()) {
      next = Objects.requireNonNull(listening.next());
    }
    return next;
  }

  private static List<String> messages(List<Desk.StreamEvent> events) {
    return events.stream()
        .filter(it -> it.type().equals("message.created"))
        .map(it -> it.data().at("/message/id").asText())
        .toList();
  }

  private List<String> listed(String thread) {
    List<String> ids = new ArrayList<>();
    alice
        .get(thread + "/messages?limit=100&silent=true")
        .body()
        .path("messages")
        .forEach(message -> ids.add(message.path("id").asText()));
    return ids;
  }

  @Test
  void theOffsetOfAViewIsAPlaceToBegin() {
    String thread = alice.thread();
    JsonNode view = alice.says(thread, "hello").path("thread");
    alice.says(thread, "take a note");

    String after = view.path("offset").asText();
    try (Desk.Listening listening = alice.listen(thread + "/events?after=" + after)) {
      List<Desk.StreamEvent> events = listening.upTo("stopped");
      assertThat(events.get(0).type()).isEqualTo("message.received");
      assertThat(events.get(0).data().at("/message/content").asText()).isEqualTo("take a note");
    }
  }

  @Test
  void aClientThatReadsLateReceivesEverythingFromTheJournal() {
    String thread = alice.thread();
    alice.says(thread, "hello");
    try (Desk.Listening slow = alice.listen(thread + "/events")) {
      slow.upTo("stopped");
      String much = "x".repeat(200_000);
      for (int i = 0; i < 30; i++) {
        alice.says(thread, i + " " + much);
      }
      for (int i = 0; i < 30; i++) {
        List<Desk.StreamEvent> turn = slow.upTo("stopped");
        assertThat(turn.get(0).data().at("/message/content").asText()).startsWith(i + " ");
      }
    }
  }

  @Test
  void whatIsKeptInsideIsNotShown() {
    String thread =
        alice
            .post("/threads", "{\"agent\":\"desk\",\"env\":{\"TOKEN\":\"in env\"}}")
            .header("Location");
    alice.says(thread, "take a note");

    List<Desk.StreamEvent> all = story(thread);
    String everything =
        all.stream()
            .map(Desk.StreamEvent::data)
            .map(JsonNode::toString)
            .collect(Collectors.joining());
    assertThat(everything).doesNotContain("in storage", "in env", "TOKEN", "secret");
    assertThat(types(all)).contains("file.written", "custom", "call.began", "call.ended");
    assertThat(all)
        .filteredOn(it -> it.type().equals("file.written"))
        .allSatisfy(it -> assertThat(it.data().path("size").asInt()).isEqualTo(6))
        .noneMatch(it -> it.data().has("data"));
    assertThat(all)
        .filteredOn(it -> it.type().equals("custom"))
        .allMatch(it -> it.data().at("/data/n").asInt() == 1);
  }

  @Test
  void theStreamOfAThreadThatIsDeletedSaysSoAndEnds() {
    String thread = alice.thread();
    try (Desk.Listening listening = alice.listen(thread + "/events")) {
      // Events that no client has received by then are deleted with the rest.
      assertThat(types(listening.upTo("thread.created"))).startsWith("thread.created");
      alice.send("DELETE", thread, null).is(204);

      assertThat(types(listening.upTo("thread.deleted"))).endsWith("thread.deleted");
      assertThat(listening.next()).isNull();
    }
    assertThat(alice.get(thread).is(404).code()).isEqualTo("unknown_thread");
  }

  @Test
  void aServerThatClosesEndsItsStreams() {
    String thread = alice.thread();
    try (Desk.Listening listening = alice.listen(thread + "/events?after=now")) {
      desk.restart();

      Desk.StreamEvent last = Objects.requireNonNull(listening.next());
      assertThat(last.type()).isEqualTo("closed");
      assertThat(last.data().path("code").asText()).isEqualTo("shutting_down");
      assertThat(listening.next()).isNull();
    }
  }

  @Test
  void onePrincipalHasSoManyStreamsAndGetsThemBack() {
    String thread = alice.thread();
    String events = thread + "/events";
    List<Desk.Listening> open = List.of(alice.listen(events), alice.listen(events));
    Desk.Said refused = alice.get(events).is(429);
    assertThat(refused.code()).isEqualTo("too_many_streams");
    assertThat(refused.header("Retry-After")).isNotEmpty();
    String other = desk.bob().thread();
    desk.bob().listen(other + "/events").close();

    open.get(0).close();
    int status = 429;
    while (status == 429) {
      try (Desk.Listening third = alice.tryToListen(events)) {
        status = third.status();
      }
    }
    assertThat(status).isEqualTo(200);
    open.get(1).close();
  }
}
