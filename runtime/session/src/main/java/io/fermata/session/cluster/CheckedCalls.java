package io.fermata.session.cluster;

import io.fermata.session.actor.Gateway;
import io.fermata.session.actor.SessionCommand;
import io.fermata.session.call.ToolProgress;
import io.fermata.session.journal.SessionReply;
import io.fermata.session.journal.ThreadReply;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * Carries calls and their replies within a host as between hosts of a cluster: what arrives was
 * written and read. What would not arrive as it was sent is reported, and then arrives as it is.
 */
public final class CheckedCalls implements Gateway.Carrier {
  private final Consumer<String> failed;

  /** The name of this host, which no other has or had. */
  private final String name = UUID.randomUUID().toString();

  public CheckedCalls(Consumer<String> failed) {
    this.failed = failed;
  }

  @Override
  public SessionCommand.Call carried(String entityId, SessionCommand.Call call) {
    RemoteCall sent = RemoteCall.of(call, "~" + name + "-" + call.id());
    RemoteCall arrived = carried("The " + call, sent, RemoteCall::written, RemoteCall::read);
    return arrived.call(call.id(), new Caller(call, sent.readsState()), false);
  }

  /** The caller of a call. */
  private final class Caller implements SessionCommand.ReplyTo {
    private final SessionCommand.Call call;
    private final boolean whole;

    /**
     * @param whole whether it reads the whole state of a thread
     */
    Caller(SessionCommand.Call call, boolean whole) {
      this.call = call;
      this.whole = whole;
    }

    @Override
    public void reply(long id, SessionReply reply) {
      SessionReply sent = reply instanceof ThreadReply thread && !whole ? thread.outline() : reply;
      call.replyTo()
          .reply(
              id,
              CheckedCalls.this.carried(
                  "The reply to the " + call, sent, RemoteCall::written, RemoteCall::readReply));
    }

    @Override
    public void progress(long id, ToolProgress progress) {
      call.replyTo()
          .progress(
              id,
              CheckedCalls.this.carried(
                  "Progress " + progress.name() + " of the " + call,
                  progress,
                  RemoteCall::written,
                  RemoteCall::readProgress));
    }

    @Override
    public void reached(long id) {
      call.replyTo().reached(id);
    }
  }

  private <T> T carried(String what, T sent, Function<T, byte[]> write, Function<byte[], T> read) {
    try {
      byte[] written = write.apply(sent);
      T arrived = read.apply(written);
      if (!isSame(arrived, sent) || !Arrays.equals(write.apply(arrived), written)) {
        failed.accept(
            "%s would not reach another host of a cluster as it is: %s is read as %s"
                .formatted(what, sent, arrived));
      }
      return arrived;
    } catch (UncheckedIOException e) {
      failed.accept(
          "%s could not reach another host of a cluster: %s".formatted(what, e.getCause()));
      return sent;
    }
  }

  /** A number that is read may be of a smaller type, which its text does not show. */
  private static boolean isSame(Object arrived, Object sent) {
    return arrived.equals(sent) || arrived.toString().equals(sent.toString());
  }
}
