package io.fermata.persistence.contract;

import io.fermata.persistence.Store;
import io.fermata.persistence.spi.StoreException;

/**
 * A process of its own that opens a store and does what its arguments say: {@code <store>
 * <writes>}.
 */
public final class JournalProcess {

  public static final String ACKNOWLEDGED = "acknowledged ";
  public static final String REFUSED = "refused ";
  public static final String OPENED = "opened";

  private JournalProcess() {}

  public static void main(String[] arguments) throws Exception {
    Store store = Store.parse(arguments[0]);
    int writes = Integer.parseInt(arguments[1]);
    try (Host host = Host.on(store)) {
      System.out.println(OPENED);
      Host.Desk desk = host.open("a");
      for (int line = 1; line <= writes; line++) {
        System.out.println(ACKNOWLEDGED + Host.await(desk.begin(new Note.Line("line " + line))));
      }
    } catch (StoreException refused) {
      System.out.println(REFUSED + refused.getMessage());
    }
  }
}
