package io.fermata.persistence.keyvalue;

import io.fermata.persistence.spi.StoreException;

/** A value that another program or another release wrote. The rest of the store may be intact. */
final class UnreadableValue extends StoreException {

  private static final long serialVersionUID = 1L;

  UnreadableValue(String message) {
    super(message);
  }
}
