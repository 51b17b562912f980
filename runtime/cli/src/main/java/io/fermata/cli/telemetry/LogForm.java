package io.fermata.cli.telemetry;

import ch.qos.logback.core.PropertyDefinerBase;
import ch.qos.logback.core.util.OptionHelper;

/**
 * The appender of logback.xml that FERMATA_LOG chooses: a wrong choice must not silence the log.
 */
public final class LogForm extends PropertyDefinerBase {
  @Override
  public String getPropertyValue() {
    String chosen = OptionHelper.propertyLookup("FERMATA_LOG", getContext(), null);
    return chosen != null && chosen.strip().equalsIgnoreCase("json") ? "json" : "text";
  }
}
