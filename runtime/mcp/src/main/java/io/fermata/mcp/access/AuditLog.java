package io.fermata.mcp.access;

import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One line for each change that an operator or an instructor makes, and for each request that was
 * refused for lack of authentication or of a permission, to a logger of its own. It has names and
 * codes, and nothing of what a session contains.
 */
public final class AuditLog {
  /** The name of the logger. */
  public static final String LOGGER = "fermata.audit";

  private static final Logger LOG = LoggerFactory.getLogger(LOGGER);
  private static final String FIELDS = "operation={} principal={} session={} outcome={} host={}";

  private final Supplier<String> host;
  private final RateLimitedLog strangers;

  /**
   * @param host the name of this host
   */
  public AuditLog(Supplier<String> host, LongSupplier nanos) {
    this.host = host;
    this.strangers = new RateLimitedLog(LOG, nanos);
  }

  /**
   * A principal changed something, or tried to.
   *
   * @param session the run or the thread
   * @param outcome {@code done}, or the code of the error
   */
  public void changed(String principal, String operation, String session, String outcome) {
    LOG.info(FIELDS, fields(operation, principal, session, outcome));
  }

  /**
   * A principal lacked a permission.
   *
   * @param about the session or the tool; null for none
   * @param code the code of the error
   */
  public void refused(String principal, String operation, @Nullable String about, String code) {
    LOG.warn(FIELDS, fields(operation, principal, about, code));
  }

  /** Somebody was not admitted; anybody can cause such lines, so their rate is limited. */
  public void notAdmitted(@Nullable String principal, String address, String code) {
    Object[] fields = fields("authenticate", principal, null, code);
    strangers.warn(
        FIELDS + " address={}",
        fields[0],
        fields[1],
        fields[2],
        fields[3],
        fields[4],
        LogFields.quoted(address));
  }

  private Object[] fields(
      String operation, @Nullable String principal, @Nullable String session, String outcome) {
    return new Object[] {
      LogFields.quoted(operation),
      LogFields.quoted(principal),
      LogFields.quoted(session),
      LogFields.quoted(outcome),
      LogFields.quoted(host.get())
    };
  }
}
