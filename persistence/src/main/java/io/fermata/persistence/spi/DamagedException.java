package io.fermata.persistence.spi;

/**
 * What a store holds is not what was written: an entry is missing, altered, or belongs to another
 * journal. It concerns what was asked for, not the rest of the store.
 */
public final class DamagedException extends StoreException {

  private static final long serialVersionUID = 1L;

  private final String damage;

  public DamagedException(String where, String damage) {
    super(StoreProblem.DAMAGED, message(where, damage), null);
    this.damage = damage;
  }

  public DamagedException(String where, String damage, Throwable cause) {
    super(StoreProblem.DAMAGED, message(where, damage), cause);
    this.damage = damage;
  }

  private static String message(String where, String damage) {
    return where + " is damaged: " + damage + "; restore the store from a backup";
  }

  /** A damaged journal. */
  public static DamagedException ofJournal(String persistenceId, String damage) {
    return new DamagedException("The journal " + persistenceId, damage);
  }

  /** What is wrong, without the name of the journal: {@code entry 2 is missing}. */
  public String damage() {
    return damage;
  }
}
