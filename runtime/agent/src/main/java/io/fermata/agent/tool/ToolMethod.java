package io.fermata.agent.tool;

import io.fermata.agent.Tool;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** Makes a public method a tool; see {@link Tools#of} for its signature. */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface ToolMethod {
  /** When a model should call it. */
  String value();

  /** The name for the model; the method's name by default. */
  String name() default "";

  /** How long one attempt may take, as an ISO duration: {@code PT30S}. */
  String timeout() default "PT1M";

  /** The maximum number of attempts. */
  int attempts() default 1;

  /** The wait after the first failure, as an ISO duration; it doubles after each further one. */
  String firstWait() default "PT1S";

  /** The call must not happen twice: see {@link Tool#once}. */
  boolean once() default false;

  /** The question that a person must approve before each call; empty for no approval. */
  String approval() default "";
}
