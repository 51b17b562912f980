package io.fermata.persistence.postgres;

import io.fermata.postgres.PostgresRelease;
import org.junit.jupiter.api.Tag;

@Tag("long")
final class PostgresPlansTest extends PlansContract {

  PostgresPlansTest() {
    super(PostgresRelease.OF_THE_BUILD);
  }
}
