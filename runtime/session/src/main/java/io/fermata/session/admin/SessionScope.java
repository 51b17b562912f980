package io.fermata.session.admin;

import io.fermata.session.call.Conversation;
import io.fermata.session.key.Handles;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.ThreadKey;
import java.util.HashSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The sessions that are erased together.
 *
 * @param entities by their names
 * @param places and by the beginnings of the parts of their names behind the flow or the agent
 */
public record SessionScope(Set<String> entities, Set<String> places) {

  public SessionScope {
    entities = Set.copyOf(entities);
    places = Set.copyOf(places);
  }

  /** Null if there can be nothing of that name. */
  public static @Nullable SessionScope of(Erasure what, Handles handles) {
    if (what instanceof Erasure.Principal all) {
      return new SessionScope(Set.of(), Set.of(SessionKey.ownerOf(all.principal())));
    } else if (what instanceof Erasure.Session session) {
      String named = Conversation.keyOf(session.session(), handles);
      return new SessionScope(
          Set.of(), Set.of(SessionKey.ownerOf(session.principal()) + SessionKey.brief(named)));
    } else if (what instanceof Erasure.Run run) {
      return new SessionScope(Set.of(SessionKey.entityOf(run.flow(), run.runId())), Set.of());
    }
    ThreadKey key = ThreadKey.of(((Erasure.Thread) what).threadId());
    return key == null ? null : new SessionScope(Set.of(key.entityId()), Set.of(key.family()));
  }

  /** What belongs to a thread besides itself. */
  public static SessionScope ofFamily(ThreadKey key) {
    return new SessionScope(Set.of(), Set.of(key.family()));
  }

  public boolean has(String entityId) {
    return entities.contains(entityId)
        || places.stream().anyMatch(SessionKey.placeOf(entityId)::startsWith);
  }

  /** Together with what belongs to the threads among some sessions. */
  public SessionScope withFamilies(Iterable<String> entityIds) {
    Set<String> all = new HashSet<>(places);
    for (String entityId : entityIds) {
      String agent = SessionKey.agentOf(entityId);
      if (agent != null) {
        all.add(new ThreadKey(agent, SessionKey.placeOf(entityId)).family());
      }
    }
    return new SessionScope(entities, all);
  }
}
