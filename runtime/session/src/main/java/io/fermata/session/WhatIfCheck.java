package io.fermata.session;

import io.fermata.flow.Flow;
import io.fermata.flow.event.Event;
import io.fermata.flow.event.Place;
import io.fermata.flow.replay.Divergence;
import io.fermata.flow.replay.Replay;
import io.fermata.flow.replay.RunJournal;
import io.fermata.persistence.spi.OpenStore;
import io.fermata.persistence.spi.StoredEntry;
import io.fermata.session.admin.EncryptionException;
import io.fermata.session.host.RunEvents;
import io.fermata.session.journal.Encryption;
import io.fermata.session.journal.Entry;
import io.fermata.session.journal.EntryEncryption;
import io.fermata.session.key.SessionKey;
import io.fermata.session.key.Stages;
import java.io.NotSerializableException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Decides the runs of a store again, one session at a time. */
final class WhatIfCheck {
  private static final int AT_ONCE = 500;
  private static final String BEGINNING = "the start";

  private final OpenStore store;
  private final Encryption encryption;
  private final Map<String, Flow<?>> flows = new LinkedHashMap<>();
  private final Map<List<String>, WhatIf.Group> groups = new LinkedHashMap<>();
  private int same;
  private int skipped;

  WhatIfCheck(OpenStore store, Encryption encryption, Flow<?>... flows) {
    this.store = store;
    this.encryption = encryption;
    for (Flow<?> flow : flows) {
      this.flows.merge(flow.id(), flow, WhatIfCheck::newer);
    }
  }

  private static Flow<?> newer(Flow<?> one, Flow<?> other) {
    return other.version() > one.version() ? other : one;
  }

  WhatIf result() {
    List<String> journals = Stages.now(store.journals("", AT_ONCE));
    while (!journals.isEmpty()) {
      journals.stream().filter(SessionKey::isOfRun).forEach(this::session);
      journals = Stages.now(store.journals(journals.get(journals.size() - 1), AT_ONCE));
    }
    List<WhatIf.Group> sorted = new ArrayList<>(groups.values());
    sorted.sort(Comparator.comparing(WhatIf.Group::runs).reversed());
    return new WhatIf(same, sorted, skipped);
  }

  private void session(String journal) {
    Flow<?> flow = flows.get(SessionKey.flowOf(journal));
    EntryEncryption entries = encryption.of(journal);
    try {
      List<RunJournal.Entry> session = flow == null ? List.of() : read(journal, entries);
      Set<String> runs = runs(session);
      if (flow == null || runs.isEmpty()) {
        skipped++;
        return;
      }
      for (String run : runs) {
        decided(flow, Replay.of(flow, RunJournal.of(flow.id(), run, session)), entries);
      }
    } catch (NotSerializableException | EncryptionException unreadable) {
      skipped++;
    }
  }

  private List<RunJournal.Entry> read(String journal, EntryEncryption entries)
      throws NotSerializableException {
    List<RunJournal.Entry> all = new ArrayList<>();
    List<StoredEntry> records = Stages.now(store.read(journal, 1, AT_ONCE));
    while (!records.isEmpty()) {
      for (StoredEntry stored : records) {
        Entry<?> entry = encryption.read(journal, stored);
        entries.learn(entry);
        all.add(RunEvents.of(entry));
      }
      long next = records.get(records.size() - 1).seq() + 1;
      records = Stages.now(store.read(journal, next, AT_ONCE));
    }
    return all;
  }

  /** The runs that are there from their beginning; of swept ones only the end is left. */
  private static Set<String> runs(List<RunJournal.Entry> session) {
    Set<String> runs = new LinkedHashSet<>();
    for (RunJournal.Entry entry : session) {
      for (Event event : entry.events()) {
        if (event instanceof Event.Started started) {
          runs.add(started.runId());
        }
      }
    }
    return runs;
  }

  private void decided(Flow<?> flow, Replay replay, EntryEncryption entries) {
    Divergence divergence = replay.divergence();
    if (divergence == null) {
      same++;
      return;
    }
    String node = node(divergence);
    WhatIf.Group example =
        new WhatIf.Group(
            flow.id(), node, 1, replay.journal().runId(), entries.masked(divergence.text()));
    groups.merge(List.of(flow.id(), node), example, (first, more) -> one(first));
  }

  private static WhatIf.Group one(WhatIf.Group more) {
    return new WhatIf.Group(more.flow(), more.node(), more.runs() + 1, more.example(), more.text());
  }

  private static String node(Divergence divergence) {
    String recorded = node(divergence.recorded());
    return recorded.equals(BEGINNING) ? node(divergence.now()) : recorded;
  }

  private static String node(@Nullable Event event) {
    Place place = event == null ? null : event.place();
    return place == null ? BEGINNING : place.node();
  }
}
