package io.fermata.session.archive;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.fermata.agent.Agent;
import io.fermata.agent.replay.ThreadJournal;
import io.fermata.agent.replay.ThreadReplayer;
import io.fermata.agent.state.RequestDigest;
import io.fermata.agent.state.ThreadEvent;
import io.fermata.flow.Flow;
import io.fermata.flow.json.Json;
import io.fermata.session.journal.Lossless;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What models are asked in an export whose texts are not those of the thread. The digests of what
 * they were asked would not fit them, and would give away what was replaced to those who guess, so
 * all are made again by the present agents, or left out where that cannot be done.
 */
public final class RecordedRequests {
  private RecordedRequests() {}

  /** The lines of an export of a thread in clear. */
  public static List<String> in(
      List<String> lines, Collection<Agent> agents, Collection<Flow<?>> flows) {
    ThreadJournal journal = Recordings.read(lines).thread().whole();
    ThreadReplayer replayer = new ThreadReplayer(agents, flows, journal.earlier());
    Map<String, RequestDigest> requests = new HashMap<>();
    journal.entries().stream()
        .flatMap(entry -> replayer.decide(entry).events().stream())
        .forEach(event -> note(event, requests));
    List<String> asking = new ArrayList<>();
    for (String line : lines) {
      asking.add(asking(line, requests));
    }
    return Archive.accepted(asking);
  }

  private static void note(ThreadEvent event, Map<String, RequestDigest> requests) {
    if (event instanceof ThreadEvent.StepEnded ended && ended.log().asked() != null) {
      requests.put(ended.log().id(), ended.log().asked());
    }
  }

  private static String asking(String line, Map<String, RequestDigest> requests) {
    JsonNode tree = Archive.parsed(line, 1);
    boolean steps = false;
    for (JsonNode event : tree.path("record").path("events")) {
      if (event.path("log") instanceof ObjectNode log) {
        RequestDigest request = requests.get(log.path("id").asText());
        log.remove("asked");
        if (request != null) {
          log.set("asked", Json.tree(request));
        }
        steps = true;
      }
    }
    return steps ? Lossless.text(tree) : line;
  }
}
