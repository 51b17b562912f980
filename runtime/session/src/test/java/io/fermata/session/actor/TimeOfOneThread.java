package io.fermata.session.actor;

import java.time.Duration;
import org.apache.pekko.actor.testkit.typed.javadsl.ActorTestKit;
import org.apache.pekko.actor.typed.javadsl.Adapter;
import org.apache.pekko.testkit.ExplicitlyTriggeredScheduler;
import scala.concurrent.ExecutionContext;
import scala.jdk.javaapi.DurationConverters;

/**
 * Time that passes as a test says, for actors on its own thread. That of the test kit waits each
 * time for other threads.
 */
final class TimeOfOneThread {
  private final ExplicitlyTriggeredScheduler scheduler;

  TimeOfOneThread(ActorTestKit kit) {
    scheduler = (ExplicitlyTriggeredScheduler) Adapter.toClassic(kit.system()).scheduler();
  }

  long millis() {
    return scheduler.currentTimeMs();
  }

  /** Time goes from timer to timer, so one is set where it is to stop. */
  void pass(Duration time) {
    long end = millis() + time.toMillis();
    scheduler.scheduleOnce(
        DurationConverters.toScala(time), () -> {}, ExecutionContext.parasitic$.MODULE$);
    scheduler.executeTasks(end);
  }
}
