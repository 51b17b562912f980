package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.RunState;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

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
 * it is replaced throughout. What a recorder got before cannot be taken back.
 */
public final class Redaction {
  /** What stands where a value was. */
  public static final String MARK = Secrets.MARK;

  private static final int MOST_RUNS = 10_000;

  /** How many characters are looked for in all runs together. */
  private static final long MOST_CHARACTERS = 2 << 20;

  private final Function<String, SecretFields> fields;

  private Redaction(Function<String, SecretFields> fields) {
    this.fields = fields;
  }

  /**
   * Names the fields, by their paths in the state of the run: {@code customer.card}. {@code *}
   * stands for one part, as in {@code drivers.*.licence}, and {@code **} for any number of them.
   * What lies within a named field is part of it. A key of a map is one part, also with dots in it.
   */
  public static Redaction of(String... paths) {
    if (paths.length == 0 || Arrays.stream(paths).anyMatch(String::isBlank)) {
      throw new IllegalArgumentException("Name the fields to redact: \"customer.card\"");
    }
    SecretFields fields = SecretFields.of(paths);
    return new Redaction(flow -> fields);
  }

  /**
   * Names the fields that flows mark as {@link io.fermata.flow.schema.Secret}, those of each in its
   * own runs. What a flow without such fields does is passed as it is.
   */
  public static Redaction ofSecrets(Iterable<? extends Flow<?>> flows) {
    Map<String, SecretFields> fields = new LinkedHashMap<>();
    flows.forEach(flow -> fields.merge(flow.id(), flow.secretFields(), SecretFields::and));
    return new Redaction(flow -> fields.getOrDefault(flow, SecretFields.NONE));
  }

  /**
   * An event of a journal with a mark in place of the named fields and of the values that are
   * known.
   */
  public static Event masked(Event event, SecretFields fields, Secrets known) {
    return FactValues.replaced(event, new Masking(fields, known));
  }

  /** A recorder that passes on what this one may receive. */
  public Recorder over(Recorder recorder) {
    return new Redacted(fields, recorder);
  }

  private record RunKey(String flow, String session, String run) {}

  private static final class Redacted implements Recorder {
    private final Function<String, SecretFields> fields;
    private final Recorder recorder;

    /** The one that was used last comes last. */
    private final Map<RunKey, Secrets> runs = new LinkedHashMap<>(16, 0.75f, true);

    private long characters;

    /** The runs of whose state nothing was missed. */
    private final Set<RunKey> followed = new HashSet<>();

    private Redacted(Function<String, SecretFields> fields, Recorder recorder) {
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

    /** What it passes on of an entry as such is nothing: it is not redacted. */
    @Override
    public void onEntry(ObservedEntry entry) {
      Occurrence first = entry.observations().get(0).moment();
      SecretFields own = fields.apply(first.flow());
      if (own.isEmpty()) {
        recorder.onEntry(entry);
      } else {
        learn(own, first, entry);
      }
    }

    private synchronized void learn(SecretFields own, Occurrence first, ObservedEntry entry) {
      RunState state = entry.before();
      RunKey key = new RunKey(first.flow(), first.session(), state.runId());
      forgetEldest(key);
      if (state.running() && followed.add(key)) {
        // What was known when a run began to be watched in the middle, or after a gap.
        change(key, known -> known.learn(own, state));
      }
      for (Event event : entry.events()) {
        if (event instanceof Event.Started started) {
          key = new RunKey(first.flow(), first.session(), started.runId());
        } else if (event instanceof Event.Migrated) {
          // What a field held comes under its new name.
          change(key, known -> known.learn(own, state.apply(entry.events())));
        }
        change(key, known -> known.learn(own, event));
      }
    }

    /** What the run holds is learned again. */
    private void forgetEldest(RunKey run) {
      if (runs.containsKey(run)) {
        change(
            run,
            known -> {
              if (known.forgetEldest()) {
                followed.remove(run);
              }
            });
      }
    }

    private void change(RunKey key, Consumer<Secrets> change) {
      Secrets known = runs.computeIfAbsent(key, run -> new Secrets());
      characters -= known.size();
      change.accept(known);
      characters += known.size();
      while (runs.size() > MOST_RUNS || (characters > MOST_CHARACTERS && runs.size() > 1)) {
        forget(runs.keySet().iterator().next());
      }
    }

    private void forget(RunKey run) {
      Secrets known = runs.remove(run);
      characters -= known == null ? 0 : known.size();
      followed.remove(run);
    }

    @Override
    public void onEvent(Observation event) {
      SecretFields own = fields.apply(event.moment().flow());
      recorder.onEvent(own.isEmpty() ? event : masked(own, event));
    }

    private synchronized Observation masked(SecretFields own, Observation event) {
      Occurrence moment = event.moment();
      Secrets known = runs.get(new RunKey(moment.flow(), moment.session(), moment.run()));
      Masking masking = new Masking(own, known == null ? new Secrets() : known);
      return new Observation(moment, new FactValues(masking, moment::field).in(event.fact()));
    }
  }

  /** A mark in place of what must not be seen. */
  private record Masking(SecretFields fields, Secrets secrets) implements FactValues.Replacement {
    @Override
    public String text(String text) {
      return secrets.masked(text);
    }

    @Override
    public JsonNode value(@Nullable String path, JsonNode value) {
      return secrets.masked(path == null ? value : fields.masked(path, value));
    }
  }
}
