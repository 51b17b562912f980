package io.fermata.session.host;

import com.fasterxml.jackson.databind.JsonNode;
import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.json.Json;
import io.fermata.flow.json.Texts;
import io.fermata.flow.observe.Observation;
import io.fermata.flow.observe.Occurrence;
import io.fermata.flow.observe.Recorder;
import io.fermata.flow.record.Because;
import io.fermata.flow.record.Narrative;
import io.fermata.flow.record.Trace;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What there is to say of the run that began last, in a few sentences. It keeps only what the
 * answer to one question needs; {@link About#WHY} needs all that was written.
 */
final class Explanation implements Recorder {
  private static final int LONGEST = 2_000;
  private static final int LONGEST_VALUE = 120;
  private static final int DEPTH = 6;
  private static final int REASONS = 20;

  /** What may be asked about a run. */
  enum About {
    PATH,
    ASKED,
    DECISIONS,
    WHY;

    String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** Lines, of which it keeps the last, as many as an explanation may have. */
  private static final class Latest {
    private final Deque<String> lines = new ArrayDeque<>();
    private int length;

    /** Adds a line, which is one whatever it quotes. */
    void add(String text) {
      String line = Texts.visible(text);
      lines.add(line);
      length += line.length() + 1;
      while (length - lines.getFirst().length() - 1 >= LONGEST) {
        length -= lines.removeFirst().length() + 1;
      }
    }

    void clear() {
      lines.clear();
      length = 0;
    }

    String or(String none) {
      return lines.isEmpty() ? none : latest(List.copyOf(lines));
    }
  }

  private final About about;
  private final Narrative narrative = Narrative.forClients(1);
  private final Trace trace;
  private final Latest asked = new Latest();
  private final Latest decided = new Latest();
  private boolean known;

  Explanation(About about, Flow<?> flow) {
    this.about = about;
    this.trace = new Trace(flow);
  }

  /** Whether a run was recorded from its start. */
  boolean known() {
    return known;
  }

  String text(@Nullable String field) {
    String text =
        switch (about) {
          case PATH -> latest(narrative.text().strip().lines().map(String::strip).toList());
          case ASKED -> asked.or("Nothing was asked yet.");
          case DECISIONS -> decided.or("Nothing was decided yet.");
          case WHY -> why(String.valueOf(field)).toString().strip();
        };
    return Texts.shortened(text, LONGEST);
  }

  /** Whether it is asked why a field has its value that the run never wrote. */
  boolean unwritten(@Nullable String field) {
    return about == About.WHY && why(String.valueOf(field)).kind() == Because.Kind.UNWRITTEN;
  }

  private Because why(String field) {
    return trace.why(field, DEPTH, REASONS);
  }

  /** The last lines, as many as fit: what was lately is asked about most. */
  private static String latest(List<String> lines) {
    int from = lines.size();
    for (int left = LONGEST - 2; from > 0 && left > lines.get(from - 1).length(); from--) {
      left -= lines.get(from - 1).length() + 1;
    }
    String text = String.join("\n", lines.subList(from, lines.size()));
    return from == 0 ? text : "…\n" + text;
  }

  // --- receiving --------------------------------------------------------------------------------

  @Override
  public void onEvent(Observation event) {
    if (event.fact() instanceof Observation.RunStart) {
      known = true;
      asked.clear();
      decided.clear();
    }
    switch (about) {
      case PATH -> narrative.onEvent(event);
      case WHY -> trace.onEvent(event);
      case ASKED, DECISIONS -> event.to(this);
    }
  }

  @Override
  public void onPause(Occurrence at, Observation.Pause event) {
    event
        .questions()
        .forEach(each -> asked.add("Asked for %s: %s".formatted(each.field(), each.question())));
    Event.Widget widget = event.widget();
    if (widget != null) {
      String field = widget.field() == null ? "" : " for " + widget.field();
      asked.add("Showed the widget %s%s.".formatted(widget.tool(), field));
    }
  }

  @Override
  public void onAnswer(Occurrence at, Observation.Answer event) {
    JsonNode kept = event.normalised() == null ? event.given() : event.normalised();
    String value = kept == null ? "nothing" : Texts.shortened(Json.text(kept), LONGEST_VALUE);
    asked.add(
        event.refusal() == null
            ? "Answered %s: %s.".formatted(event.field(), value)
            : "Refused %s for %s: %s".formatted(value, event.field(), event.refusal()));
  }

  @Override
  public void onDecision(Occurrence at, Event.Decided event) {
    String rule = event.rule() == null ? "as no rule held" : "by the rule \"" + event.rule() + "\"";
    String looks =
        event.evidence().isEmpty() ? "" : " (" + String.join("; ", event.evidence()) + ")";
    String targets =
        event.targets().isEmpty() ? "nowhere" : "to " + String.join(", ", event.targets());
    decided.add("After %s the run went %s, %s%s.".formatted(at.node(), targets, rule, looks));
  }

  @Override
  public void onSelected(Occurrence at, Event.Decided event) {
    onDecision(at, event);
  }
}
