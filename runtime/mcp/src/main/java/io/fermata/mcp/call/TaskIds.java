package io.fermata.mcp.call;

import io.fermata.session.call.TaskRun;
import io.fermata.session.key.Handles;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import org.jspecify.annotations.Nullable;

/**
 * Task ids. An id names the run and the time of its creation, and is signed for the principal: it
 * cannot be guessed, is invalid for other principals, and needs no storage. It is valid for as long
 * as the key of the store. Pure.
 */
public final class TaskIds {
  /** The server mints no ids beyond this length. */
  private static final int MAX_LENGTH = 400;

  private static final int RADIX = 36;

  /** A task as its id describes it. */
  record Task(String id, TaskRun run, long createdAt) {}

  private final Handles handles;

  public TaskIds(Handles handles) {
    this.handles = handles;
  }

  Task mint(TaskRun run, long createdAt) {
    String begin = run.tool() + ":" + run.runId() + ":" + Long.toString(createdAt, RADIX);
    return new Task(begin + ":" + signature(run.principal(), begin), run, createdAt);
  }

  /** The task of an id; null if the id was not minted for the principal. */
  @Nullable Task read(String id, String principal) {
    String[] parts = id.length() > MAX_LENGTH ? new String[0] : id.split(":", -1);
    if (parts.length != 4) {
      return null;
    }
    String begin = id.substring(0, id.lastIndexOf(':'));
    if (!MessageDigest.isEqual(bytes(parts[3]), bytes(signature(principal, begin)))) {
      return null;
    }
    TaskRun run = new TaskRun(principal, parts[0], parts[1]);
    return new Task(id, run, Long.parseLong(parts[2], RADIX));
  }

  private String signature(String principal, String begin) {
    return handles.derive("task\n" + principal.length() + "\n" + principal + "\n" + begin);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
