/**
 * Sessions in a key-value store: Redis, a hosted key-value API, or a {@link
 * io.fermata.persistence.keyvalue.KvStore} of the application. Each session is one value, written
 * by compare-and-set. There is no history and no search; requests for either fail with a {@link
 * io.fermata.persistence.spi.NoHistoryException}.
 */
@NullMarked
package io.fermata.persistence.keyvalue;

import org.jspecify.annotations.NullMarked;
