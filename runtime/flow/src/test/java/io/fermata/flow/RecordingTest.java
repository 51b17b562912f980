package io.fermata.flow;

import static org.assertj.core.api.Assertions.assertThat;

import io.fermata.flow.record.Narrative;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RecordingTest {
  @Test
  void play() {
    Trips trips = new Trips();
    trips.bankFailures = 1;
    Flow<?> flow = trips.builder().compile();
    Driver trip = new Driver(flow);
    Trips.whole(trip);
    Narrative narrative = new Narrative();
    Recording recording = Recording.of(flow, "s", narrative);
    List<Recorded> all = new ArrayList<>();
    trip.entries.forEach(e -> all.addAll(recording.record(e.seq(), e.at(), e.events())));
    all.forEach(System.out::println);
    System.out.println(narrative.text());
    System.out.println(io.fermata.flow.record.Trace.of(flow, trip.journal).why("receipt"));
    System.out.println(io.fermata.flow.record.Trace.of(flow, trip.journal).why("badges"));
    System.out.println(io.fermata.flow.record.Trace.of(flow, trip.journal).fed("city"));
    assertThat(recording.state()).isEqualTo(trip.state);
  }
}
