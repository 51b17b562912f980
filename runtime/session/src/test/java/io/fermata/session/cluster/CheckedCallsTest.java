package io.fermata.session.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadState;
import io.fermata.flow.json.Json;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.admin.Threads;
import io.fermata.session.call.CallAction;
import io.fermata.session.call.ReplyMode;
import io.fermata.session.call.Request;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.RunReply;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import io.fermata.session.key.TraceContext;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What would not reach another host as it was sent is named, and arrives nevertheless. */
class CheckedCallsTest {
  private final List<String> failures = new ArrayList<>();
  private final List<Object> arrived = new ArrayList<>();
  private final CheckedCalls calls = new CheckedCalls(failures::add);
  private final SessionCommand.ReplyTo caller =
      new SessionCommand.ReplyTo() {
        @Override
        public void reply(long id, SessionReply reply) {
          arrived.add(reply);
        }

        @Override
        public void progress(long id, ToolProgress progress) {
          arrived.add(progress);
        }
      };

  private SessionCommand.Call carried(Request request) {
    return calls.carried(
        "trip|s",
        new SessionCommand.Call(
            7,
            Entry.Origin.caller("ann"),
            "named",
            true,
            request,
            ReplyMode.WAITS,
            new TraceContext("00-1", null, null),
            caller));
  }

  private static Request continued(ObjectNode answers) {
    return Request.OfRun.of(CallAction.CONTINUE, answers, null);
  }

  private static ObjectNode unwritable() {
    return Json.object().putPOJO("city", new Object());
  }

  @Test
  void whatCanBeSentArrivesAsItIs() {
    Request request = continued(Json.object().put("city", "Bern"));
    SessionCommand.Call call = carried(request);
    RunReply reply = new RunReply(Json.object().put("status", "complete"), Json.object());
    ToolProgress progress = new ToolProgress("search", "found", TextNode.valueOf("3"));
    call.replyTo().progress(7, progress);
    call.replyTo().reply(7, reply);
    assertThat(call.request()).isEqualTo(request).isNotSameAs(request);
    assertThat(List.of(call.id(), call.fresh(), call.trace()))
        .isEqualTo(List.of(7L, true, new TraceContext("00-1", null, null)));
    assertThat(arrived).containsExactly(progress, reply);
    assertThat(failures).isEmpty();
  }

  @Test
  void aCallThatCannotBeWrittenIsNamed() {
    Request request = continued(unwritable());
    assertThat(carried(request).request()).isSameAs(request);
    assertThat(failures)
        .singleElement()
        .asString()
        .startsWith("The call 7 to CONTINUE could not reach another host of a cluster: ");
  }

  private record Unnamed(@Nullable String name) {}

  @Test
  void aCallThatIsReadOtherwiseIsNamed() {
    carried(continued(Json.object().putPOJO("city", new Unnamed(null))));
    assertThat(failures)
        .singleElement()
        .asString()
        .startsWith("The call 7 to CONTINUE would not reach another host of a cluster as it is: ");
  }

  @Test
  void aReplyAndProgressThatCannotBeWrittenAreNamedWithTheirCall() {
    SessionCommand.Call call = carried(continued(Json.object()));
    RunReply reply = new RunReply(unwritable(), Json.object());
    call.replyTo().progress(7, new ToolProgress("search", "found", unwritable()));
    call.replyTo().reply(7, reply);
    assertThat(failures).hasSize(2);
    assertThat(failures.get(0)).startsWith("Progress found of the call 7 to CONTINUE could not ");
    assertThat(failures.get(1)).startsWith("The reply to the call 7 to CONTINUE could not ");
    assertThat(arrived).hasSize(2).last().isSameAs(reply);
  }

  @Test
  void aCallerDoesNotGetWhatOnlyTheThreadReads() {
    ThreadReply reply =
        new ThreadReply(
            ThreadState.NONE.apply(
                List.of(new ThreadEvent.ContextSet("note", TextNode.valueOf("private"))), 3),
            Threads.Status.RESTING,
            List.of(),
            3,
            true,
            null);
    carried(new Request.View(true)).replyTo().reply(7, reply);
    assertThat(arrived).containsExactly(reply.outline()).doesNotContain(reply);
    assertThat(failures).isEmpty();
  }
}
