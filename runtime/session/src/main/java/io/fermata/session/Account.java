package io.fermata.session;

import io.fermata.flow.Event;
import java.util.ArrayList;
import java.util.List;

/** The journal of a tool's present run, kept so that the run can be told when it has finished. */
final class Account {
  private final List<JournalRecord.Step> steps = new ArrayList<>();

  void add(JournalRecord entry) {
    if (entry instanceof JournalRecord.Step step) {
      steps.add(step);
    } else {
      steps.clear();
    }
  }

  /** The account of the run, with what happened and is not journaled yet. */
  String narrative(String flow, List<Event> last, long at) {
    return "";
  }
}
