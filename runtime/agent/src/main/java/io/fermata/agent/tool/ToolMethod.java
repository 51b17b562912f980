package io.fermata.agent.tool;

import io.fermata.agent.Tool;
import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Makes a public method a tool; see {@link Tools#of} for its signature. What it has no option for
 * is set on the tool: {@link Tool#timeout}, {@link Tool#retry}.
 */
@Documented
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
public @interface ToolMethod {
  /** When a model should call it. */
  String value();

  /** The name for the model; the method's name by default. */
  String name() default "";

  /** The call must not happen twice: see {@link Tool#once}. */
  boolean once() default false;

  /** The question that a person must approve before each call; empty for no approval. */
  String approval() default "";
}
