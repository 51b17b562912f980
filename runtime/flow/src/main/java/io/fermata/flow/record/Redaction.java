package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Branch;
import io.fermata.flow.Moment;
import io.fermata.flow.Recorded;
import io.fermata.flow.Recorder;
import io.fermata.flow.RunState;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Keeps the values of some fields from a recorder, and follows them: where such a value turns up
 * elsewhere, in another field, a question, a result, an event or an error, it is replaced there,
 * too.
 *
 * <pre>{@code
 * Recorder log = Redaction.of("ssn", "customer.card", "**.password").over(new Narrative());
 * }</pre>
 *
 * <p>What is followed is the value itself: texts and numbers of at least four characters also where
 * they are part of a text, in upper or lower case; shorter ones where they are the whole value.
 * What is computed from a value, its hash or its last digits, is another value: name its field as
 * well. Truth values are only replaced in the named fields.
 *
 * <p>A value is known from the journal record on that first has it in a named field; in that record
 * it is replaced throughout. What a recorder was told before cannot be taken back.
 */
public final class Redaction {
  /** What stands where a value was. */
  public static final String MARK = "[redacted]";

  private static final int MOST_RUNS = 10_000;

  private final Fields fields;

  private Redaction(Fields fields) {
    this.fields = fields;
  }

  /**
   * Names the fields, by their paths in the state of the run: {@code customer.card}. {@code *}
   * stands for one part, as in {@code drivers.*.licence}, and {@code **} for any number of them.
   * What lies within a named field is part of it.
   */
  public static Redaction of(String... paths) {
    return new Redaction(new Fields(List.of(paths)));
  }

  /** The recorder as it may hear of runs. */
  public Recorder over(Recorder recorder) {
    return new Redacted(fields, recorder);
  }

  private record RunKey(String flow, String session, String run) {}

  private static final class Redacted implements Recorder {
    private final Fields fields;
    private final Recorder recorder;
    private final Map<RunKey, Secrets> runs = new LinkedHashMap<>();

    /** The runs of whose state nothing was missed. */
    private final Set<RunKey> followed = new HashSet<>();

    private Redacted(Fields fields, Recorder recorder) {
      this.fields = fields;
      this.recorder = recorder;
    }

    @Override
    public String id() {
      return recorder.id();
    }

    @Override
    public void onDropped(long records) {
      synchronized (this) {
        followed.clear();
      }
      recorder.onDropped(records);
    }

    /** What it passes on of a record as such is nothing: the state in it is not redacted. */
    @Override
    public void onRecord(RunState before, List<Recorded> coming) {
      learn(before, coming);
    }

    private synchronized void learn(RunState before, List<Recorded> coming) {
      Moment first = coming.get(0).moment();
      RunKey key = new RunKey(first.flow(), first.session(), before.runId());
      if (before.running() && followed.add(key)) {
        Secrets secrets = secrets(key);
        before.branches().values().forEach(branch -> learn(branch, secrets));
      }
      coming.forEach(event -> event.with(new Learning(fields, secrets(event.moment()))));
    }

    /** What was known when a run began to be watched in the middle, or after a gap. */
    private void learn(Branch branch, Secrets secrets) {
      fields.find("", branch.memory().data(), secrets::add);
      branch
          .memory()
          .answers()
          .forEach((path, answer) -> fields.find(path, answer.value(), secrets::add));
    }

    private Secrets secrets(Moment moment) {
      return secrets(new RunKey(moment.flow(), moment.session(), moment.run()));
    }

    private Secrets secrets(RunKey key) {
      Secrets known = runs.get(key);
      if (known == null) {
        known = new Secrets();
        runs.put(key, known);
        if (runs.size() > MOST_RUNS) {
          RunKey eldest = runs.keySet().iterator().next();
          runs.remove(eldest);
          followed.remove(eldest);
        }
      }
      return known;
    }

    @Override
    public void onEvent(Recorded event) {
      recorder.onEvent(masked(event));
    }

    private synchronized Recorded masked(Recorded event) {
      Secrets secrets = secrets(event.moment());
      event.with(new Learning(fields, secrets));
      return event.with(new Masking(fields, secrets));
    }
  }

  /** Changes nothing, and notes what the named fields hold. */
  private record Learning(Fields fields, Secrets secrets) implements Recorded.Rewriting {
    @Override
    public JsonNode value(String path, JsonNode value) {
      fields.find(path, value, secrets::add);
      return value;
    }

    @Override
    public JsonNode value(JsonNode value) {
      return value;
    }

    @Override
    public String text(String text) {
      return text;
    }
  }

  private record Masking(Fields fields, Secrets secrets) implements Recorded.Rewriting {
    @Override
    public JsonNode value(String path, JsonNode value) {
      return secrets.masked(fields.masked(path, value));
    }

    @Override
    public JsonNode value(JsonNode value) {
      return secrets.masked(value);
    }

    @Override
    public String text(String text) {
      return secrets.masked(text);
    }
  }
}
