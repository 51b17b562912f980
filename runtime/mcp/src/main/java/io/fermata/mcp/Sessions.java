package io.fermata.mcp;

import io.fermata.session.ToolHost;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/** Sessions of the legacy revisions: nothing is kept of a living one, so it survives a restart. */
final class Sessions {
  private static final int REMEMBERED = 10_000;

  private final ToolHost host;

  /** The youngest of those that a client ended. */
  private final Set<String> ended =
      Collections.synchronizedSet(
          Collections.newSetFromMap(
              new LinkedHashMap<>() {
                @Override
                protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
                  return size() > REMEMBERED;
                }
              }));

  Sessions(ToolHost host) {
    this.host = host;
  }

  String open() {
    return host.handles().mint();
  }

  void require(String session) {
    if (!host.handles().minted(session) || ended.contains(session)) {
      throw Refusal.sessionGone();
    }
  }

  void end(String session) {
    require(session);
    ended.add(session);
  }
}
