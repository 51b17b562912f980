package io.fermata.flow.record;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.fermata.flow.Flow;
import io.fermata.flow.SecretFields;
import io.fermata.flow.Secrets;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Fact;
import io.fermata.flow.event.RunState;
import io.fermata.flow.event.Write;
import io.fermata.flow.json.Json;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.ObservedEntry;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
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

  private final Function<String, SecretFields> fields;

  private Redaction(Function<String, SecretFields> fields) {
    this.fields = fields;
  }

  /**
   * Names the fields, by their paths in the state of the run: {@code customer.card}. {@code *}
   * stands for one part, as in {@code drivers.*.licence}, and {@code **} for any number of them.
   * What lies within a named field is part of it.
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

  /** A recorder that passes on what this one may receive. */
  public Recorder over(Recorder recorder) {
    return new Redacted(fields, recorder);
  }

  private record RunKey(String flow, String session, String run) {}

  private static final class Redacted implements Recorder {
    private final Function<String, SecretFields> fields;
    private final Recorder recorder;
    private final Map<RunKey, Secrets> runs = new LinkedHashMap<>();

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
      if (state.running() && followed.add(key)) {
        // What was known when a run began to be watched in the middle, or after a gap.
        secrets(key).learn(own, state);
      }
      for (Event event : entry.events()) {
        if (event instanceof Event.Started started) {
          key = new RunKey(first.flow(), first.session(), started.runId());
        } else if (event instanceof Event.Migrated) {
          // What a field held comes under its new name.
          secrets(key).learn(own, state.apply(entry.events()));
        }
        secrets(key).learn(own, event);
      }
    }

    private Secrets secrets(Occurrence moment) {
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
    public void onEvent(Observation event) {
      SecretFields own = fields.apply(event.moment().flow());
      recorder.onEvent(own.isEmpty() ? event : masked(own, event));
    }

    private synchronized Observation masked(SecretFields own, Observation event) {
      Occurrence moment = event.moment();
      Masking masking = new Masking(own, secrets(moment), moment);
      return new Observation(moment, masking.of(event.fact()));
    }
  }

  /**
   * Masks a fact as the tree that a journal has of it: all texts in it but the names that a flow
   * gives, so that a text that an event learns to hold is masked as well.
   */
  private record Masking(SecretFields fields, Secrets secrets, Occurrence moment) {
    /** What holds names, of nodes, fields and the like, or words of the journal. */
    private static final Set<String> NAMES =
        names(
            "e place from to undo done acknowledged recipients branch checkpoint label merged dropped",
            "targets nodes fields places scope kept end field path reads what op tool signal",
            "schema fingerprint code resume status source verb cause progression recorder");

    /** What holds values by the paths of their fields. */
    private static final Set<String> BY_PATH = names("sets input corrected");

    /** What holds the value of the field that is named beside it. */
    private static final Set<String> OF_FIELD = names("value payload given normalised is");

    /** What holds a value that is of no field. */
    private static final Set<String> VALUES = names("item data result");

    private static Set<String> names(String... lines) {
      return Set.of(String.join(" ", lines).split(" "));
    }

    Fact of(Fact fact) {
      JsonNode tree = Json.MAPPER.valueToTree(fact);
      JsonNode masked = masked(tree);
      return masked.equals(tree) ? fact : Json.value(masked, fact.getClass());
    }

    private JsonNode masked(JsonNode tree) {
      return tree.isTextual()
          ? TextNode.valueOf(secrets.masked(tree.textValue()))
          : SecretFields.mapped(
              tree, (name, part) -> tree.isArray() ? masked(part) : masked(tree, name, part));
    }

    private JsonNode masked(JsonNode whole, String name, JsonNode part) {
      if (NAMES.contains(name)) {
        return part;
      } else if (BY_PATH.contains(name)) {
        return SecretFields.mapped(part, this::value);
      } else if (OF_FIELD.contains(name)) {
        return value(path(whole), part);
      } else if (name.equals("than")) {
        String other = Json.value(whole, Event.Seen.class).otherField();
        return value(other == null ? null : moment.field(other), part);
      }
      return VALUES.contains(name) ? value(null, part) : masked(part);
    }

    private JsonNode value(@Nullable String path, JsonNode value) {
      return secrets.masked(path == null ? value : fields.masked(path, value));
    }

    /** The path of the field that an object names, if it does. */
    private @Nullable String path(JsonNode object) {
      if (object.has("what")) {
        return moment.field(object.path("what").asText());
      }
      JsonNode path = object.has("path") ? object.get("path") : object.get("field");
      boolean element = object.path("verb").asText().equals(Write.Verb.APPEND.name());
      return path == null ? null : path.asText() + (element ? ".0" : "");
    }
  }
}
