package io.fermata.persistence;

import org.junit.jupiter.api.Tag;

@Tag("slow")
final class PostgresVerificationTest extends VerificationContract {

  private final PostgresProbe database = PostgresProbe.fresh();

  PostgresVerificationTest() {
    super("'\\x00'");
  }

  @Override
  Store newStore() {
    return database.store();
  }

  @Override
  void execute(String... sql) {
    database.execute(sql);
  }
}
