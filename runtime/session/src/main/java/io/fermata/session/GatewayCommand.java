package io.fermata.session;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.apache.pekko.actor.typed.ActorRef;
import org.apache.pekko.actor.typed.Behavior;
import org.jspecify.annotations.Nullable;

/** What the gateway is told. */
sealed interface GatewayCommand
    permits GatewayCommand.Incoming,
        GatewayCommand.SessionLost,
        GatewayCommand.Tick,
        GatewayCommand.Wake,
        GatewayCommand.StoreBack,
        GatewayCommand.Helper,
        GatewayCommand.CountAwake,
        GatewayCommand.Drain,
        GatewayCommand.HandBack,
        GatewayCommand.Signalled,
        GatewayCommand.ToRun,
        GatewayCommand.ToThread,
        GatewayCommand.Bar,
        GatewayCommand.Unbar,
        RunCommand.ToCaller {

  /**
   * A call has arrived.
   *
   * @param progress is told what nodes tell until the reply completes
   * @param trace what the call is part of
   */
  record Incoming(
      ToolCall call,
      Manner manner,
      Consumer<ToolProgress> progress,
      TraceContext trace,
      CompletableFuture<ToolReply> reply)
      implements GatewayCommand {}

  /** Something happened outside that a run may wait for. */
  record Signalled(
      String entityId,
      RunCommand.Signal signal,
      @Nullable String callId,
      CompletableFuture<ToolReply> reply)
      implements GatewayCommand {}

  /** Something for one run alone, whose sender does not wait for what comes of it. */
  record ToRun(
      String entityId,
      String runId,
      Action action,
      ObjectNode updates,
      @Nullable Asked asked,
      CompletableFuture<ToolReply> reply)
      implements GatewayCommand {}

  /** Something for a thread. Whoever sent it gives up by itself where no answer comes. */
  record ToThread(String entityId, ThreadCommand command) implements GatewayCommand {}

  /**
   * A session's actor has ended. What it was told and has not answered will not be answered.
   *
   * @param lastCall the number of the last call that reached it
   * @param why what those are told who wait for it
   */
  record SessionLost(String entityId, long lastCall, HostError why) implements GatewayCommand {}

  /** Stop some sessions, and let nobody reach them until they are let in. */
  record Bar(Scope scope, CompletableFuture<Void> stopped) implements GatewayCommand {}

  /**
   * Let calls reach sessions again that were barred.
   *
   * @param takeUp whether those that were stopped are still there, to go on with what they were at
   */
  record Unbar(Scope scope, boolean takeUp) implements GatewayCommand {}

  /** Sessions that were lost while the store failed need not be left alone any longer. */
  record StoreBack() implements GatewayCommand {}

  /** Look for calls that nobody answered. */
  record Tick() implements GatewayCommand {}

  /** Wake sessions whose work was cut off, or whose time has come. */
  record Wake(List<String> entityIds) implements GatewayCommand {}

  /** Start an actor that calls or wakes sessions by itself; it ends with the gateway. */
  record Helper(String name, Behavior<?> behavior) implements GatewayCommand {}

  /** Ask how many sessions are in memory. */
  record CountAwake(ActorRef<Integer> replyTo) implements GatewayCommand {}

  /** Let nobody wait any longer: the work goes on, and is asked for again. */
  record HandBack() implements GatewayCommand {}

  /** Refuse new calls, and say when the last is answered and every session sleeps. */
  record Drain(CompletableFuture<Void> drained) implements GatewayCommand {}
}
