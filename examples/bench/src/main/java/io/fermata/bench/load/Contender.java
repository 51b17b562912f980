package io.fermata.bench.load;

/** Something that runs the workload of {@link Workload#CALLS} calls a run. */
interface Contender extends AutoCloseable {
  String name();

  /** A new caller, used by one thread. */
  Load.Unit caller();

  @Override
  void close();
}
