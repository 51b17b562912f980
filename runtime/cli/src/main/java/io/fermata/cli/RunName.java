package io.fermata.cli;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** A run as users write it: the flow's id, and the runId that every reply carries. */
record RunName(String flow, String runId) {

  static final class Converter implements ITypeConverter<RunName> {
    @Override
    public RunName convert(String text) {
      int slash = text.indexOf('/');
      if (slash <= 0 || slash == text.length() - 1) {
        throw new TypeConversionException("name a flow and a run, such as order/<runId>");
      }
      return new RunName(text.substring(0, slash), text.substring(slash + 1));
    }
  }

  @Override
  public String toString() {
    return flow + "/" + runId;
  }
}
