package io.fermata.flow.schema;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * What a field of the state, or an argument of a tool, means, in the words a model reads:
 * {@code @Describe("Full name") String name}. It becomes the description in every JSON Schema that
 * Fermata publishes.
 */
@Documented
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD, ElementType.PARAMETER})
@Retention(RetentionPolicy.RUNTIME)
public @interface Describe {
  String value();
}
