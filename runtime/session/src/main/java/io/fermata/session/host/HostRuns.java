package io.fermata.session.host;

import io.fermata.flow.event.Input;
import io.fermata.flow.replay.ForkOptions;
import io.fermata.session.admin.Erased;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import io.fermata.session.call.ToolReply;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The runs of a host: listed from its store, forked and operated by it. */
public record HostRuns(Runs listed, RunForks forks, RunOperations operations, RunAccounts entries)
    implements Runs {
  @Override
  public CompletionStage<Page> list(RunQuery query) {
    return listed.list(query);
  }

  @Override
  public CompletionStage<Integer> count(RunQuery query, int most) {
    return listed.count(query, most);
  }

  @Override
  public CompletionStage<Optional<RunInfo>> get(String flow, String runId) {
    return listed.get(flow, runId);
  }

  @Override
  public CompletionStage<List<Entry>> entries(String flow, String runId, long after, int limit) {
    return entries.read(flow, runId, after, limit);
  }

  @Override
  public CompletionStage<Rebuilt> rebuild() {
    return listed.rebuild();
  }

  @Override
  public CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    return forks
        .fork(flow, runId, entry, options, refusal -> operations.refused(flow, runId, refusal))
        .thenCompose(operations::withoutSecrets);
  }

  @Override
  public CompletionStage<ToolReply> status(String flow, String runId) {
    return operations.status(flow, runId);
  }

  @Override
  public CompletionStage<ToolReply> cancel(String flow, String runId, String by) {
    return operations.cancel(flow, runId, by);
  }

  @Override
  public CompletionStage<ToolReply> resolve(
      String flow, String runId, Input.Resolution resolution, String by) {
    return operations.resolve(flow, runId, resolution, by);
  }

  @Override
  public CompletionStage<Erased> erase(String flow, String runId) {
    return operations.erase(flow, runId);
  }
}
