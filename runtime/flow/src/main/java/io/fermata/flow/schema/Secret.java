package io.fermata.flow.schema;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * A field whose values are nobody's business but the flow's and its client's: {@code @Secret String
 * card}. A host encrypts them wherever it writes them, and keeps them from logs and recorders; the
 * mark follows the value, so a copy in another field, a question or an error is kept as well.
 *
 * <p>Of a component that is itself a record, a list or a map everything within is secret. It counts
 * wherever the schema of the state has it: in records and other classes, also within lists, maps
 * and optionals. There the schema has {@code writeOnly}, which asks the model not to repeat the
 * field.
 */
@Documented
@Target({ElementType.RECORD_COMPONENT, ElementType.FIELD})
@Retention(RetentionPolicy.RUNTIME)
public @interface Secret {}
