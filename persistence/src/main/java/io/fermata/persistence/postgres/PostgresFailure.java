package io.fermata.persistence.postgres;

import io.fermata.persistence.spi.StoreException;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import javax.net.ssl.SSLException;

/** Explains a failure of PostgreSQL and its repair. */
final class PostgresFailure {

  private PostgresFailure() {}

  static StoreException explain(PostgresAddress address, SQLException failed) {
    return new StoreException(address.shown() + " " + diagnosis(address, failed), failed);
  }

  /** The role can neither create the tables nor use them. */
  static StoreException lacksPrivileges(
      PostgresAddress address, String schema, String role, SQLException failed) {
    return new StoreException(
        address.shown()
            + " cannot be used by the role "
            + role
            + " ("
            + message(failed)
            + "); let the owner of the schema run \"GRANT USAGE, CREATE ON SCHEMA "
            + schema
            + " TO "
            + role
            + "\", or, if Fermata's tables are there and up to date, \"GRANT USAGE ON SCHEMA "
            + schema
            + " TO "
            + role
            + "; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "
            + schema
            + " TO "
            + role
            + "\"",
        failed);
  }

  private static String diagnosis(PostgresAddress address, SQLException failed) {
    String reason = message(failed);
    String state = String.valueOf(failed.getSQLState());
    return switch (state) {
      case "28P01" ->
          "refused the password ("
              + reason
              + "); set the right one in the address, PGPASSWORD or ~/.pgpass";
      case "28000" ->
          "rejects this user ("
              + reason
              + "); check the user, sslmode, and pg_hba.conf on the server";
      case "3D000" ->
          "has no such database ("
              + reason
              + "); create it with \"createdb\" or correct"
              + " its name";
      case "53300" ->
          "has no connection left ("
              + reason
              + "); raise max_connections of the server, or the CONNECTION LIMIT of the role or the"
              + " database if it names one, or "
              + fewer(address);
      case "57P03" -> "is not ready yet (" + reason + "); start again in a moment";
      case "53100" -> "has no room (" + reason + "); free space on the server's disk";
      case "25006" ->
          "accepts no writes ("
              + reason
              + "); name the primary server, or end its"
              + " read-only mode";
      case PostgresDurability.STATE -> reason;
      default -> diagnosis(address, failed, state);
    };
  }

  private static String diagnosis(PostgresAddress address, SQLException failed, String state) {
    String reason = message(failed);
    if (unproven(failed)) {
      return "has a certificate that does not verify for "
          + address.servers()
          + " ("
          + reason
          + "); name its certificate authority with sslrootcert=<file>, and use"
          + " the host name of the certificate";
    } else if (failed.getCause() instanceof SocketTimeoutException) {
      return "does not answer at "
          + address.servers()
          + " ("
          + reason
          + "); check the server's load and its log, and start again";
    } else if (state.startsWith("08")) {
      return "cannot be reached at "
          + address.servers()
          + " ("
          + reason
          + "); check that the server runs there, the network and sslmode";
    }
    return "cannot be opened (" + reason + "); check the server's log";
  }

  private static String fewer(PostgresAddress address) {
    return address.connections() == PostgresAddress.CONNECTIONS
        ? "run fewer hosts"
        : "lower connections=" + address.connections() + " in the address";
  }

  private static boolean unproven(SQLException failed) {
    return failed.getCause() instanceof SSLException
        || message(failed).contains("could not be verified");
  }

  /** The first line; the rest is the driver's diagnostics. */
  static String message(SQLException failed) {
    String message = String.valueOf(failed.getMessage()).lines().findFirst().orElse("");
    return message.endsWith(".") ? message.substring(0, message.length() - 1) : message;
  }
}
