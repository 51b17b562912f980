package io.fermata.flow;

import java.util.List;

/**
 * A picture of a flow, and of a run on it: where it went, where it is, and what each decision saw.
 *
 * <pre>{@code
 * Files.writeString(file, Picture.of(flow).run(journal).svg());
 * }</pre>
 */
public final class Picture {
  private final Flow<?> flow;
  private final Drawing drawing;

  private Picture(Flow<?> flow, Drawing drawing) {
    this.flow = flow;
    this.drawing = drawing;
  }

  /** The flow alone. */
  public static Picture of(Flow<?> flow) {
    return new Picture(flow, Outline.of(flow));
  }

  /**
   * The flow with the last run of a session on it.
   *
   * @param journal the events of the session, from the first one on; of a run on another version of
   *     the flow that is shown which still fits
   */
  public Picture run(List<Event> journal) {
    return new Picture(flow, Trail.of(flow, journal).on(Outline.of(flow)));
  }

  /** As a Mermaid flowchart. */
  public String mermaid() {
    return Mermaid.render(drawing);
  }

  /** As an image that fits light and dark pages. */
  public String svg() {
    return Svg.render(drawing);
  }
}
