package io.fermata.agent.replay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fermata.agent.Agent;
import io.fermata.agent.Conversation;
import io.fermata.agent.Hook;
import io.fermata.agent.Prompt;
import io.fermata.agent.Scripted;
import io.fermata.agent.state.EarlierEntries;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.replay.JournalEntry;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** A journal is decided again as it passes. */
class ThreadReplayerTest {
  private static final int TURNS = 100;
  private static final String NOTE = "note.txt";

  private final Conversation talk = Conversation.with(desk(replies()));
  private final List<Long> asked = new ArrayList<>();

  ThreadReplayerTest() {
    for (int turn = 1; turn <= TURNS; turn++) {
      talk.say("Turn " + turn);
    }
  }

  private static Scripted replies() {
    Scripted model = new Scripted();
    for (int turn = 1; turn <= TURNS; turn++) {
      model.say("Reply " + turn);
    }
    return model;
  }

  /** Writes a note in its first message, and reads it in all others. */
  private static Agent desk(Scripted model) {
    Hook note =
        Hook.afterCreateMessage(
            "note",
            (flow, message) -> {
              if (flow.files().exists(NOTE)) {
                flow.setStatus(flow.files().readText(NOTE));
              } else {
                flow.files().write(NOTE, "first: " + message.content());
              }
            });
    return Agent.aiHuman("desk", Prompt.of("talk", model.model()).text("Talk.")).hooks(note);
  }

  /** An entry as it is read from a store: nobody else has it. */
  private JournalEntry<ThreadEvent> read(long seq) {
    int at = (int) seq;
    List<ThreadEvent> events = new ArrayList<>(talk.record(at));
    return new JournalEntry<>(seq, talk.cause(at).at(), "caller", "ann", events);
  }

  private ThreadReplayer replayer(EarlierEntries earlier) {
    return new ThreadReplayer(List.of(desk(new Scripted())), List.of(), earlier);
  }

  private final EarlierEntries stored =
      new EarlierEntries() {
        @Override
        public List<ThreadEvent> entry(long seq) {
          asked.add(seq);
          return read(seq).events();
        }

        @Override
        public List<List<ThreadEvent>> before(long seq, int max) {
          return LongStream.iterate(seq - 1, n -> n > 0, n -> n - 1)
              .limit(max)
              .mapToObj(n -> read(n).events())
              .toList();
        }
      };

  @Test
  void anEntryThatHasPassedIsReadAgainAndNotKept() {
    ThreadReplayer replayer = replayer(stored);
    WeakReference<List<ThreadEvent>> early = decide(replayer, 1);
    for (long seq = 2; seq <= talk.records(); seq++) {
      decide(replayer, seq);
    }

    assertThat(replayer.divergences()).isEmpty();
    assertThat(replayer.decided()).isEqualTo(talk.records());
    assertThat(asked).hasSizeGreaterThan(TURNS);
    assertThat(Set.copyOf(asked)).as("the entry of the note").hasSize(1);
    for (int tries = 0; tries < 100 && early.get() != null; tries++) {
      System.gc();
    }
    assertThat(early.get()).as("the first entry").isNull();
  }

  private WeakReference<List<ThreadEvent>> decide(ThreadReplayer replayer, long seq) {
    JournalEntry<ThreadEvent> entry = read(seq);
    replayer.decide(entry);
    return new WeakReference<>(entry.events());
  }

  @Test
  void anEntryThatCannotBeReadIsNoDivergence() {
    ThreadReplayer replayer =
        replayer(
            new EarlierEntries() {
              @Override
              public List<ThreadEvent> entry(long seq) {
                throw new IllegalStateException("No store today");
              }

              @Override
              public List<List<ThreadEvent>> before(long seq, int max) {
                throw new IllegalStateException("No store today");
              }
            });

    assertThatThrownBy(
            () ->
                LongStream.rangeClosed(1, talk.records())
                    .forEach(seq -> replayer.decide(read(seq))))
        .hasMessage("No store today");
    assertThat(replayer.divergences()).isEmpty();
  }
}
