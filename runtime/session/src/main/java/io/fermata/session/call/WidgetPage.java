package io.fermata.session.call;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The HTML page that renders a widget, and what it requires of the client. Clients block everything
 * that it does not declare.
 *
 * <pre>{@code
 * WidgetPage.resource(Maps.class, "map.html")
 *     .loads("https://tiles.example.com")
 *     .may(WidgetPage.Permission.GEOLOCATION)
 * }</pre>
 *
 * @param html the whole page
 * @param reach the origins that it may access; none by default
 * @param permissions browser features that it requests; the client may deny them
 * @param domain a dedicated origin, in the client's format; null for the client's default
 * @param border whether the client should draw a border and a background
 */
public record WidgetPage(
    String html,
    Reach reach,
    Set<Permission> permissions,
    @Nullable String domain,
    boolean border) {
  private static final Pattern ORIGIN =
      Pattern.compile("(https?|wss?)://(\\*\\.)?[A-Za-z0-9.-]+(:\\d{1,5})?");
  private static final Pattern NEIGHBOUR =
      Pattern.compile(
          "<script src=\"(?<script>[\\w.-]+)\"></script>"
              + "|<link rel=\"stylesheet\" href=\"(?<style>[\\w.-]+)\">");

  /**
   * Origins that a page may access, such as {@code https://api.example.com} or {@code
   * https://*.example.com}.
   *
   * @param connects for fetches and sockets
   * @param loads for images, scripts, styles, fonts and media
   * @param frames for frames
   * @param bases for its base URI
   * @param leads for links that the client opens without asking
   */
  public record Reach(
      List<String> connects,
      List<String> loads,
      List<String> frames,
      List<String> bases,
      List<String> leads) {
    public static final Reach NONE =
        new Reach(List.of(), List.of(), List.of(), List.of(), List.of());

    public Reach {
      connects = origins("connects", connects);
      loads = origins("loads", loads);
      frames = origins("frames", frames);
      bases = origins("bases", bases);
      leads = origins("leads", leads);
    }

    private static List<String> origins(String what, List<String> named) {
      for (String origin : Objects.requireNonNull(named, what)) {
        if (!ORIGIN.matcher(Objects.requireNonNull(origin, what)).matches()) {
          throw new IllegalArgumentException(
              "\"%s\" is no origin; use the form https://api.example.com or https://*.example.com"
                  .formatted(origin));
        }
      }
      return List.copyOf(named);
    }
  }

  /** Browser features that a page may request. */
  public enum Permission {
    CAMERA,
    MICROPHONE,
    GEOLOCATION,
    CLIPBOARD_WRITE
  }

  public WidgetPage {
    Objects.requireNonNull(html, "html");
    Objects.requireNonNull(reach, "reach");
    Objects.requireNonNull(permissions, "permissions");
    permissions =
        permissions.isEmpty() ? Set.of() : Collections.unmodifiableSet(EnumSet.copyOf(permissions));
  }

  /** A self-contained page. */
  public static WidgetPage of(String html) {
    return new WidgetPage(html, Reach.NONE, Set.of(), null, true);
  }

  /**
   * A page from the class path. Clients load a page as one text, so the scripts and styles beside
   * it, {@code <script src="its-name.js"></script>} and {@code <link rel="stylesheet"
   * href="its-name.css">}, are inlined; opened from disk the page finds them by itself.
   *
   * @param beside a class in the same package
   * @throws IllegalArgumentException if it, or a file that it names, is missing
   */
  public static WidgetPage resource(Class<?> beside, String name) {
    Objects.requireNonNull(beside, "beside");
    Objects.requireNonNull(name, "name");
    StringBuilder whole = new StringBuilder();
    Matcher neighbour = NEIGHBOUR.matcher(text(beside, name));
    while (neighbour.find()) {
      String script = neighbour.group("script");
      String inlined =
          script == null
              ? inlined("style", text(beside, neighbour.group("style")))
              : inlined("script", text(beside, script));
      neighbour.appendReplacement(whole, Matcher.quoteReplacement(inlined));
    }
    return of(neighbour.appendTail(whole).toString());
  }

  private static String inlined(String tag, String text) {
    if (text.contains("</" + tag)) {
      throw new IllegalArgumentException(
          "An inlined <%s> must not contain </%s; escape it".formatted(tag, tag));
    }
    return "<" + tag + ">\n" + text + "</" + tag + ">";
  }

  private static String text(Class<?> beside, String name) {
    try (InputStream in = beside.getResourceAsStream(name)) {
      if (in == null) {
        throw new IllegalArgumentException(
            "There is no resource %s beside %s; add it to the same package"
                .formatted(name, beside.getName()));
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException("The resource " + name + " cannot be read", e);
    }
  }

  /** The URI of a tool's page. */
  public static String uri(String tool) {
    return "ui://fermata/" + Objects.requireNonNull(tool, "tool") + ".html";
  }

  private WidgetPage with(Reach wider) {
    return new WidgetPage(html, wider, permissions, domain, border);
  }

  /** Lets it fetch from, and open sockets to, further origins. */
  public WidgetPage connects(String... origins) {
    return with(
        new Reach(
            more(reach.connects, origins), reach.loads, reach.frames, reach.bases, reach.leads));
  }

  /** Lets it load images, scripts, styles, fonts and sounds from further origins. */
  public WidgetPage loads(String... origins) {
    return with(
        new Reach(
            reach.connects, more(reach.loads, origins), reach.frames, reach.bases, reach.leads));
  }

  /** Lets it show further origins in frames. */
  public WidgetPage frames(String... origins) {
    return with(
        new Reach(
            reach.connects, reach.loads, more(reach.frames, origins), reach.bases, reach.leads));
  }

  /** Lets further origins be its base address. */
  public WidgetPage bases(String... origins) {
    return with(
        new Reach(
            reach.connects, reach.loads, reach.frames, more(reach.bases, origins), reach.leads));
  }

  /** Lets it lead people to further origins without the client asking them first. */
  public WidgetPage leads(String... origins) {
    return with(
        new Reach(
            reach.connects, reach.loads, reach.frames, reach.bases, more(reach.leads, origins)));
  }

  /** Requests browser features. */
  public WidgetPage may(Permission... asked) {
    Set<Permission> all = EnumSet.noneOf(Permission.class);
    all.addAll(permissions);
    for (Permission each : Objects.requireNonNull(asked, "asked")) {
      all.add(Objects.requireNonNull(each, "asked"));
    }
    return new WidgetPage(html, reach, all, domain, border);
  }

  /** Sets a dedicated origin, in the client's format. */
  public WidgetPage domain(String origin) {
    return new WidgetPage(
        html, reach, permissions, Objects.requireNonNull(origin, "origin"), border);
  }

  /** Asks the client to draw neither border nor background. */
  public WidgetPage borderless() {
    return new WidgetPage(html, reach, permissions, domain, false);
  }

  private static List<String> more(List<String> named, String... further) {
    List<String> all = new ArrayList<>(named);
    Stream.of(Objects.requireNonNull(further, "origins"))
        .filter(origin -> !all.contains(origin))
        .forEach(all::add);
    return all;
  }
}
