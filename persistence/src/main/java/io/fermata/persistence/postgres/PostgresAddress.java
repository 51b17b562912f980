package io.fermata.persistence.postgres;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.fermata.persistence.spi.Passwords;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/**
 * The address and credentials of a PostgreSQL database.
 *
 * @param url for the driver, without user and password
 * @param user null for the driver's default
 * @param connections how many connections write journals
 * @param unsafe the settings of the server that may lose acknowledged writes and are accepted
 * @param shown the store in one line, without a password
 */
public record PostgresAddress(
    String url,
    @Nullable String user,
    @Nullable String password,
    int connections,
    Set<String> unsafe,
    String shown) {

  /** More connections make smaller batches, each with its own round trip and sync. */
  static final int CONNECTIONS = 1;

  private static final int MOST_CONNECTIONS = 64;

  /** Parameters that are not the driver's. */
  private static final Set<String> OWN = Set.of("connections", "unsafe");

  private static final Pattern SCHEME = Pattern.compile("(jdbc:)?postgres(ql)?:");

  /** An "@" that ends no user: a password that contains separators would be cut before it. */
  private static final Pattern BEHIND_HOST = Pattern.compile("//[^/?]*[/?][^@]*@");

  private static final Pattern NO_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})");

  public static boolean matches(String text) {
    return SCHEME.matcher(text).lookingAt();
  }

  /**
   * Parses an address.
   *
   * @throws IllegalArgumentException if the driver cannot read it
   */
  public static PostgresAddress parse(String text, Map<String, String> environment) {
    Parts parts = Parts.of(text);
    String user = parts.taken("user", parts.user);
    String password = parts.taken("password", parts.password);
    int connections = connections(text, parts.taken("connections", null));
    Set<String> unsafe = unsafe(text, parts.taken("unsafe", null));
    String url = "jdbc:postgresql:" + parts.place + parts.query();
    Properties read = Driver.parseURL(url, null);
    if (read == null) {
      throw refused(text, "the driver cannot read it");
    }
    return new PostgresAddress(
        url,
        user == null ? environment.get("PGUSER") : user,
        password == null ? environment.get("PGPASSWORD") : password,
        connections,
        unsafe,
        parts.shown(user));
  }

  private static Set<String> unsafe(String text, @Nullable String names) {
    if (names == null) {
      return Set.of();
    }
    Set<String> unsafe = new TreeSet<>(List.of(names.split(",", -1)));
    for (String name : unsafe) {
      if (!PostgresDurability.names().contains(name)) {
        throw refused(
            text,
            "unsafe names "
                + name
                + ", which is none of "
                + String.join(", ", PostgresDurability.names()));
      }
    }
    return Collections.unmodifiableSet(unsafe);
  }

  private static int connections(String text, @Nullable String number) {
    if (number == null) {
      return CONNECTIONS;
    }
    if (!number.matches("[0-9]{1,2}")
        || Integer.parseInt(number) < 1
        || Integer.parseInt(number) > MOST_CONNECTIONS) {
      throw refused(text, "connections is not a number from 1 to " + MOST_CONNECTIONS);
    }
    return Integer.parseInt(number);
  }

  public PostgresAddress as(String otherUser, String otherPassword) {
    Parts parts = Parts.of(shown);
    return new PostgresAddress(
        url, otherUser, otherPassword, connections, unsafe, parts.shown(otherUser));
  }

  private static IllegalArgumentException refused(String text, String reason) {
    return new IllegalArgumentException(
        "The address \""
            + Passwords.mask(text)
            + "\" cannot be used, "
            + reason
            + "; write it like postgres://user@host:5432/database?sslmode=verify-full");
  }

  /** The servers of the address, for messages. */
  String servers() {
    Properties read = properties();
    String[] hosts = Objects.toString(PGProperty.PG_HOST.getOrDefault(read), "").split(",", -1);
    String[] ports = Objects.toString(PGProperty.PG_PORT.getOrDefault(read), "").split(",", -1);
    List<String> servers = new ArrayList<>();
    for (int server = 0; server < hosts.length; server++) {
      servers.add(hosts[server] + ":" + ports[Math.min(server, ports.length - 1)]);
    }
    return String.join(",", servers);
  }

  boolean sets(PGProperty property) {
    return url.contains("?" + property.getName() + "=")
        || url.contains("&" + property.getName() + "=");
  }

  /** The schema that the address names, null to leave it to the server. */
  @Nullable String schema() {
    return PGProperty.CURRENT_SCHEMA.getOrNull(properties());
  }

  private Properties properties() {
    return Objects.requireNonNull(Driver.parseURL(url, null), url);
  }

  /** A parsed address: host and database, parameters, and the user before an "@". */
  private static final class Parts {

    private final String place;
    private final @Nullable String user;
    private final @Nullable String password;
    private final List<String> parameters;

    private Parts(
        String place, @Nullable String user, @Nullable String password, List<String> parameters) {
      this.place = place;
      this.user = user;
      this.password = password;
      this.parameters = parameters;
    }

    static Parts of(String text) {
      Matcher scheme = SCHEME.matcher(text);
      if (!scheme.lookingAt()) {
        throw refused(text, "it does not begin with \"postgres:\"");
      }
      String rest = text.substring(scheme.end());
      if (BEHIND_HOST.matcher(rest).lookingAt()) {
        throw refused(
            text,
            "an \"@\" follows its host; in passwords and parameters, write / as %2F, ? as %3F and"
                + " @ as %40");
      }
      int question = rest.indexOf('?');
      String query = question < 0 ? "" : rest.substring(question + 1);
      requireEscapes(text, query);
      List<String> parameters =
          new ArrayList<>(
              Stream.of(query.split("&", -1)).filter(parameter -> !parameter.isEmpty()).toList());
      String place = question < 0 ? rest : rest.substring(0, question);
      if (!place.startsWith("//")) {
        return new Parts(place, null, null, parameters);
      }
      int slash = place.indexOf('/', 2);
      String authority = slash < 0 ? place.substring(2) : place.substring(2, slash);
      String database = slash < 0 ? "/" : place.substring(slash);
      int at = authority.lastIndexOf('@');
      String who = authority.substring(0, Math.max(at, 0));
      requireEscapes(text, who);
      int colon = who.indexOf(':');
      return new Parts(
          "//" + authority.substring(at + 1) + database,
          who.isEmpty() ? null : decoded(colon < 0 ? who : who.substring(0, colon)),
          colon < 0 ? null : decoded(who.substring(colon + 1)),
          parameters);
    }

    /** The host is not decoded: the zone of its address may follow a "%". */
    private static void requireEscapes(String text, String part) {
      if (NO_ESCAPE.matcher(part).find()) {
        throw refused(
            text,
            "a \"%\" in its user, its password or a parameter begins no escape; there, write % as"
                + " %25");
      }
    }

    /** Removes a parameter and returns its value, or the default if it is absent. */
    @Nullable String taken(String name, @Nullable String other) {
      String value = other;
      for (String parameter : List.copyOf(parameters)) {
        if (parameter.startsWith(name + "=")) {
          value = decoded(parameter.substring(name.length() + 1));
          if (!OWN.contains(name)) {
            parameters.remove(parameter);
          }
        }
      }
      return value;
    }

    String query() {
      List<String> forDriver =
          parameters.stream().filter(each -> !OWN.contains(each.split("=", 2)[0])).toList();
      return forDriver.isEmpty() ? "" : "?" + String.join("&", forDriver);
    }

    String shown(@Nullable String who) {
      List<String> visible = new ArrayList<>(parameters);
      visible.removeIf(parameter -> parameter.startsWith("sslpassword="));
      boolean named = place.startsWith("//");
      if (!named && who != null) {
        visible.add(0, "user=" + encoded(who));
      }
      return "postgres:"
          + (named && who != null ? "//" + encoded(who) + "@" + place.substring(2) : place)
          + (visible.isEmpty() ? "" : "?" + String.join("&", visible));
    }

    private static String decoded(String text) {
      return URLDecoder.decode(text.replace("+", "%2B"), UTF_8);
    }

    private static String encoded(String text) {
      return URLEncoder.encode(text, UTF_8).replace("+", "%20");
    }
  }
}
