package io.fermata.session.host;

import io.fermata.flow.replay.ForkOptions;
import io.fermata.session.admin.Fork;
import io.fermata.session.admin.RunInfo;
import io.fermata.session.admin.RunQuery;
import io.fermata.session.admin.Runs;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/** The runs of a host: listed from its store, and forked by it. */
public record HostRuns(Runs listed, RunForks forks) implements Runs {
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
  public CompletionStage<Rebuilt> rebuild() {
    return listed.rebuild();
  }

  @Override
  public CompletionStage<Fork> fork(String flow, String runId, long entry, ForkOptions options) {
    return forks.fork(flow, runId, entry, options);
  }
}
