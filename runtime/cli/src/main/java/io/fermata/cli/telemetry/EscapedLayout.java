package io.fermata.cli.telemetry;

import ch.qos.logback.classic.PatternLayout;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.IThrowableProxy;
import ch.qos.logback.classic.spi.StackTraceElementProxy;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A pattern whose lines cannot be forged: control characters in everything it prints are escaped.
 * An event is one line, and a stack trace follows it, whose texts are escaped, too.
 */
public final class EscapedLayout extends PatternLayout {
  public EscapedLayout() {
    // Without it, the pattern prints the stack trace.
    setPostCompileProcessor(null);
  }

  @Override
  public String doLayout(ILoggingEvent event) {
    StringBuilder all = new StringBuilder(escaped(super.doLayout(event))).append('\n');
    IThrowableProxy thrown = event.getThrowableProxy();
    if (thrown != null) {
      all.append(ThrowableProxyUtil.asString(new EscapedThrowable(thrown)));
    }
    return all.toString();
  }

  /** Also escapes what is no control character but changes how a line is displayed. */
  static String escaped(String text) {
    if (text.codePoints().noneMatch(EscapedLayout::changesDisplay)) {
      return text;
    }
    StringBuilder safe = new StringBuilder(text.length() + 16);
    text.codePoints()
        .forEach(
            each -> {
              if (!changesDisplay(each)) {
                safe.appendCodePoint(each);
              } else if (each == '\n') {
                safe.append("\\n");
              } else if (each == '\r') {
                safe.append("\\r");
              } else {
                safe.append("\\u%04x".formatted(each));
              }
            });
    return safe.toString();
  }

  private static boolean changesDisplay(int character) {
    return switch (Character.getType(character)) {
      case Character.CONTROL -> character != '\t';
      case Character.FORMAT,
          Character.LINE_SEPARATOR,
          Character.PARAGRAPH_SEPARATOR,
          Character.SURROGATE ->
          true;
      default -> false;
    };
  }

  private record EscapedThrowable(IThrowableProxy thrown) implements IThrowableProxy {
    private static @Nullable IThrowableProxy of(@Nullable IThrowableProxy thrown) {
      return thrown == null ? null : new EscapedThrowable(thrown);
    }

    @Override
    public @Nullable String getMessage() {
      String message = thrown.getMessage();
      return message == null ? null : escaped(message);
    }

    @Override
    public String getClassName() {
      return thrown.getClassName();
    }

    @Override
    public StackTraceElementProxy[] getStackTraceElementProxyArray() {
      return thrown.getStackTraceElementProxyArray();
    }

    @Override
    public int getCommonFrames() {
      return thrown.getCommonFrames();
    }

    @Override
    public @Nullable IThrowableProxy getCause() {
      return of(thrown.getCause());
    }

    @Override
    public IThrowableProxy[] getSuppressed() {
      return Stream.of(thrown.getSuppressed())
          .map(EscapedThrowable::new)
          .toArray(IThrowableProxy[]::new);
    }

    @Override
    public boolean isCyclic() {
      return thrown.isCyclic();
    }
  }
}
