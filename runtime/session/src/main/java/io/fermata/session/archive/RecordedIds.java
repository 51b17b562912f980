package io.fermata.session.archive;

import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Ids for a recording. All that belongs to a principal has an id that begins with a digest of its
 * name, from which a name that is known or guessed could be recognised; these are derived from what
 * was random in the id of the run or the thread. The same id becomes the same one wherever it is.
 */
final class RecordedIds {
  /** The part of an id after its owner; of a run's, by what it sorts and its random end. */
  private static final String REST = "[\\w-]*(?:\\.([0-9a-z]{2,14})([\\w-]{12})(?![\\w-]))?";

  private final Pattern ids;
  private final String random;
  private final Map<String, String> places = new HashMap<>();

  /**
   * @param place the id, which begins with that of its owner
   * @param random the part of it that nobody chose
   */
  private RecordedIds(String place, String random) {
    String owner = place.length() < SessionKey.BRIEF ? null : place.substring(0, SessionKey.BRIEF);
    this.ids = Pattern.compile(owner == null ? "(?!)" : Pattern.quote(owner) + REST);
    this.random = random;
  }

  static RecordedIds ofRun(String runId) {
    return new RecordedIds(
        SessionKey.placeOf(SessionKey.entityOf("", runId)),
        runId.substring(runId.indexOf('.') + 1));
  }

  static RecordedIds ofThread(ThreadKey key) {
    String secret = key.secret();
    return new RecordedIds(secret, secret.substring(Math.min(SessionKey.BRIEF, secret.length())));
  }

  /** The lines of an export, with other ids. */
  List<String> in(List<String> lines) {
    return Archive.accepted(
        lines.stream().map(line -> ids.matcher(line).replaceAll(this::replaced)).toList());
  }

  private String replaced(MatchResult id) {
    String end = id.group(2);
    String place = end == null ? id.group() : id.group().substring(0, id.start(1) - id.start() - 1);
    String other = places.computeIfAbsent(place, p -> derived(String.valueOf(places.size())));
    return Matcher.quoteReplacement(
        end == null ? other : other + "." + id.group(1) + derived(end).substring(0, end.length()));
  }

  private String derived(String from) {
    return SessionKey.digest(random + "\n" + from);
  }
}
