package io.fermata.agent.replay;

import io.fermata.agent.message.Message;
import io.fermata.agent.message.RequestedCall;
import io.fermata.agent.message.Role;
import io.fermata.agent.message.Side;
import io.fermata.agent.state.CallState;
import io.fermata.agent.state.StopCode;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.agent.state.ThreadFold;
import io.fermata.flow.json.Texts;
import io.fermata.flow.picture.SequenceDiagram;
import io.fermata.flow.picture.SequenceDiagram.Lifeline;
import io.fermata.flow.picture.SequenceDiagram.Line;
import io.fermata.flow.picture.SequenceDiagram.Remark;
import io.fermata.flow.picture.SequenceDiagram.Row;
import io.fermata.flow.picture.SequenceDiagram.Sent;
import io.fermata.flow.replay.JournalEntry;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Draws a thread: who said what to whom, which calls were made, and what people were asked. */
final class ThreadPicture {
  /** So that the whole stays below the 50,000 characters that Mermaid takes. */
  private static final int FIRST_ROWS = 10;

  private static final int LAST_ROWS = 60;
  private static final int LONGEST_TEXT = 100;
  private static final int LONGEST_LABEL = 24;
  private static final int MOST_NAMES = 3;

  private static final String USER = "user";
  private static final String PERSON = "person";
  private static final String AGENT = "agent ";
  private static final String TOOL = "tool ";

  private final ThreadJournal journal;
  private final ThreadAccount account;
  private final Map<String, Lifeline> lifelines = new LinkedHashMap<>();
  private final List<Numbered> rows = new ArrayList<>();

  /** Who asks for the calls of a frame. */
  private final Map<String, String> speakers = new HashMap<>();

  private final Map<String, Made> calls = new HashMap<>();
  private final Map<String, Message> received = new HashMap<>();
  private final Set<String> callers = new TreeSet<>();
  private String agent;
  private boolean codeOrModelIsUser;
  private JournalEntry<ThreadEvent> entry;

  /** What an entry shows. */
  private record Numbered(long seq, Row row) {}

  /** A call, by the lifelines that it goes from and to. */
  private record Made(String by, String tool) {}

  private ThreadPicture(ThreadJournal journal, ThreadAccount account) {
    this.journal = journal;
    this.account = account;
    this.agent = journal.agent();
    this.entry = JournalEntry.encrypted(0);
  }

  static SequenceDiagram of(ThreadJournal journal, ThreadAccount account) {
    ThreadPicture picture = new ThreadPicture(journal, account);
    journal.entries().forEach(picture::add);
    picture.stands(account.standing(journal));
    return picture.drawn("thread %s of %s%s");
  }

  /** The thread up to where it is decided otherwise. */
  static SequenceDiagram of(
      ThreadJournal journal, ThreadAccount account, ThreadDivergence divergence, String... notes) {
    ThreadPicture picture = new ThreadPicture(journal, account);
    for (JournalEntry<ThreadEvent> each : journal.entries()) {
      if (each.seq() < divergence.entry().seq()) {
        picture.add(each);
      }
    }
    picture.add(
        divergence.entry().with(divergence.entry().events().subList(0, divergence.index())));
    for (String note : notes) {
      picture.atSides(note, true);
    }
    return picture.drawn(
        divergence.ofRequest()
            ? "thread %s of %s asks a model otherwise%s"
            : "thread %s of %s is decided otherwise%s");
  }

  /** Says where the thread stands, unless that is what happened last. */
  private void stands(String text) {
    if (rows.isEmpty() || !rows.get(rows.size() - 1).row().text().equals(numbered(text))) {
      atSides(text, false);
    }
  }

  private SequenceDiagram drawn(String title) {
    List<Row> shown = new ArrayList<>();
    int left = rows.size() - FIRST_ROWS - LAST_ROWS;
    for (int i = 0; i < rows.size(); i++) {
      if (left > 1 && i == FIRST_ROWS) {
        long from = rows.get(i).seq();
        i += left;
        String what = "left out: %s rows of the entries %s to %s";
        String text = what.formatted(left, from, rows.get(i - 1).seq());
        shown.add(new Remark(side(Side.B), side(Side.A), text, false));
      }
      shown.add(rows.get(i).row());
    }
    List<Lifeline> all = new ArrayList<>(lifelines.values());
    all.replaceAll(one -> one.id().equals(USER) ? user() : one);
    all.sort(Comparator.comparingInt(one -> rank(one.id())));
    String cut = journal.cut() ? ", up to entry " + entry.seq() : "";
    return new SequenceDiagram(
        title.formatted(journal.threadId(), journal.agent(), cut), all, shown);
  }

  private static int rank(String id) {
    return List.of(USER, PERSON).contains(id) ? 0 : id.startsWith(AGENT) ? 1 : 2;
  }

  private Lifeline user() {
    boolean named = !callers.isEmpty() && callers.size() <= MOST_NAMES;
    String names = named ? " (" + String.join(", ", callers) + ")" : "";
    return codeOrModelIsUser
        ? new Lifeline(USER, shortened("side B" + names, LONGEST_LABEL), false)
        : new Lifeline(USER, shortened("user" + names, LONGEST_LABEL), true);
  }

  // --- who ------------------------------------------------------------------------------------

  private String lifeline(String id, String label, boolean person) {
    String shown = shortened(account.masked(label), LONGEST_LABEL);
    lifelines.putIfAbsent(id, new Lifeline(id, shown, person));
    return id;
  }

  private String side(Side side) {
    return side == Side.B ? lifeline(USER, USER, true) : lifeline(AGENT + agent, agent, false);
  }

  private String person() {
    return lifeline(PERSON, "a person", true);
  }

  private String tool(String name) {
    return lifeline(TOOL + name, name, false);
  }

  private String speaker(@Nullable String frame) {
    String known = frame == null ? null : speakers.get(frame);
    return known == null ? side(Side.A) : known;
  }

  private Made call(String key) {
    Made made = calls.get(key);
    return made == null ? new Made(side(Side.A), tool(key)) : made;
  }

  // --- what -----------------------------------------------------------------------------------

  private void row(Row row) {
    rows.add(new Numbered(entry.seq(), row));
  }

  private void sent(String from, String to, Line line, String text) {
    row(new Sent(from, to, line, numbered(text)));
  }

  private void at(String lifeline, String text, boolean stressed) {
    row(new Remark(lifeline, lifeline, numbered(text), stressed));
  }

  private void atSides(String text, boolean stressed) {
    row(new Remark(side(Side.B), side(Side.A), numbered(text), stressed));
  }

  private String numbered(String text) {
    return entry.seq() + " · " + shortened(account.masked(text), LONGEST_TEXT);
  }

  private static String shortened(String text, int longest) {
    return Texts.shortened(text.strip(), longest);
  }

  // --- from entries ---------------------------------------------------------------------------

  private void add(JournalEntry<ThreadEvent> next) {
    entry = next;
    if (next.by().equals(JournalEntry.ENCRYPTED)) {
      atSides("encrypted with a key that is not there", false);
    }
    next.events().forEach(this::add);
  }

  private void add(ThreadEvent event) {
    if (event instanceof ThreadEvent.Received e) {
      received.put(e.message().id(), e.message());
      if (entry.principal() != null) {
        callers.add(entry.principal());
      }
      said(e.message(), "");
    } else if (event instanceof ThreadEvent.Taken e) {
      Message before = received.remove(e.message().id());
      if (before == null || !Objects.equals(before.content(), e.message().content())) {
        said(e.message(), before == null ? "" : "as changed by hooks: ");
      }
    } else if (event instanceof ThreadEvent.Said e && e.message().depth() == 0) {
      said(e.message(), "");
    } else if (event instanceof ThreadEvent.HandedOver e) {
      String from = side(Side.A);
      agent = e.agent();
      sent(from, side(Side.A), Line.REQUEST, "hands over");
    } else if (event instanceof ThreadEvent.ForkedFrom e) {
      agent = e.agent() == null ? agent : e.agent();
      atSides(account.of(event), false);
    } else if (event instanceof ThreadEvent.Stopped e && !yields(e)) {
      atSides(account.of(event), StopCode.failed(e.code()));
    } else if (event instanceof ThreadEvent.HookFailed) {
      at(side(Side.A), account.of(event), true);
    } else if (event instanceof ThreadEvent.EffectEnded e) {
      at(side(Side.A), account.of(event), e.error() != null);
    } else if (event instanceof ThreadEvent.Compacted
        || event instanceof ThreadEvent.Scheduled
        || event instanceof ThreadEvent.Updated
        || event instanceof ThreadEvent.Deleted) {
      at(side(Side.A), account.of(event), false);
    } else {
      step(event);
    }
  }

  /** Whether a turn ended as turns do. */
  private static boolean yields(ThreadEvent.Stopped stopped) {
    return Set.of(StopCode.STOP_ON_RESPONSE, StopCode.STOP_TOOL, StopCode.AWAITING_HUMAN)
        .contains(stopped.code());
  }

  private void said(Message message, String how) {
    String text = how + (message.silent() ? "(silent) " : "") + text(message.content());
    if (message.role() == Role.ASSISTANT) {
      sent(side(Side.A), side(Side.B), Line.REQUEST, text);
    } else if (message.role() == Role.USER) {
      sent(side(Side.B), side(Side.A), Line.REQUEST, text);
    } else {
      atSides(account.line(message), false);
    }
  }

  private static String text(@Nullable String content) {
    return content == null ? "" : content;
  }

  private void step(ThreadEvent event) {
    if (event instanceof ThreadEvent.StepBegan e) {
      began(e.side());
      speakers.put(e.frame(), e.frame().isEmpty() ? side(e.side()) : call(e.frame()).tool());
    } else if (event instanceof ThreadEvent.TurnBegan e) {
      began(e.side());
    } else if (event instanceof ThreadEvent.FrameOpened e) {
      speakers.put(e.frame(), e.frame().isEmpty() ? side(e.side()) : call(e.frame()).tool());
    } else if (event instanceof ThreadEvent.StepEnded e) {
      String content = e.message().content();
      if (e.frame().isEmpty() && !ThreadFold.blank(content)) {
        String from = speaker(e.frame());
        sent(from, side(from.equals(USER) ? Side.A : Side.B), Line.REQUEST, text(content));
      }
      for (int i = 0; i < e.calls().size(); i++) {
        requested(e.key(i), speaker(e.frame()), e.calls().get(i), "");
      }
    } else if (event instanceof ThreadEvent.StepFailed e) {
      at(speaker(e.frame()), account.of(event), true);
    } else if (event instanceof ThreadEvent.Queued e && !calls.containsKey(e.call().id())) {
      requested(e.call().id(), speaker(e.frame()), e.call(), "(by code) ");
    } else {
      call(event);
    }
  }

  private void began(Side side) {
    codeOrModelIsUser |= side == Side.B;
  }

  private void requested(String key, String by, RequestedCall call, String how) {
    Made made = new Made(by, tool(call.name()));
    calls.put(key, made);
    sent(by, made.tool(), Line.REQUEST, how + account.arguments(call));
  }

  private void call(ThreadEvent event) {
    if (event instanceof ThreadEvent.CallFailed e) {
      Made made = call(e.call());
      String text = "attempt " + e.attempt() + " failed: " + e.reason();
      sent(made.tool(), made.by(), Line.FAILURE, text);
    } else if (event instanceof ThreadEvent.CallAsked e) {
      String what = e.approval() ? "asks to approve: " : "asks: ";
      String text = what + CallState.words(e.question());
      sent(call(e.call()).tool(), person(), Line.REQUEST, text);
    } else if (event instanceof ThreadEvent.CallAnswered e) {
      sent(person(), call(e.call()).tool(), Line.REPLY, answer(e));
    } else if (event instanceof ThreadEvent.CallWaits e && e.waitsFor() != null) {
      at(call(e.call()).tool(), "waits " + e.waitsFor(), false);
    } else if (event instanceof ThreadEvent.CallDelegated e && !e.threadId().isEmpty()) {
      at(call(e.call()).tool(), "the thread " + e.threadId() + " works for it", false);
    } else if (event instanceof ThreadEvent.CallDetached e) {
      at(call(e.call()).tool(), "the conversation continues meanwhile", false);
    } else if (event instanceof ThreadEvent.CallRemoved e) {
      at(call(e.call()).tool(), "a hook removed the call", false);
    } else if (event instanceof ThreadEvent.CallEnded e) {
      Made made = call(e.call());
      Line line = e.message().failed() ? Line.FAILURE : Line.REPLY;
      sent(made.tool(), made.by(), line, text(e.message().content()));
    }
  }

  private static String answer(ThreadEvent.CallAnswered answer) {
    Boolean approved = answer.approved();
    return (approved == null ? "answered" : approved ? "approved" : "denied")
        + (answer.by() == null ? "" : " by " + answer.by())
        + (answer.reason() == null ? "" : ": " + answer.reason());
  }
}
