package io.fermata.session.admin;

import io.fermata.session.call.FlowCall;
import io.fermata.session.key.Handles;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A set of sessions to erase.
 *
 * @param entities the sessions of these names
 * @param places and those whose names, after the flow or the agent, begin with one of these
 */
public record SessionScope(Set<String> entities, Set<String> places) {

  public SessionScope {
    entities = Set.copyOf(entities);
    places = Set.copyOf(places);
  }

  /** Null if the name is malformed. */
  public static @Nullable SessionScope of(Erasure what, Handles handles) {
    if (what instanceof Erasure.Principal all) {
      return new SessionScope(Set.of(), Set.of(SessionKey.ownerOf(all.principal())));
    } else if (what instanceof Erasure.Session session) {
      String named = FlowCall.keyOf(session.session(), handles);
      return new SessionScope(
          Set.of(), Set.of(SessionKey.ownerOf(session.principal()) + SessionKey.brief(named)));
    } else if (what instanceof Erasure.Run run) {
      return new SessionScope(Set.of(SessionKey.entityOf(run.flow(), run.runId())), Set.of());
    }
    ThreadKey key = ThreadKey.of(((Erasure.Thread) what).threadId());
    return key == null ? null : new SessionScope(Set.of(key.entityId()), Set.of(key.family()));
  }

  /** Everything that belongs to a thread, besides itself. */
  public static SessionScope ofFamily(ThreadKey key) {
    return new SessionScope(Set.of(), Set.of(key.family()));
  }

  public boolean has(String entityId) {
    return entities.contains(entityId)
        || places.stream().anyMatch(SessionKey.placeOf(entityId)::startsWith);
  }

  /** This scope, extended by everything that belongs to the threads among some sessions. */
  public SessionScope withFamilies(Iterable<String> entityIds) {
    Set<String> all = new HashSet<>(places);
    for (String entityId : entityIds) {
      String agent = SessionKey.agentOf(entityId);
      if (agent != null) {
        String family = new ThreadKey(agent, SessionKey.placeOf(entityId)).family();
        // A principal's place has all families of its threads, of which there may be many.
        if (places.stream().noneMatch(family::startsWith)) {
          all.add(family);
        }
      }
    }
    return new SessionScope(entities, all);
  }
}
